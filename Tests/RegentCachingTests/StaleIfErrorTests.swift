// May a stored candidate answer when the origin failed (RFC 5861 section 4, RFC 9111 section 4.2.4).

import RegentCaching
import Testing

struct StaleIfErrorRow: Row {
  var rule: String
  var response: String
  var failure: OriginFailure
  var decision: StaleIfError
  var request: String
  var policy: CachePolicy

  init(
    _ rule: String, _ response: String, _ failure: OriginFailure, _ decision: StaleIfError,
    request: String = "", policy: CachePolicy = CachePolicy()
  ) {
    self.rule = rule
    self.response = "Cache-Control: " + response
    self.failure = failure
    self.decision = decision
    self.request = request.isEmpty ? "" : "Cache-Control: " + request
    self.policy = policy
  }

  static let served = StaleIfError.serve(age: 70, reason: .staleIfError)

  static let all: [StaleIfErrorRow] = [
    .init("5861 4 a 500 within the window", "max-age=60, stale-if-error=30", .status(500), served),
    .init("5861 4 a 502 within the window", "max-age=60, stale-if-error=30", .status(502), served),
    .init("5861 4 a 503 within the window", "max-age=60, stale-if-error=30", .status(503), served),
    .init("5861 4 a 504 within the window", "max-age=60, stale-if-error=30", .status(504), served),
    .init("5861 4 a 501 is no such error", "max-age=60, stale-if-error=30", .status(501), .no),
    .init("5861 4 a 404 is no such error", "max-age=60, stale-if-error=30", .status(404), .no),
    .init("5861 4 a 429 is no such error", "max-age=60, stale-if-error=30", .status(429), .no),
    .init("5861 4 outside the window the error is seen", "max-age=60, stale-if-error=10", .status(503), .no),
    .init("5861 4 without a window the error is seen", "max-age=60", .status(503), .no),
    .init(
      "5861 4 the request opens a window", "max-age=60", .status(503), served, request: "stale-if-error=30"),
    .init(
      "5861 4 the domain opens a window", "max-age=60", .status(503), served, policy: .of(staleIfError: 30)),
    .init(
      "9111 4.2.4 disconnected, without any window", "max-age=60", .unreachable,
      .serve(age: 70, reason: .disconnected)),
    .init("5861 4 unreachable within the window", "max-age=60, stale-if-error=30", .unreachable, served),
    .init(
      "9111 4.2.4 must-revalidate forbids", "max-age=60, stale-if-error=30, must-revalidate", .status(503),
      .no),
    .init(
      "9111 4.2.4 must-revalidate forbids when disconnected", "max-age=60, must-revalidate", .unreachable, .no
    ),
    .init(
      "9111 4.2.4 proxy-revalidate forbids", "max-age=60, stale-if-error=30, proxy-revalidate", .unreachable,
      .no),
    .init("9111 5.2.2.10 s-maxage forbids", "s-maxage=60, stale-if-error=30", .status(503), .no),
    .init("9111 5.2.2.4 no-cache forbids", "no-cache, stale-if-error=99", .unreachable, .no),
    .init(
      "9111 4.2.4 must-revalidate forbids the domain's window", "max-age=60, must-revalidate", .status(503),
      .no, policy: .of(staleIfError: 30)),
    .init(
      "9111 5.2.2.2 must-revalidate does not forbid what is fresh", "max-age=90, must-revalidate",
      .status(503), .serve(age: 70, reason: .staleIfError)),
    .init("9111 5.2.2.4 no-cache forbids what is fresh", "max-age=90, no-cache", .status(503), .no),
    .init(
      "9111 5.2.1.4 the request's no-cache forbids", "max-age=60, stale-if-error=30", .status(503), .no,
      request: "no-cache"),
    .init(
      "policy network-only has no candidates", "max-age=60", .unreachable, .no, policy: .of(.networkOnly)),
    .init(
      "policy stale-while-revalidate overrules what s-maxage implies", "s-maxage=60", .status(503), served,
      policy: .of(.staleWhileRevalidate, staleIfError: 30)),
    .init(
      "policy cache-then-network overrules must-revalidate", "max-age=60, must-revalidate", .unreachable,
      .serve(age: 70, reason: .disconnected), policy: .of(.cacheThenNetwork)),
  ]
}

@Test("a stored candidate replaces an error only where it may", arguments: StaleIfErrorRow.all)
func staleIfError(row: StaleIfErrorRow) {
  let decision = StaleIfError.decide(
    metadata(row.response), request: RequestDirectives(fields(row.request)), policy: row.policy,
    failure: row.failure, now: arrival + 70)
  #expect(decision == row.decision)
}

@Test("after the clock went back, no candidate replaces an error")
func staleIfErrorClock() {
  let decision = StaleIfError.decide(
    metadata("Cache-Control: max-age=60"), request: .none, policy: CachePolicy(), failure: .unreachable,
    now: arrival - 70)
  #expect(decision == .no)
}
