// How often keys were removed because they were no answer any more. Who fetches takes the mark before it asks; a store
// takes no record whose key was removed since. Fixed in size: keys share counters, which costs a storing, never truth.

import Synchronization

/// The removals of a store's keys, counted.
final class Removals: Sendable {
  /// A power of two.
  static let places = 512
  private let counts = InlineArray<512, Atomic<UInt64>> { _ in Atomic(0) }

  /// What was removed so far of the keys that share the key's counter.
  func mark(_ key: RecordKey) -> RemovalMark {
    RemovalMark(count: counts[Self.place(key)].load(ordering: .acquiring))
  }

  /// Counts a removal, before the records go; the mark that it makes.
  func note(_ key: RecordKey) -> RemovalMark {
    RemovalMark(count: counts[Self.place(key)].wrappingAdd(1, ordering: .acquiringAndReleasing).newValue)
  }

  /// Counts a removal of every key.
  func noteAll() {
    for index in counts.indices { counts[index].wrappingAdd(1, ordering: .acquiringAndReleasing) }
  }

  private static func place(_ key: RecordKey) -> Int { Int(key.hash & UInt64(places - 1)) }
}

/// What had been removed under a key at some moment.
public struct RemovalMark: Sendable, Equatable {
  let count: UInt64

  /// Whether something was removed between that mark and this one.
  public func isLater(than mark: RemovalMark) -> Bool { count > mark.count }

  /// Whether one removal, and no other, lies between that mark and this one.
  public func isNext(after mark: RemovalMark) -> Bool { count == mark.count &+ 1 }
}
