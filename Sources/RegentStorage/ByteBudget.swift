// The one count of bytes that a memory store and the bodies charged to it share. It is never exceeded: whoever wants
// bytes takes them first, and what the store can spare is evicted to make room.
// It must never be asked while a shard of the store is locked, because making room locks shards.

import RegentLoop
import Synchronization

/// A bound on bytes, taken from before memory is used and given back after it is freed.
public final class ByteBudget: Sendable {
  /// The most bytes that may be taken at once.
  public let limit: Int
  private let taken = Atomic<Int>(0)
  // Guards the reference only; set once by the store, and cleared when the store goes, which breaks the cycle
  // budget, shards, stored body, budget.
  private let shards = Lock<Shards?>(nil)

  public init(limit: Int) { self.limit = max(0, limit) }

  /// The bytes that are taken now.
  public var used: Int { taken.load(ordering: .relaxed) }

  /// Takes bytes, evicting stored records to make room; false, and nothing is taken, when that does not suffice.
  public func take(_ bytes: Int) -> Bool { take(bytes, near: 0) }

  /// Takes bytes; among records of equal age, those of shard `near` go first.
  func take(_ bytes: Int, near shard: Int) -> Bool {
    guard bytes >= 0, bytes <= limit else { return false }
    while !takeAtOnce(bytes) {
      guard evictOne(near: shard) else { return takeAtOnce(bytes) }
    }
    return true
  }

  /// Gives bytes back that were taken.
  public func give(_ bytes: Int) {
    guard bytes > 0 else { return }
    let before = taken.subtract(bytes, ordering: .relaxed).oldValue
    assert(before >= bytes, "more was given back than taken")
  }

  private func takeAtOnce(_ bytes: Int) -> Bool {
    var now = taken.load(ordering: .relaxed)
    while bytes <= limit - now {
      let (exchanged, original) = taken.weakCompareExchange(
        expected: now, desired: now + bytes, ordering: .relaxed)
      if exchanged { return true }
      now = original
    }
    return false
  }

  private func evictOne(near shard: Int) -> Bool {
    guard let bytes = shards.withLock({ $0 })?.evictOldest(near: shard) else { return false }
    give(bytes)
    return true
  }

  func connect(_ shards: Shards) { self.shards.withLock { $0 = shards } }
  func disconnect() { shards.withLock { $0 = nil } }
}
