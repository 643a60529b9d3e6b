// The memory of one shard: pages of slots and of the heads of bucket chains, one bucket for each slot. It grows a page
// at a time by linear hashing, so that no insertion ever pays for moving the whole table, and knows nothing of
// records beyond a slot's hash. Whoever holds the shard's lock owns it; indices come from this table alone.

import RegentLoop

/// One stored record, 48 bytes: references into the heap, and links by index.
struct Slot {
  /// Key, own head and packed body; nil in a free slot.
  var block: Block?
  var stream: BodyStream?
  /// The low half of the key's hash: finds the bucket, and spares most comparisons of keys.
  var hash: UInt32 = 0
  /// The next slot in the bucket's chain, or in the list of free slots.
  var next = SlotTable.none
  var newer = SlotTable.none
  var older = SlotTable.none
  /// When the record last moved to the front, in ticks.
  var touched: UInt32 = 0
  var keyCount: UInt32 = 0
  var headCount: UInt32 = 0
  var sharedHead = SlotTable.none
}

/// Slots by index, buckets by hash, and the list of free slots.
// @unchecked: the pages belong to this one value, which is not copyable; who has it has them alone.
@safe struct SlotTable: ~Copyable, @unchecked Sendable {
  static let none = UInt32.max
  private static let pageShift: UInt32 = 6
  private static let pageSlots = 1 << Int(pageShift)
  private static let pageSize = pageSlots * (MemoryLayout<Slot>.stride + MemoryLayout<UInt32>.stride)
  /// The bytes that one more page takes from the budget: itself and its place in the list of pages, which
  /// doubles and so may be half empty.
  static let pageCost = Block.allocated(pageSize) + 2 * MemoryLayout<Int>.stride

  // Unsafe: owned by this table, freed in deinit; a page holds `pageSlots` slots, then as many bucket heads.
  private var pages: UnsafeMutablePointer<UnsafeMutableRawPointer>
  private var pageRoom = 0
  private(set) var pageCount = 0
  private var free = none
  /// One less than the least power of two that is not below the number of buckets.
  private var mask: UInt32 = 0

  // Unsafe: room for no page yet; `addPage` moves the list when it grows.
  init() { unsafe pages = UnsafeMutablePointer.allocate(capacity: 1) }

  // Unsafe: every slot of every page was initialized in `grow`, and nobody else has the pages.
  deinit {
    for index in 0..<UInt32(pageCount * SlotTable.pageSlots) {
      unsafe place(index).deinitialize(count: 1)
    }
    for page in 0..<pageCount { unsafe pages[page].deallocate() }
    unsafe pages.deallocate()
  }

  /// How many slots, and buckets, there are.
  var count: UInt32 { UInt32(pageCount) << SlotTable.pageShift }
  var isFull: Bool { free == SlotTable.none }

  // Unsafe: indices come from this table, so they are below `count`.
  @inline(__always)
  private func place(_ index: UInt32) -> UnsafeMutablePointer<Slot> {
    assert(index < count)
    let page = unsafe pages[Int(index >> SlotTable.pageShift)]
    let slots = unsafe page.assumingMemoryBound(to: Slot.self)
    return unsafe slots + Int(index & UInt32(SlotTable.pageSlots - 1))
  }

  // Unsafe: buckets are numbered like slots.
  @inline(__always)
  private func head(_ bucket: UInt32) -> UnsafeMutablePointer<UInt32> {
    assert(bucket < count)
    let page = unsafe pages[Int(bucket >> SlotTable.pageShift)]
    let heads = unsafe (page + SlotTable.pageSlots * MemoryLayout<Slot>.stride)
      .assumingMemoryBound(to: UInt32.self)
    return unsafe heads + Int(bucket & UInt32(SlotTable.pageSlots - 1))
  }

