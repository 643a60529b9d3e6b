// The index: 64 shards, each behind a lock of its own. No two locks are held at once, and no disk is touched under one.

import RegentLoop
import Synchronization

/// A shard behind its lock. A class, as an array cannot hold locks.
private final class DiskShardCell: Sendable {
  let shard = Lock(DiskShard())
}

/// Where each stored response is.
final class DiskIndex: Sendable {
  static let shardCount = 64
  private let cells = (0..<shardCount).map { _ in DiskShardCell() }

  private func with<Result: Sendable>(_ hash: UInt64, _ body: (inout DiskShard) -> Result) -> Result {
    cells[Int(truncatingIfNeeded: hash >> 58)].shard.withLock { body(&$0) }
  }

  /// The entries of a hash.
  func finds(_ hash: UInt64) -> DiskFinds { with(hash) { $0.finds(hash) } }

  func holds(_ hash: UInt64) -> Bool { with(hash) { $0.holds(hash) } }
  func contains(_ hash: UInt64, _ location: UInt64) -> Bool { with(hash) { $0.contains(hash, location) } }
  func touch(_ entry: DiskEntry, _ time: UInt16) {
    with(entry.hash) { $0.touch(entry.hash, entry.location, time) }
  }
  func countMiss(_ hash: UInt64) { with(hash) { $0.misses += 1 } }

  /// Adds an entry if `isAllowed`, asked while nobody else changes the hash's entries, still says so, and if the one
  /// whose place it is to take is still there.
  func insert(
    _ entry: DiskEntry, replacing old: DiskEntry? = nil, if isAllowed: () -> Bool = { true }
  ) -> Bool {
    with(entry.hash) { shard in
      guard isAllowed() else { return false }
      guard let old else { return shard.insert(entry) }
      return shard.replace(old.hash, old.location, with: entry)
    }
  }

  func replace(_ old: DiskEntry, with entry: DiskEntry) -> Bool {
    with(old.hash) { $0.replace(old.hash, old.location, with: entry) }
  }

  @discardableResult
  func remove(_ hash: UInt64, where matches: (DiskEntry) -> Bool) -> Int {
    with(hash) { $0.remove(hash, where: matches) }
  }

  @discardableResult
  func remove(_ entry: DiskEntry) -> Int { remove(entry.hash) { $0.location == entry.location } }

  @discardableResult
  func removeAll(where matches: (DiskEntry) -> Bool) -> Int {
    cells.reduce(0) { sum, cell in sum + cell.shard.withLock { $0.removeAll(where: matches) } }
  }

  /// The entries that `matches` accepts, a shard at a time.
  func entries(where matches: (DiskEntry) -> Bool) -> [DiskEntry] {
    cells.flatMap { cell in
      cell.shard.withLock { shard in shard.places.filter { !$0.isEmpty && matches($0) } }
    }
  }

  /// The entries of one of the shards, from 0.
  func entries(ofShard number: Int) -> [DiskEntry] {
    cells[number].shard.withLock { shard in shard.places.filter { !$0.isEmpty } }
  }

  /// Makes room for so many entries, and for what chance puts into one shard rather than another.
  func reserve(_ count: Int) {
    let each = Double(count) / Double(Self.shardCount)
    for cell in cells { cell.shard.withLock { $0.reserve(Int(each + 4 * each.squareRoot())) } }
  }

  var count: Int { cells.reduce(0) { sum, cell in sum + cell.shard.withLock { $0.count } } }

  /// The bytes of memory that the index takes.
  var bytes: Int {
    cells.reduce(0) { sum, cell in
      sum + cell.shard.withLock { $0.places.capacity } * MemoryLayout<DiskEntry>.stride + 256
    }
  }

  /// Lookups that were answered, and those that were not.
  var lookups: (hits: Int, misses: Int) {
    cells.reduce(into: (0, 0)) { sum, cell in
      let one = cell.shard.withLock { ($0.hits, $0.misses) }
      sum = (sum.0 + one.0, sum.1 + one.1)
    }
  }
}
