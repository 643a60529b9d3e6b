// The lock that all shared state is behind: Synchronization's Mutex, made visible to the thread sanitizer.
// A contended Mutex takes its slow path inside the runtime, which is not instrumented; the sanitizer then reports races
// that are none. The order that the lock gives is therefore said a second time, with an atomic that it does see.

public import Synchronization

/// A value that one thread at a time may touch.
public struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: Mutex<Value>
  @usableFromInline let order = Atomic<UInt8>(0)

  @inlinable public init(_ value: consuming sending Value) { mutex = Mutex(value) }

  /// Runs `body` with the value, while nobody else has it.
  @inlinable
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try mutex.withLock { value throws(Failure) -> sending Result in
      _ = order.load(ordering: .acquiring)
      defer { order.store(0, ordering: .releasing) }
      return try body(&value)
    }
  }
}
