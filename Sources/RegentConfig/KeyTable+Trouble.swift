// The keys of what Regent does when an origin is in trouble: repeat the request, or leave the origin alone.

extension KeyTable {
  private static let pause = Duration.zero...Duration.seconds(86_400)

  /// The keys of a `[[domain]]` about retries and the circuit breaker.
  static let domainTrouble: [Key<Domain>] = [
    Key("domain.retry", \.retrying.policy, "How the delays grow after which a failed request is repeated."),
    Key(
      "domain.retry-attempts", \.retrying.attempts, in: 1...100,
      "The most attempts for one request, the first one included."),
    Key("domain.retry-base", \.retrying.base, in: pause, "The delay before the first repetition."),
    Key(
      "domain.retry-max-delay", \.retrying.maxDelay, in: pause,
      "The longest delay; an origin that asks for a longer one gets no repetition."),
    Key("domain.retry-jitter", \.retrying.jitter, in: pause, "The most that chance adds to a delay."),
    Key("domain.retry-on", \.retrying.on, "What is repeated: connect, reset, timeout, and statuses."),
    Key(
      "domain.retry-budget", \.retrying.budget, in: 0...100,
      "The most repetitions, in per cent of the origin's requests of the last 10 s; 3 at least, 0 for none."),
    Key(
      "domain.retry-body", \.retrying.body, in: size(0)...size(16 << 20),
      "The largest request content that is kept so that it can be sent again."),
    Key(
      "domain.breaker", \.breaking.isOn, "Whether an origin that fails too often is left alone for a while."),
    Key(
      "domain.breaker-failures", \.breaking.failures, in: 1...100,
      "The share of failures (no answer, 502, 503, 504) from which on it is, in per cent."),
    Key(
      "domain.breaker-requests", \.breaking.requests, in: 1...1_000_000, "The fewest requests that tell it."),
    Key("domain.breaker-window", \.breaking.window, in: wait, "How long a failure is remembered."),
    Key(
      "domain.breaker-open", \.breaking.open, in: wait,
      "How long the origin is left alone at first; up to eight times that if it goes on failing."),
  ]
}
