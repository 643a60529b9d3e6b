// The heads that records of one shard have in common, each kept once and counted by its users.
// Whoever holds the shard's lock owns it. It must never give out the index of a head without users.

import RegentLoop

/// A table of shared heads by content.
struct InternedHeads {
  /// What one entry takes from the budget beside its block: the entry and its place in the dictionary, both in
  /// tables that double and so may be half empty.
  private static let entryCost = 2 * (MemoryLayout<Entry>.stride + 2 * MemoryLayout<UInt64>.stride)

  private struct Entry {
    var block: Block?
    var users: UInt32
    var hash: UInt64
    /// The next entry with the same hash, or the next free one.
    var next: UInt32
  }

  private var entries: [Entry] = []
  private var firstByHash: [UInt64: UInt32] = [:]
  private var free = SlotTable.none
  /// The entry that was wanted last: most responses of a site share one head.
  private var recent = SlotTable.none

  /// How many heads are kept.
  private(set) var count = 0

  /// The bytes that a head of this block takes from the budget.
  static func cost(_ block: Block) -> Int { block.footprint + entryCost }
  /// The same for a head of so many bytes.
  static func cost(_ count: Int) -> Int { count + Block.overhead(capacity: count) + entryCost }

  /// The bytes that all heads take, and their users, counted anew.
  var cost: Int { entries.reduce(0) { $0 + ($1.block.map(InternedHeads.cost) ?? 0) } }
  var users: Int { entries.reduce(0) { $0 + Int($1.users) } }

  @inline(__always)
  subscript(_ index: UInt32) -> Block? {
    index == SlotTable.none ? nil : entries[Int(index)].block
  }

  /// The index of this head, with one user more; `isNew` when it is kept only from now on.
  mutating func intern(_ bytes: [UInt8]) -> (index: UInt32, isNew: Bool) {
    if holds(bytes, at: recent) {
      entries[Int(recent)].users += 1
      return (recent, false)
    }
    let hash = RecordKey(bytes).hash
    let first = firstByHash[hash] ?? SlotTable.none
    var index = first
    while index != SlotTable.none, !holds(bytes, at: index) { index = entries[Int(index)].next }
    let isNew = index == SlotTable.none
    if isNew {
      index = add(Entry(block: Block(bytes), users: 1, hash: hash, next: first))
      firstByHash[hash] = index
    } else {
      entries[Int(index)].users += 1
    }
    recent = index
    return (index, isNew)
  }

  private func holds(_ bytes: [UInt8], at index: UInt32) -> Bool {
    guard let known = self[index] else { return false }
    return known.count == bytes.count && known.holds(bytes)
  }

  /// Takes one user away; the head's block when that was the last one.
  mutating func release(_ index: UInt32) -> Block? {
    guard index != SlotTable.none else { return nil }
    entries[Int(index)].users -= 1
    guard entries[Int(index)].users == 0 else { return nil }
    unlink(index)
    let block = entries[Int(index)].block
    entries[Int(index)] = Entry(block: nil, users: 0, hash: 0, next: free)
    free = index
    count -= 1
    return block
  }

  private mutating func add(_ entry: Entry) -> UInt32 {
    count += 1
    guard free != SlotTable.none else {
      entries.append(entry)
      return UInt32(entries.count - 1)
    }
    let index = free
    free = entries[Int(index)].next
    entries[Int(index)] = entry
    return index
  }

  private mutating func unlink(_ index: UInt32) {
    let (hash, next) = (entries[Int(index)].hash, entries[Int(index)].next)
    guard var before = firstByHash[hash], before != index else {
      firstByHash[hash] = next == SlotTable.none ? nil : next
      return
    }
    while entries[Int(before)].next != index { before = entries[Int(before)].next }
    entries[Int(before)].next = next
  }
}
