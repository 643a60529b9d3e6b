// The memory store: records by key in sharded tables, in the order of their use, within a budget of bytes that counts
// everything it holds. Mechanism only: it knows no HTTP. A closure that is called while a shard is locked
// (`matches`) must not call into the store, and should be quick.

import RegentLoop
import Synchronization

/// A sharded store of records in memory with a byte budget and least-recently-used eviction.
///
/// All of it may be called from any thread. Times are monotonic nanoseconds, given by the caller.
public final class MemoryStore: Sendable {
  /// The count of bytes, shared with the bodies that arrive for the store.
  public let budget: ByteBudget
  /// The longest key, head and body together, in bytes, that the store takes.
  public let maxObject: Int
  let shards: Shards
  private let removals = Removals()
  private let refusals = Atomic<Int>(0)

  public init(budget: Int, maxObject: Int, shards: Int = 16) {
    self.budget = ByteBudget(limit: budget)
    self.maxObject = min(maxObject, budget)
    self.shards = Shards(atLeast: shards)
    self.budget.connect(self.shards)
  }

  deinit {
    budget.disconnect()
    removeAll { _ in true }
    let pages = (0..<shards.count).reduce(0) { $0 + shards[$1].shard.withLock { $0.table.pageCount } }
    // What is left in the budget then is what bodies take that somebody still reads.
    budget.give(pages * SlotTable.pageCost)
  }

  /// The record under the key that `matches` accepts; nil where there is none. Of several it is the most recently stored
  /// one, unless `isBetter` says of another (the first) that it is preferred to it (the second).
  ///
  /// A hit moves the record to the front of the order of use, unless it is in the newest quarter of what the order
  /// spans, or was moved less than two seconds of `now` ago.
  public func lookup(
    _ key: RecordKey, now: Int64, where matches: (borrowing Record) -> Bool,
    preferring isBetter: (borrowing Record, borrowing Record) -> Bool = { _, _ in false }
  ) -> Record? {
    let cell = shards.index(of: key.hash)
    return shards[cell].shard.withLock {
      $0.lookup(key, tick: Ticks.at(now), where: matches, preferring: isBetter)
    }
  }

  /// The records under the key, most recently stored first; at most `limit`. Nothing moves in the order of use.
  public func records(_ key: RecordKey, limit: Int = 32) -> [Record] {
    shards[shards.index(of: key.hash)].shard.withLock { $0.records(key, limit: limit) }
  }

  /// Stores a record as the newest of its key, after removing those that `matches` accepts.
  ///
  /// Several records may share a key; at most 32, then the oldest goes. Returns false, and removes nothing, when
  /// the record is too large, when its stream is not whole, or when the budget cannot make room; and when records of
  /// the key were removed since the mark was made, so that nothing comes back that was asked for before.
  public func insert(
    _ key: RecordKey, head: [UInt8], sharedHead: [UInt8], body: OfferedBody, now: Int64,
    since mark: RemovalMark? = nil, replacing matches: (borrowing Record) -> Bool
  ) -> Bool {
    let near = shards.index(of: key.hash)
    guard let offer = PackedOffer(key, head, sharedHead, body, limit: maxObject, budget: budget),
      budget.take(offer.cost, near: near)
    else { return refuse() }
    var departed: [Departed] = []
    var extra = 0
    while true {
      switch place(key, offer, now, since: mark, into: &departed, giving: &extra, replacing: matches) {
      case .placed:
        settle(departed, extra)
        return true
      case .full where makeRoom(in: near): continue
      case .full, .outdated:
        budget.give(offer.cost)
        return refuse()
      }
    }
  }

  /// What was removed under the key so far: to be taken before its response is asked for, and given to
  /// ``insert(_:head:sharedHead:body:now:since:replacing:)``.
  public func mark(_ key: RecordKey) -> RemovalMark { removals.mark(key) }

  /// This store's mark, among those that a request has met.
  public func mark(among marks: RemovalMarks) -> RemovalMark? { removals.own(marks) }

  /// Removes all of the key's records; the mark that stands for this removal and all before.
  @discardableResult
  public func invalidate(_ key: RecordKey) -> RemovalMark {
    let mark = removals.note(key)
    var departed: [Departed] = []
    shards[shards.index(of: key.hash)].change { $0.remove(key, into: &departed) { _ in true } }
    settle(departed)
    return mark
  }

