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

  /// How many heads are kept.
  private(set) var count = 0

  /// The bytes that a head of this block takes from the budget.
  static func cost(_ block: Block) -> Int { block.footprint + entryCost }

  /// The bytes that all heads take, and their users, counted anew.
  var cost: Int { entries.reduce(0) { $0 + ($1.block.map(InternedHeads.cost) ?? 0) } }
  var users: Int { entries.reduce(0) { $0 + Int($1.users) } }

  @inline(__always)
  subscript(_ index: UInt32) -> Block? {
    index == SlotTable.none ? nil : entries[Int(index)].block
  }

  /// The index of this head, with one user more; `isNew` when it is kept only from now on.
  mutating func intern(_ block: Block, _ bytes: [UInt8], hash: UInt64) -> (index: UInt32, isNew: Bool) {
    let first = firstByHash[hash] ?? SlotTable.none
    var index = first
    while index != SlotTable.none {
      if let known = entries[Int(index)].block, known.count == bytes.count, known.holds(bytes) {
        entries[Int(index)].users += 1
        return (index, false)
      }
      index = entries[Int(index)].next
    }
    let added = add(Entry(block: block, users: 1, hash: hash, next: first))
    firstByHash[hash] = added
    return (added, true)
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