  // Unsafe: `place` says why; a page stays where it is as long as the table lives.
  subscript(_ index: UInt32) -> Slot {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(place(index)) }
    @inline(__always) unsafeMutableAddress { unsafe place(index) }
  }

  // MARK: Buckets

  @inline(__always)
  private func bucket(_ hash: UInt32) -> UInt32 {
    let bucket = hash & mask
    return bucket < count ? bucket : hash & (mask >> 1)
  }

  /// The first slot of the chain where a key with this hash would be; `none` where there is no chain.
  @inline(__always)
  func first(_ hash: UInt32) -> UInt32 {
    pageCount == 0 ? SlotTable.none : unsafe head(bucket(hash)).pointee
  }

  func first(inBucket bucket: UInt32) -> UInt32 { unsafe head(bucket).pointee }

  /// Puts a slot first in its chain. The newest record of a key is found before its elders.
  mutating func link(_ index: UInt32) {
    let head = unsafe head(bucket(self[index].hash))
    self[index].next = unsafe head.pointee
    unsafe head.pointee = index
  }

  /// Takes a slot out of its chain.
  mutating func unlink(_ index: UInt32) {
    let head = unsafe head(bucket(self[index].hash))
    guard unsafe head.pointee != index else {
      unsafe head.pointee = self[index].next
      return
    }
    var before = unsafe head.pointee
    while self[before].next != index { before = self[before].next }
    self[before].next = self[index].next
  }

  // MARK: Slots

  /// How many slots are free, counted anew.
  var freeCount: Int {
    var (index, count) = (free, 0)
    while index != SlotTable.none, count <= Int(self.count) { (index, count) = (self[index].next, count + 1) }
    return count
  }

  /// A free slot, taken from the list. The table must not be full.
  mutating func take() -> UInt32 {
    let index = free
    precondition(index != SlotTable.none, "a slot was taken from a full table")
    free = self[index].next
    return index
  }

  /// Empties a slot that is in no chain, and hands out what it held.
  mutating func release(_ index: UInt32) -> Slot {
    let slot = self[index]
    self[index] = Slot()
    self[index].next = free
    free = index
    return slot
  }

  // MARK: Growth

  /// Adds a page of slots, and of buckets, among which the chains are divided anew.
  mutating func grow() {
    let start = count
    precondition(start < SlotTable.none - UInt32(SlotTable.pageSlots), "a table has no more indices")
    addPage()
    for index in (start..<count).reversed() {
      // Unsafe: the page is new, and each of its slots and heads is initialized once.
      unsafe place(index).initialize(to: Slot())
      unsafe head(index).initialize(to: SlotTable.none)
      self[index].next = free
      free = index
    }
    for bucket in max(start, 1)..<count { divide(into: bucket) }
  }

  private mutating func addPage() {
    if pageCount == pageRoom {
      let more = max(8, pageRoom * 2)
      // Unsafe: the old list is moved out of before it is freed.
      let list = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: more)
      unsafe list.moveInitialize(from: pages, count: pageCount)
      unsafe pages.deallocate()
      unsafe pages = list
      pageRoom = more
    }
    unsafe (pages + pageCount).initialize(
      to: UnsafeMutableRawPointer.allocate(byteCount: SlotTable.pageSize, alignment: 8))
    pageCount += 1
  }

  /// Moves what belongs into this last bucket from the one that held it so far, keeping the order of both.
  private mutating func divide(into bucket: UInt32) {
    mask = UInt32.max >> UInt32(bucket.leadingZeroBitCount)
    let parent = bucket & (mask >> 1)
    // Unsafe: the parent is below `bucket`, and so below `count`.
    var index = unsafe head(parent).pointee
    var (stays, moves) = (SlotTable.none, SlotTable.none)
    while index != SlotTable.none {
      let next = self[index].next
      if self[index].hash & mask == bucket {
        append(index, after: &moves, in: bucket)
      } else {
        append(index, after: &stays, in: parent)
      }
      index = next
    }
    // Unsafe: as above, a bucket below `count`.
    if stays == SlotTable.none { unsafe head(parent).pointee = SlotTable.none }
  }

  private mutating func append(_ index: UInt32, after last: inout UInt32, in bucket: UInt32) {
    self[index].next = SlotTable.none
    // Unsafe: `divide` names buckets below `count`.
    if last == SlotTable.none { unsafe head(bucket).pointee = index } else { self[last].next = index }
    last = index
  }
}
