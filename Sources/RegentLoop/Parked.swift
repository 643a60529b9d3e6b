// A task that waits for somebody else's word: the one suspension that everything shared between tasks is built on.

/// A task that waits, and what resumes it: exactly once, by whoever takes it out of the shared state that it lies in, or,
/// when it was never put there, by the one who tried.
@safe public struct Parked<Value: Sendable>: Sendable {
  // Unsafe: must be resumed exactly once; see above. A checked continuation would cost an allocation for each wait.
  private let continuation: UnsafeContinuation<Value, Never>

  public static func wait(_ body: (Parked) -> Void) async -> Value {
    unsafe await withUnsafeContinuation { body(unsafe Parked(continuation: $0)) }
  }

  public func resume(_ value: Value) { unsafe continuation.resume(returning: value) }
}
