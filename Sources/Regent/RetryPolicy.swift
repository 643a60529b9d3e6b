// When a request is sent once more, and how long after: the protocol, and the policies that there are. Pure: chance is
// passed in, and nothing traps, whatever the numbers are. What is safe to repeat is not decided here.

public import RegentConfig
import RegentLoop

/// What an origin did in place of a good answer.
public enum OriginTrouble: Sendable, Equatable {
  /// There is no answer.
  case failure(Failure)
  /// It answered with a status from 400 on; `after` is how long it asks to be left alone, where it says so.
  case answer(status: Int, after: Duration?)
}

/// Decides whether and when a request is sent to its origin once more.
///
/// A policy is asked only about requests that may be repeated. Regent keeps to the origin's own words (`Retry-After`,
/// `RateLimit`), to the retry budget and to the deadlines whatever a policy says.
public protocol RetryPolicy: Sendable {
  /// Whether another attempt is worth while.
  ///
  /// - Parameter attempt: The attempt that ended in the trouble, from 0.
  func shouldRetry(for trouble: OriginTrouble, attempt: Int) -> Bool

  /// How long to wait before the next attempt.
  ///
  /// - Parameters:
  ///   - attempt: The attempt that ended in a trouble, from 0.
  ///   - generator: Where chance comes from.
  func delay(for attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration
}

/// Delays that double: min(`baseDelay` × 2^attempt + jitter, `maxDelay`).
public struct ExponentialBackoff: RetryPolicy {
  public let baseDelay: Duration
  public let maxDelay: Duration
  /// The most attempts, the first one included.
  public let maxAttempts: Int
  /// What chance adds at most: each value from 0 to this one is as likely as any other.
  public let jitter: Duration
  /// What is worth another attempt.
  public let conditions: [RetryCondition]

  public init(
    baseDelay: Duration, maxDelay: Duration, maxAttempts: Int, jitter: Duration = .milliseconds(500),
    conditions: [RetryCondition] = RetryCondition.standard
  ) {
    self.baseDelay = baseDelay
    self.maxDelay = maxDelay
    self.maxAttempts = maxAttempts
    self.jitter = jitter
    self.conditions = conditions
  }

  public func shouldRetry(for trouble: OriginTrouble, attempt: Int) -> Bool {
    trouble.meets(conditions) && isFollowed(attempt, of: maxAttempts)
  }

  public func delay(for attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
    let chance = Int64.random(in: 0...max(0, jitter.nanoseconds), using: &generator)
    let grown = doubled(max(0, baseDelay.nanoseconds), times: attempt)
    let (sum, overflow) = grown.addingReportingOverflow(chance)
    return .nanoseconds(min(overflow ? .max : sum, max(0, maxDelay.nanoseconds)))
  }
}

/// The same delay each time.
public struct LinearRetry: RetryPolicy {
  public let fixedDelay: Duration
  /// The most attempts, the first one included.
  public let maxAttempts: Int
  /// What is worth another attempt.
  public let conditions: [RetryCondition]

  public init(
    fixedDelay: Duration, maxAttempts: Int, conditions: [RetryCondition] = RetryCondition.standard
  ) {
    self.fixedDelay = fixedDelay
    self.maxAttempts = maxAttempts
    self.conditions = conditions
  }

  public func shouldRetry(for trouble: OriginTrouble, attempt: Int) -> Bool {
    trouble.meets(conditions) && isFollowed(attempt, of: maxAttempts)
  }

  public func delay(for attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
    .nanoseconds(max(0, fixedDelay.nanoseconds))
  }
}

/// One attempt and no other.
public struct NoRetry: RetryPolicy {
  public init() {}

  public func shouldRetry(for trouble: OriginTrouble, attempt: Int) -> Bool { false }

  public func delay(for attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration { .zero }
}

/// Whether there is another attempt behind this one, counted from 0.
private func isFollowed(_ attempt: Int, of maxAttempts: Int) -> Bool {
  maxAttempts > 1 && attempt < maxAttempts - 1
}

/// A number of nanoseconds, not below 0, times 2^`times`; the largest number where that is beyond it.
func doubled(_ nanoseconds: Int64, times: Int) -> Int64 {
  guard nanoseconds > 0, times > 0 else { return nanoseconds }
  // A shift by more bits than are free above the number would lose some.
  return times >= nanoseconds.leadingZeroBitCount ? .max : nanoseconds << Int64(times)
}

extension OriginTrouble {
  /// Whether it is one of these. 429 is only where the origin says how long to wait: guessing made it say so.
  public func meets(_ conditions: [RetryCondition]) -> Bool {
    switch self {
    case .failure(let failure): return failure.condition.map(conditions.contains) ?? false
    case .answer(429, nil): return false
    case .answer(let status, _):
      for case .status(let listed) in conditions where listed == status { return true }
      return false
    }
  }
}

extension Failure {
  /// What it is for `retry-on`; nil for what another attempt would not better.
  var condition: RetryCondition? {
    switch self {
    case .connectionRefused, .connectionTimedOut, .connectionFailed, .tls(.timedOut): .connect
    case .closedBeforeResponse: .reset
    case .responseTimedOut: .timeout
    default: nil
    }
  }
}

/// The system's random numbers.
// It has a size, which the standard library's own generator has not: ThreadSanitizer reads at the address of what is
// passed inout, and a value without a size has none.
struct SystemChance: RandomNumberGenerator {
  private var drawn = 0

  mutating func next() -> UInt64 {
    drawn &+= 1
    return .random(in: .min ... .max)
  }
}
