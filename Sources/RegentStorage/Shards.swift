// The shards of a memory store, side by side in memory, each behind its own lock. No two locks are ever held at once,
// and nothing is freed under one. What leaves a shard is let go of before its bytes count as given back.

import RegentLoop
import Synchronization

/// One shard, its lock, and what others may know of it without the lock.
struct ShardCell: ~Copyable {
  let shard: Lock<Shard>
  /// When its oldest record was last used, in ticks; `empty` where there is none. A hint: only the lock knows.
  let oldest = Atomic<UInt64>(ShardCell.empty)
  // Keeps the locks of neighbours out of each other's cache lines.
  private let padding: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

  static let empty = UInt64.max

  init() { shard = Lock(Shard()) }

  /// Changes the shard under its lock, and publishes how old its oldest record is then.
  func change<Result>(_ body: (inout Shard) -> sending Result) -> sending Result {
    shard.withLock { shard in
      let result = body(&shard)
      oldest.store(shard.oldestTick.map(UInt64.init) ?? ShardCell.empty, ordering: .relaxed)
      return result
    }
  }
}

/// All shards of a store.
// @unchecked: the cells are made in `init` and freed in `deinit`; between, each is shared through its Lock and Atomic.
@safe final class Shards: @unchecked Sendable {
  let count: Int
  private let shift: UInt64
  // Unsafe: owned by this object, `count` cells.
  private let cells: UnsafeMutablePointer<ShardCell>

  /// Makes at least this many shards, up to 256: the next power of two.
  init(atLeast wanted: Int) {
    let bits = (0...8).first { 1 << $0 >= wanted } ?? 8
    count = 1 << bits
    shift = UInt64(64 - bits)
    unsafe cells = UnsafeMutablePointer.allocate(capacity: count)
    for index in 0..<count { unsafe (cells + index).initialize(to: ShardCell()) }
  }

  deinit {
    unsafe cells.deinitialize(count: count)
    unsafe cells.deallocate()
  }

  /// The shard where a key with this hash lives: the top bits choose.
  @inline(__always)
  func index(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> shift) }

  subscript(_ index: Int) -> ShardCell {
    // Unsafe: indices come from `index(of:)` or are checked against `count`.
    @inline(__always) unsafeAddress {
      precondition(index >= 0 && index < count)
      return unsafe UnsafePointer(cells + index)
    }
  }

  /// Evicts the record that was used longest ago, or one nearly as old; of equals, one of shard `near` and then of
  /// the shards after it. Returns the bytes to give back; nil when nothing is stored.
  func evictOldest(near: Int) -> Int? {
    while let index = oldest(near: near) {
      guard let departed = self[index].change({ $0.evictOldest() }) else { continue }
      let bytes = departed.bytes
      _ = consume departed
      return bytes
    }
    return nil
  }

  private func oldest(near: Int) -> Int? {
    var (found, age) = (near, self[near].oldest.load(ordering: .relaxed))
    for step in 1..<max(1, count) {
      let index = (near &+ step) & (count &- 1)
      let its = self[index].oldest.load(ordering: .relaxed)
      if its < age { (found, age) = (index, its) }
    }
    return age == ShardCell.empty ? nil : found
  }
}

/// Time as the order of use needs it: coarse, and in 32 bits.
enum Ticks {
  /// The bounds of how long a record stays where it is in the order before a hit moves it again: 2 s and 60 s.
  static let shortestRefresh: UInt32 = 15
  static let longestRefresh: UInt32 = 447

  /// The tick of a monotonic time in nanoseconds; a tick is 2^27 ns, about 0.134 s.
  @inline(__always)
  static func at(_ now: Int64) -> UInt32 { UInt32(truncatingIfNeeded: now >> 27) }
}
