// How often keys were removed because they were no answer any more. Who fetches takes the mark before it asks; a store
// takes no record whose key was removed since. Fixed in size: keys share counters, which costs a storing, never truth.

import Synchronization

/// The removals of a store's keys, counted.
final class Removals: Sendable {
  /// A power of two.
  static let places = 4096
  /// The last table's number: a request's marks of several stores are told apart by it.
  private static let tables = Atomic<UInt64>(0)
  private let table: UInt64
  private let counts: InlineArray<4096, Atomic<UInt64>>

  init() {
    let table = Self.tables.wrappingAdd(1, ordering: .relaxed).newValue << RemovalMark.countBits
    self.table = table
    counts = InlineArray { _ in Atomic(table) }
  }

  /// The mark that this table made, among those of several.
  func own(_ marks: RemovalMarks) -> RemovalMark? { marks.first { $0.isOf(table) } }

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
  /// The count, below the number of the table that it belongs to.
  let count: UInt64

  static let countBits: UInt64 = 48

  fileprivate func isOf(_ table: UInt64) -> Bool { count >> Self.countBits == table >> Self.countBits }

  /// Whether both are of the same store.
  func isBeside(_ mark: RemovalMark) -> Bool { isOf(mark.count) }

  /// Whether something was removed between that mark and this one.
  public func isLater(than mark: RemovalMark) -> Bool { count > mark.count }

  /// Whether one removal, and no other, lies between that mark and this one.
  public func isNext(after mark: RemovalMark) -> Bool { count == mark.count &+ 1 }
}

/// What the stores that a request met had removed when they looked for it: a mark of each, the nearest store's first.
public struct RemovalMarks: Sendable {
  public private(set) var nearest: RemovalMark?
  private var others: [RemovalMark] = []

  public init() {}
  public init(_ mark: RemovalMark?) { nearest = mark }

  /// Adds a store's mark, unless there is an earlier one of the same store.
  public mutating func add(_ mark: RemovalMark) {
    guard let nearest else {
      self.nearest = mark
      return
    }
    guard !nearest.isBeside(mark), !others.contains(where: { $0.isBeside(mark) }) else { return }
    others.append(mark)
  }

  func first(where matches: (RemovalMark) -> Bool) -> RemovalMark? {
    if let nearest, matches(nearest) { return nearest }
    return others.first(where: matches)
  }
}
