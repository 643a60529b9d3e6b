// Whether an attempt that failed is followed by another one: a domain's policy, bounded by what is safe to repeat, by what
// the origin asks for, and by what would be better than to wait. Pure; each no has its reason, which /stats counts.

import RegentConfig
import RegentHTTP

/// How a domain repeats what its origin failed.
struct RetryRules: Sendable {
  let policy: any RetryPolicy
  /// The longest delay that an origin may ask for.
  let maxDelay: Duration
  /// The most content that is kept so that it can be sent again.
  let keptContent: Int

  init(policy: any RetryPolicy, maxDelay: Duration, keptContent: Int) {
    self.policy = policy
    self.maxDelay = maxDelay
    self.keptContent = policy is NoRetry ? 0 : keptContent
  }

  /// The rules of a configuration's entry; `policy` is the user's own in place of the configured one.
  init(_ entry: Retrying, policy: (any RetryPolicy)? = nil) {
    self.init(
      policy: policy ?? Self.policy(entry), maxDelay: entry.maxDelay, keptContent: entry.body.bytes)
  }

  private static func policy(_ entry: Retrying) -> any RetryPolicy {
    switch entry.policy {
    case .exponential:
      ExponentialBackoff(
        baseDelay: entry.base, maxDelay: entry.maxDelay, maxAttempts: entry.attempts, jitter: entry.jitter,
        conditions: entry.on)
    case .linear:
      LinearRetry(fixedDelay: entry.base, maxAttempts: entry.attempts, conditions: entry.on)
    case .none: NoRetry()
    }
  }

  /// Whether the request is sent again, as far as it is this request's own affair.
  func verdict(
    on trouble: OriginTrouble, _ ended: EndedAttempt, using generator: inout some RandomNumberGenerator
  ) -> RetryVerdict {
    guard policy.shouldRetry(for: trouble, attempt: ended.number) else { return .refused(.policy) }
    if let refusal = ended.refusal { return .refused(refusal) }
    let wanted = policy.delay(for: ended.number, using: &generator)
    guard trouble.demandedDelay <= maxDelay else { return .refused(.demand) }
    let delay = max(.zero, wanted, trouble.demandedDelay)
    return delay < ended.remaining ? .again(after: delay) : .refused(.deadline)
  }
}

/// What is known of an attempt that failed, and of its request.
struct EndedAttempt {
  /// From 0.
  var number = 0
  /// Whether anything of the request may have reached the origin.
  var hasLeft = true
  var method = Method.get
  /// Whether what it sends could be sent once more.
  var isReplayable = true
  /// Whether it is asked behind an answer that has left already: the next client's request is its repetition.
  var isBehind = false
  /// Whether a stored response may answer at once.
  var hasStale = false
  /// Whether the answer is explicitly fresh, so that it is what the origin has to say.
  var isFresh = false
  /// Whether the origin is left alone.
  var isBroken = false
  /// How long the request may still take.
  var remaining = Duration.seconds(1)

  /// Why it is not sent again, whatever the policy says.
  fileprivate var refusal: RetryRefusal? {
    if isBehind { return .behind }
    if hasLeft, !method.isIdempotent { return .method }
    if hasLeft, !isReplayable { return .content }
    if hasStale { return .stale }
    if isFresh { return .fresh }
    return isBroken ? .breaker : nil
  }
}

/// What follows an attempt that failed.
enum RetryVerdict: Equatable {
  case again(after: Duration)
  case refused(RetryRefusal)
}

/// Why an attempt that failed was the last one. The words are those of /stats.
enum RetryRefusal: String, CaseIterable, Sendable {
  /// There were attempts enough, or the last trouble is none that is repeated.
  case policy
  case behind
  /// The method's effect could be there twice.
  case method
  /// The content was not kept.
  case content
  case stale
  case fresh
  case breaker
  /// The origin asks to be left alone for longer than the domain waits.
  case demand
  case deadline
  /// The origin was sent as many repetitions as it is to bear.
  case budget
  /// The client has gone, and nobody would store the answer.
  case left
}

extension OriginTrouble {
  /// How long the origin asks to be left alone.
  var demandedDelay: Duration {
    guard case .answer(_, let after?) = self else { return .zero }
    return after
  }
}
