// May a stored response answer now (RFC 9111 section 4, 4.2.4, 5.2.1; RFC 5861; the domain's policies).

import RegentCaching
import Testing

struct ReuseRow: Row {
  var rule: String
  var response: String
  /// Seconds after ``arrival``.
  var after: Int64
  var decision: Reuse
  var request: String
  var policy: CachePolicy
  var status: UInt16

  init(
    _ rule: String, _ response: String, after: Int64, _ decision: Reuse, request: String = "",
    policy: CachePolicy = CachePolicy(), status: UInt16 = 200
  ) {
    self.rule = rule
    self.response = response.contains(":") || response.isEmpty ? response : "Cache-Control: " + response
    self.after = after
    self.decision = decision
    self.request = request.contains(":") || request.isEmpty ? request : "Cache-Control: " + request
    self.policy = policy
    self.status = status
  }

  static let all = freshness + staleness + requests + policies

  static let freshness: [ReuseRow] = [
    .init("9111 4.2 fresh: serve", "max-age=60", after: 30, .serve(age: 30)),
    .init("9111 4.2 fresh in its last second", "max-age=60", after: 59, .serve(age: 59)),
    .init(
      "9111 4.2 stale when the age reaches the lifetime", "max-age=60", after: 60, .validate(reason: .stale)),
    .init(
      "9111 4.2.3 the age at arrival counts", "Cache-Control: max-age=60\nAge: 50", after: 10,
      .validate(reason: .stale)),
    .init("9111 4.2.3 Age is served on", "Cache-Control: max-age=60\nAge: 50", after: 5, .serve(age: 55)),
    .init("9111 4.2 max-age=0 is stale at once", "max-age=0", after: 0, .validate(reason: .stale)),
    .init("B13 what cannot be read is stale at once", "max-age=1.5", after: 0, .validate(reason: .stale)),
    .init(
      "9111 5.2.2.4 no-cache validates what is fresh", "max-age=60, no-cache", after: 1,
      .validate(reason: .responseNoCache)),
    .init(
      "9111 5.2.2.4 no-cache with names serves the rest", "max-age=60, no-cache=\"x-a\"", after: 1,
      .serve(age: 1)),
    .init(
      "9111 5.2.2.4 no-cache with an empty list is whole", "max-age=60, no-cache=\"\"", after: 1,
      .validate(reason: .responseNoCache)),
    .init(
      "9111 5.2.2.2 must-revalidate serves what is fresh", "max-age=60, must-revalidate", after: 1,
      .serve(age: 1)),
    .init("F12 a small step of the clock is nothing", "max-age=60", after: -2, .serve(age: 0)),
    .init(
      "F12 a clock that went back asks the origin", "max-age=60", after: -3, .validate(reason: .clockWentBack)
    ),
    .init(
      "F12 a clock ten years back asks the origin", "max-age=60", after: -315_360_000,
      .validate(reason: .clockWentBack)),
    .init(
      "F12 a clock eighty years ahead is stale", "max-age=60", after: 2_522_880_000, .validate(reason: .stale)
    ),
    .init("9111 1.2.2 a clamped lifetime serves", "max-age=99999999999", after: 9, .serve(age: 9)),
  ]

  static let staleness: [ReuseRow] = [
    .init(
      "5861 3 stale-while-revalidate serves at once", "max-age=60, stale-while-revalidate=30", after: 70,
      .serveStale(age: 70, reason: .staleWhileRevalidate)),
    .init(
      "5861 3 to the last second of its window", "max-age=60, stale-while-revalidate=30", after: 89,
      .serveStale(age: 89, reason: .staleWhileRevalidate)),
    .init(
      "5861 3 and not beyond", "max-age=60, stale-while-revalidate=30", after: 90, .validate(reason: .stale)),
    .init(
      "9111 4.2.4 must-revalidate forbids it", "max-age=60, must-revalidate, stale-while-revalidate=30",
      after: 70, .validate(reason: .mustRevalidate)),
    .init(
      "9111 4.2.4 proxy-revalidate forbids it", "max-age=60, proxy-revalidate, stale-while-revalidate=30",
      after: 70, .validate(reason: .mustRevalidate)),
    .init(
      "9111 5.2.2.10 s-maxage forbids it", "s-maxage=60, stale-while-revalidate=30", after: 70,
      .validate(reason: .mustRevalidate)),
    .init(
      "5861 3 the domain's stale opens a window", "max-age=60", after: 70,
      .serveStale(age: 70, reason: .staleWhileRevalidate), policy: .of(stale: 30)),
    .init(
      "5861 3 the wider window counts", "max-age=60, stale-while-revalidate=5", after: 70,
      .serveStale(age: 70, reason: .staleWhileRevalidate), policy: .of(stale: 30)),
    .init(
      "9111 4.2.4 must-revalidate forbids the domain's too", "max-age=60, must-revalidate", after: 70,
      .validate(reason: .mustRevalidate), policy: .of(stale: 30)),
    .init(
      "5861 4 stale-if-error opens no window while the origin answers", "max-age=60, stale-if-error=90",
      after: 70, .validate(reason: .stale)),
  ]

