// One part of the memory store, behind its own lock: a table of slots, the order of use, the shared heads.
// It frees nothing itself: what goes is handed out, to be let go of after the lock is released.

import RegentLoop

/// What left a shard, kept alive until its bytes may be given back.
struct Departed: Sendable {
  private let block: Block
  private let stream: BodyStream?
  private let sharedHead: Block?

  init(_ block: Block, _ stream: BodyStream?, _ sharedHead: Block?) {
    self.block = block
    self.stream = stream
    self.sharedHead = sharedHead
  }

  /// What its departure gives back; a stream gives back its own bytes when its last reader lets go of it.
  var bytes: Int { block.footprint + (sharedHead.map(InternedHeads.cost) ?? 0) }
}

/// The records whose hashes begin alike.
struct Shard: ~Copyable, Sendable {
  /// The most variants that one key may have.
  static let variantLimit = 32

  private(set) var table = SlotTable()
  private(set) var heads = InternedHeads()
  private(set) var newest = SlotTable.none
  private(set) var oldest = SlotTable.none
  private(set) var entries = 0
  private(set) var insertions = 0
  private(set) var evictions = 0

  /// When the oldest record last moved to the front, in ticks; the far future where there is none.
  var oldestTick: UInt32? { oldest == SlotTable.none ? nil : table[oldest].touched }
  var isFull: Bool { table.isFull }

  mutating func grow() { table.grow() }

  // MARK: Looking up

  /// The record under the key that `matches` accepts, of several the newest unless an older one is preferred to it;
  /// moved to the front when that was long ago.
  mutating func lookup(
    _ key: RecordKey, tick: UInt32, where matches: (borrowing Record) -> Bool,
    preferring isBetter: (borrowing Record, borrowing Record) -> Bool
  ) -> Record? {
    let hash = UInt32(truncatingIfNeeded: key.hash)
    var index = table.first(hash)
    while index != SlotTable.none {
      if var record = record(key, hash, at: index), matches(record) {
        if table[index].next != SlotTable.none {
          prefer(&record, &index, key, hash, where: matches, preferring: isBetter)
        }
        if tick &- table[index].touched >= refresh(tick) { touch(index, tick) }
        return record
      }
      index = table[index].next
    }
    return nil
  }

  /// Replaces a record that was found by one behind it that is preferred.
  private func prefer(
    _ best: inout Record, _ place: inout UInt32, _ key: RecordKey, _ hash: UInt32,
    where matches: (borrowing Record) -> Bool,
    preferring isBetter: (borrowing Record, borrowing Record) -> Bool
  ) {
    var index = table[place].next
    while index != SlotTable.none {
      if let other = record(key, hash, at: index), matches(other), isBetter(other, best) {
        (best, place) = (other, index)
      }
      index = table[index].next
    }
  }

  /// The newest records under the key, in the order of their storing.
  func records(_ key: RecordKey, limit: Int) -> [Record] {
    let hash = UInt32(truncatingIfNeeded: key.hash)
    var found: [Record] = []
    var index = table.first(hash)
    while index != SlotTable.none, found.count < limit {
      if let record = record(key, hash, at: index) { found.append(record) }
      index = table[index].next
    }
    return found
  }

  /// The record in a slot if it is stored under this key. The hash only spares comparisons of keys.
  @inline(__always)
  private func record(_ key: RecordKey, _ hash: UInt32, at index: UInt32) -> Record? {
    guard table[index].hash == hash, Int(table[index].keyCount) == key.bytes.count,
      let record = record(at: index)
    else { return nil }
    record.block.prefetch()
    return record.block.holds(key.bytes) ? record : nil
  }

  @inline(__always)
  private func record(at index: UInt32) -> Record? {
    guard let block = table[index].block else { return nil }
    return Record(
      block: block, keyCount: table[index].keyCount, headCount: table[index].headCount,
      stream: table[index].stream, sharedHead: heads[table[index].sharedHead])
  }

  // MARK: Changing

  /// Stores a record as the newest of its key. The table must not be full.
  /// Returns whether its shared head is new to the shard.
  mutating func insert(_ key: RecordKey, _ offer: borrowing PackedOffer, tick: UInt32) -> Bool {
    let index = table.take()
    var isNewHead = false
    table[index].block = offer.block
    table[index].stream = offer.stream
    table[index].hash = UInt32(truncatingIfNeeded: key.hash)
    table[index].keyCount = UInt32(key.bytes.count)
    table[index].headCount = UInt32(offer.headCount)
    table[index].touched = tick
    if !offer.sharedHead.isEmpty {
      (table[index].sharedHead, isNewHead) = heads.intern(offer.sharedHead)
    }
    table.link(index)
    pushNewest(index)
    entries += 1
    insertions += 1
    return isNewHead
  }

  /// Removes the key's records that `matches` accepts, and then the oldest ones beyond `limit`.
  mutating func remove(
    _ key: RecordKey, leaving limit: Int = .max, into departed: inout [Departed],
    where matches: (borrowing Record) -> Bool
  ) {
    let hash = UInt32(truncatingIfNeeded: key.hash)
    var (index, kept) = (table.first(hash), 0)
    while index != SlotTable.none {
      let next = table[index].next
      if let record = record(key, hash, at: index) {
        kept += 1
        if kept > limit || matches(record) {
          kept -= 1
          remove(index, into: &departed)
        }
      }
      index = next
    }
  }

  /// Removes the records of one page of slots that `matches` accepts, whatever their keys.
  mutating func remove(
    slots: Range<UInt32>, into departed: inout [Departed], where matches: (borrowing Record) -> Bool
  ) {
    for index in slots.clamped(to: 0..<table.count) {
      if let record = record(at: index), matches(record) { remove(index, into: &departed) }
    }
  }

  /// Removes the least recently used record.
  mutating func evictOldest() -> Departed? {
    guard oldest != SlotTable.none else { return nil }
    evictions += 1
    return remove(oldest)
  }

  private mutating func remove(_ index: UInt32, into departed: inout [Departed]) {
    if let one = remove(index) { departed.append(one) }
  }

  private mutating func remove(_ index: UInt32) -> Departed? {
    table.unlink(index)
    unlinkUse(index)
    entries -= 1
    let slot = table.release(index)
    let sharedHead = heads.release(slot.sharedHead)
    return slot.block.map { Departed($0, slot.stream, sharedHead) }
  }

  // MARK: The order of use

  /// How long a record stays where it is in the order before a hit moves it: a quarter of the time that the order
  /// spans, since in its newer part a record is far from leaving, and to move it touches three more (CacheLib's
  /// `lruRefreshRatio`).
  private func refresh(_ tick: UInt32) -> UInt32 {
    min(max((tick &- table[oldest].touched) / 4, Ticks.shortestRefresh), Ticks.longestRefresh)
  }

  private mutating func touch(_ index: UInt32, _ tick: UInt32) {
    table[index].touched = tick
    guard index != newest else { return }
    unlinkUse(index)
    pushNewest(index)
  }

  private mutating func pushNewest(_ index: UInt32) {
    table[index].newer = SlotTable.none
    table[index].older = newest
    if newest == SlotTable.none { oldest = index } else { table[newest].newer = index }
    newest = index
  }

  private mutating func unlinkUse(_ index: UInt32) {
    let (newer, older) = (table[index].newer, table[index].older)
    if newer == SlotTable.none { newest = older } else { table[newer].older = older }
    if older == SlotTable.none { oldest = newer } else { table[older].newer = newer }
  }
}
