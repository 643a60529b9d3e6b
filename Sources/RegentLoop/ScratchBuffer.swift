// The buffer into which a loop receives: one for all its connections, so that an idle one holds none.

import Glibc

/// What the last `receive()` on a loop brought; valid until the next one.
@safe public final class ScratchBuffer {
  let capacity: Int
  // Unsafe: owned by this object alone; the loop's thread is its only user.
  @usableFromInline let start: UnsafeMutablePointer<UInt8>
  private var filled = 0
  public var count: Int { filled }

  init(capacity: Int) {
    self.capacity = capacity
    unsafe start = UnsafeMutablePointer.allocate(capacity: capacity)
    // Unsafe: all of it, once, so that no later span covers uninitialised memory.
    unsafe start.initialize(repeating: 0, count: capacity)
  }

  deinit { unsafe start.deallocate() }

  func received(_ count: Int) {
    precondition(count >= 0 && count <= capacity, "the scratch buffer was overfilled")
    filled = count
  }

  /// The bytes of the last `receive()`.
  @inlinable public func withBytes<Result, Failure: Error>(
    _ read: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // Unsafe: the span covers initialised bytes and does not outlive the call.
    try unsafe read(Span(_unsafeStart: UnsafePointer(start), count: count))
  }

  /// Whether the last `receive()` brought these bytes and no others.
  public func holdsExactly(_ bytes: [UInt8]) -> Bool {
    guard bytes.count == count else { return false }
    // Unsafe: both are `count` bytes long.
    return unsafe bytes.withUnsafeBytes { other in
      guard let otherStart = other.baseAddress else { return true }
      return unsafe memcmp(start, otherStart, count) == 0
    }
  }

  /// The first bytes of the last `receive()` in an array of their own.
  public func copy(first count: Int) -> [UInt8] {
    precondition(count >= 0 && count <= self.count, "out of what was received")
    // Unsafe: within bounds, as just checked.
    return unsafe Array(UnsafeBufferPointer(start: start, count: count))
  }

  /// Copies a part of the last `receive()` to the end of an array.
  public func copy(_ range: Range<Int>, onto bytes: inout [UInt8]) {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "out of what was received")
    // Unsafe: within bounds, as just checked.
    unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: start + range.lowerBound, count: range.count))
  }
}