  /// Removes the key's records that `matches` accepts; returns how many.
  ///
  /// - Parameter isInvalidation: Whether what was asked for before is to be kept out, too.
  @discardableResult
  public func remove(
    _ key: RecordKey, isInvalidation: Bool = true, where matches: (borrowing Record) -> Bool
  ) -> Int {
    if isInvalidation { _ = removals.note(key) }
    var departed: [Departed] = []
    shards[shards.index(of: key.hash)].change { $0.remove(key, into: &departed, where: matches) }
    return settle(departed)
  }

  /// Removes all records that `matches` accepts; returns how many. Records that are stored meanwhile may stay.
  @discardableResult
  public func removeAll(where matches: (borrowing Record) -> Bool) -> Int {
    removals.noteAll()
    var removed = 0
    for index in 0..<shards.count {
      // A page at a time, so that no lookup waits for the whole walk.
      var (start, end) = (UInt32(0), UInt32(64))
      while start < end {
        var departed: [Departed] = []
        end = shards[index].change { shard in
          shard.remove(slots: start..<(start + 64), into: &departed, where: matches)
          return shard.table.count
        }
        removed += settle(departed)
        start += 64
      }
    }
    return removed
  }

  /// Takes bytes from the budget for a body that is still arriving, evicting to make room; false when they cannot
  /// be had. Give them back with ``release(_:)``.
  public func reserve(_ bytes: Int) -> Bool { budget.take(bytes) }
  public func release(_ bytes: Int) { budget.give(bytes) }

  /// What the store holds and has done so far.
  public var statistics: MemoryStatistics {
    var sum = MemoryStatistics(bytes: budget.used, budget: budget.limit)
    sum.refusals = refusals.load(ordering: .relaxed)
    for index in 0..<shards.count {
      shards[index].shard.withLock { shard in
        sum.entries += shard.entries
        sum.evictions += shard.evictions
        sum.insertions += shard.insertions
      }
    }
    return sum
  }

  // MARK: The steps of an insertion

  private enum Placement { case placed, full, outdated }

  /// Puts the offer into its shard, unless that needs another page first, or the key was removed since the mark.
  private func place(
    _ key: RecordKey, _ offer: borrowing PackedOffer, _ now: Int64, since mark: RemovalMark?,
    into departed: inout [Departed], giving extra: inout Int, replacing matches: (borrowing Record) -> Bool
  ) -> Placement {
    shards[shards.index(of: key.hash)].change { shard in
      // Removals are counted before they take this lock: one that is not seen here finds the record afterwards.
      guard mark == nil || mark == removals.mark(key) else { return .outdated }
      guard !shard.isFull else { return .full }
      shard.remove(key, leaving: Shard.variantLimit - 1, into: &departed, where: matches)
      let isNewHead = shard.insert(key, offer, tick: Ticks.at(now))
      if !isNewHead { extra = offer.sharedCost }
      return .placed
    }
  }

  /// Adds a page to a full shard, if the budget has room for it.
  private func makeRoom(in shard: Int) -> Bool {
    guard budget.take(SlotTable.pageCost, near: shard) else { return false }
    let grew = shards[shard].change { shard in
      guard shard.isFull else { return false }
      shard.grow()
      return true
    }
    if !grew { budget.give(SlotTable.pageCost) }
    return true
  }

  /// Lets go of what left a shard, then gives its bytes back; returns how many records that were.
  @discardableResult
  private func settle(_ departed: consuming [Departed], _ extra: Int = 0) -> Int {
    let (count, bytes) = (departed.count, departed.reduce(extra) { $0 + $1.bytes })
    departed = []
    if bytes > 0 { budget.give(bytes) }
    return count
  }

  private func refuse() -> Bool {
    refusals.add(1, ordering: .relaxed)
    return false
  }
}

/// The figures of a memory store.
public struct MemoryStatistics: Sendable, Equatable {
  /// Records stored now.
  public var entries = 0
  /// Bytes taken now: records, tables, bodies that arrive, and evicted bodies that are still read.
  public var bytes: Int
  /// The most that `bytes` can be.
  public var budget: Int
  /// Records that went to make room, since the start.
  public var evictions = 0
  /// Records stored since the start.
  public var insertions = 0
  /// Records refused since the start: too large, not whole, or no room.
  public var refusals = 0
}