  static let requests: [ReuseRow] = [
    .init(
      "9111 5.2.1.4 no-cache", "max-age=60", after: 1, .validate(reason: .requestNoCache), request: "no-cache"
    ),
    .init(
      "9111 5.4 Pragma: no-cache", "max-age=60", after: 1, .validate(reason: .requestNoCache),
      request: "Pragma: no-cache"),
    .init(
      "9111 5.4 Cache-Control silences Pragma", "max-age=60", after: 1, .serve(age: 1),
      request: "Pragma: no-cache\nCache-Control: max-age=60"),
    .init("9111 5.4 another Pragma is nothing", "max-age=60", after: 1, .serve(age: 1), request: "Pragma: x"),
    .init(
      "9111 5.2.1.1 max-age accepts what is younger", "max-age=60", after: 9, .serve(age: 9),
      request: "max-age=10"),
    .init(
      "9111 5.2.1.1 max-age refuses what is older", "max-age=60", after: 11,
      .validate(reason: .requestMaxAge), request: "max-age=10"),
    .init(
      "9111 5.2.1.1 max-age=0 always asks", "max-age=60", after: 0, .validate(reason: .requestMaxAge),
      request: "max-age=0"),
    .init(
      "9111 5.2.1.1 a max-age that cannot be read asks", "max-age=60", after: 0,
      .validate(reason: .requestMaxAge), request: "max-age=x"),
    .init(
      "9111 5.2.1.1 two different max-age ask", "max-age=60", after: 1, .validate(reason: .requestMaxAge),
      request: "max-age=9, max-age=8"),
    .init(
      "9111 5.2.1.1 a max-age wants nothing stale", "max-age=6, stale-while-revalidate=30", after: 7,
      .validate(reason: .stale), request: "max-age=10"),
    .init("9111 5.2.1.3 min-fresh is met", "max-age=60", after: 9, .serve(age: 9), request: "min-fresh=50"),
    .init(
      "9111 5.2.1.3 min-fresh is not met", "max-age=60", after: 11, .validate(reason: .requestMinFresh),
      request: "min-fresh=50"),
    .init(
      "9111 5.2.1.3 a min-fresh that cannot be read asks", "max-age=60", after: 1,
      .validate(reason: .requestMinFresh), request: "min-fresh"),
    .init(
      "9111 5.2.1.2 max-stale permits so much", "max-age=60", after: 65,
      .serveStale(age: 65, reason: .requestMaxStale), request: "max-stale=5"),
    .init(
      "9111 5.2.1.2 and not more", "max-age=60", after: 66, .validate(reason: .stale), request: "max-stale=5"),
    .init(
      "9111 5.2.1.2 without argument, any staleness", "max-age=60", after: 9000,
      .serveStale(age: 9000, reason: .requestMaxStale), request: "max-stale"),
    .init(
      "9111 5.2.1.2 a max-stale that cannot be read permits nothing", "max-age=60", after: 61,
      .validate(reason: .stale), request: "max-stale=x"),
    .init(
      "9111 4.2.4 must-revalidate beats max-stale", "max-age=60, must-revalidate", after: 61,
      .validate(reason: .mustRevalidate), request: "max-stale"),
    .init(
      "9111 4.2.4 proxy-revalidate beats max-stale", "max-age=60, proxy-revalidate", after: 61,
      .validate(reason: .mustRevalidate), request: "max-stale"),
    .init(
      "9111 5.2.1.1 max-age bounds max-stale", "max-age=60", after: 70, .validate(reason: .requestMaxAge),
      request: "max-age=65, max-stale"),
    .init(
      "9111 5.2.1.1 max-age with max-stale permits between", "max-age=60", after: 63,
      .serveStale(age: 63, reason: .requestMaxStale), request: "max-age=65, max-stale"),
    .init(
      "9111 5.2.1.5 no-store does not forbid reuse", "max-age=60", after: 1, .serve(age: 1),
      request: "no-store"),
    .init(
      "9111 5.2.1.7 only-if-cached is content with what is fresh", "max-age=60", after: 1, .serve(age: 1),
      request: "only-if-cached"),
    .init(
      "5.2.1 a domain may ignore them", "max-age=60", after: 1, .serve(age: 1),
      request: "no-cache, max-age=0", policy: CachePolicy(honoursRequestDirectives: false)),
  ]

