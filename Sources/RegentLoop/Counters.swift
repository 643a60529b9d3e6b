// Many counts side by side: written by one thread, read by any. They take eight bytes each, where an object for each
// would take six times that.

import Synchronization

/// A fixed number of counts, all 0 at first.
// @unchecked: the counts are atomic, and the pointer to them never changes.
@safe public final class Counters: @unchecked Sendable {
  public let count: Int
  // Unsafe: made in init, freed in deinit; `subscript` and `add` check each index.
  private let first: UnsafeMutablePointer<Atomic<Int>>

  public init(count: Int) {
    precondition(count >= 0, "a number of counts is not negative")
    self.count = count
    unsafe first = .allocate(capacity: count)
    for index in 0..<count { unsafe (first + index).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe first.deinitialize(count: count)
    unsafe first.deallocate()
  }

  /// Adds to a count; by the writing thread only, so that a load and a store do.
  public func add(_ amount: Int, at index: Int) {
    precondition(index >= 0 && index < count, "there is no such count")
    // Unsafe: within what was allocated.
    unsafe first[index].store(first[index].load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }

  public subscript(index: Int) -> Int {
    precondition(index >= 0 && index < count, "there is no such count")
    // Unsafe: within what was allocated.
    return unsafe first[index].load(ordering: .relaxed)
  }
}
