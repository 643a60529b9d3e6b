// Which keys are being revalidated behind a stale answer: at most one revalidation for each, over all loops. One that
// failed is not followed by the next at once, so that a failing origin is not asked by every client's request.

import RegentLoop
import RegentStorage

/// The keys whose revalidation is in the air or has just failed, bounded.
final class Revalidations: Sendable {
  static let bound = 1024
  /// How long a key rests after a failure, from the request that brought it about, in nanoseconds.
  static let pause: Int64 = 3_000_000_000

  private struct State {
    /// When the key may be revalidated again; the far future while it is being.
    var keys: [RecordKey: Int64] = [:]
    /// When keys that need not be remembered were last looked for.
    var swept = Int64.min
  }

  private let state = Lock(State())

  /// Whether the caller is to revalidate the key; then it owes an ``end(_:pausing:)``.
  ///
  /// - Parameter now: Monotonic nanoseconds.
  func begin(_ key: RecordKey, now: Int64) -> Bool {
    state.withLock { state in
      if let until = state.keys[key], until > now { return false }
      if state.keys.count >= Self.bound { Self.sweep(&state, now) }
      guard state.keys.count < Self.bound || state.keys[key] != nil else { return false }
      state.keys[key] = .max
      return true
    }
  }

  /// The revalidation has ended.
  ///
  /// - Parameter start: When the request that began it came, where it failed; nil where it did not.
  func end(_ key: RecordKey, failedSince start: Int64?) {
    state.withLock { $0.keys[key] = start.map { $0 &+ Self.pause } }
  }

  /// Forgets the keys that have rested; not more often than they can, so that a full table costs little.
  private static func sweep(_ state: inout State, _ now: Int64) {
    guard now &- state.swept > pause / 8 || state.swept == .min else { return }
    state.swept = now
    state.keys = state.keys.filter { $0.value > now }
  }
}