  static let policies: [ReuseRow] = [
    .init(
      "policy network-only uses nothing", "max-age=60", after: 1, .no(reason: .networkOnly),
      policy: .of(.networkOnly)),
    .init("policy ttl prolongs", "max-age=60", after: 90, .serve(age: 90), policy: .of(ttl: 100)),
    .init("policy ttl shortens", "max-age=60", after: 11, .validate(reason: .stale), policy: .of(ttl: 10)),
    .init(
      "policy ttl counts from arrival, the Age served does not", "Cache-Control: max-age=60\nAge: 500",
      after: 5, .serve(age: 505), policy: .of(ttl: 10)),
    .init(
      "policy ttl gives life where there is none", "ETag: \"a\"", after: 5, .serve(age: 5),
      policy: .of(ttl: 10)),
    .init(
      "policy ttl does not prolong errors (B6)", "max-age=5", after: 6, .validate(reason: .stale),
      policy: .of(ttl: 100), status: 404),
    .init(
      "policy ttl does not prolong Set-Cookie (B7)", "Set-Cookie: a=b\nExpires: 0", after: 1,
      .validate(reason: .stale), policy: .of(ttl: 100)),
    .init(
      "policy http with ttl still obeys no-cache", "no-cache", after: 1, .validate(reason: .responseNoCache),
      policy: .of(ttl: 100)),
    .init(
      "policy ttl below zero is stale and does not trap", "max-age=60", after: 1, .validate(reason: .stale),
      policy: .of(ttl: .min)),
    .init(
      "policy cache-first within ttl asks nobody, even with no-cache", "no-cache", after: 1, .serve(age: 1),
      policy: .of(.cacheFirst, ttl: 100)),
    .init(
      "policy cache-first beyond ttl fetches", "max-age=900", after: 101, .validate(reason: .stale),
      policy: .of(.cacheFirst, ttl: 100)),
    .init(
      "policy cache-first without ttl is the origin's lifetime", "max-age=60", after: 59, .serve(age: 59),
      policy: .of(.cacheFirst)),
    .init(
      "policy cache-first without ttl obeys no-cache", "max-age=60, no-cache", after: 5,
      .validate(reason: .responseNoCache), policy: .of(.cacheFirst)),
    .init(
      "policy cache-then-network serves what is fresh, and asks behind", "max-age=60", after: 5,
      .serveStale(age: 5, reason: .cacheThenNetwork),
      policy: .of(.cacheThenNetwork)),
    .init(
      "policy cache-then-network serves whatever its age", "max-age=60", after: 9999,
      .serveStale(age: 9999, reason: .cacheThenNetwork), policy: .of(.cacheThenNetwork)),
    .init(
      "policy cache-then-network lets the client reload", "max-age=60", after: 5,
      .validate(reason: .requestNoCache), request: "no-cache", policy: .of(.cacheThenNetwork)),
    .init(
      "policy stale-while-revalidate overrules what s-maxage implies", "s-maxage=60", after: 70,
      .serveStale(age: 70, reason: .staleWhileRevalidate), policy: .of(.staleWhileRevalidate, stale: 30)),
    .init(
      "policy stale-while-revalidate obeys must-revalidate", "max-age=60, must-revalidate", after: 70,
      .validate(reason: .mustRevalidate), policy: .of(.staleWhileRevalidate, stale: 30)),
    .init(
      "policy stale-while-revalidate ends with its window", "max-age=60", after: 90,
      .validate(reason: .stale), policy: .of(.staleWhileRevalidate, stale: 30)),
  ]
}

@Test("a stored response is reused only where it may be", arguments: ReuseRow.all)
func reuse(row: ReuseRow) {
  let stored = metadata(row.response, status: row.status, policy: row.policy)
  let decision = Reuse.decide(
    stored, request: RequestDirectives(fields(row.request)), policy: row.policy, now: arrival + row.after)
  #expect(decision == row.decision)
}

@Test("only-if-cached and no-store are told to the caller")
func directivesForTheCaller() {
  let directives = RequestDirectives(fields("Cache-Control: Only-If-Cached\nCache-Control: no-store"))
  #expect(directives.onlyIfCached)
  #expect(directives.noStore)
  #expect(!directives.noCache)
  #expect(RequestDirectives(fields("Accept: */*")) == .none)
}
