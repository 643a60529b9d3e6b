// Responses that may be one client's in a cache for all: Set-Cookie, and requests with Cookie or Authorization. The
// origin's own word alone makes them fresh, reusable or worth keeping (TRUST B7, F6; RFC 9111 section 3.5).

import RegentCaching
import RegentHTTP
import Testing

struct PersonalRow: Row {
  var rule: String
  var response: String
  var refused: RefusalReason?
  var request: String
  var policy: CachePolicy

  init(
    _ rule: String, _ response: String, _ refused: RefusalReason? = nil, request: String = "",
    policy: CachePolicy = CachePolicy()
  ) {
    (self.rule, self.response, self.refused) = (rule, response, refused)
    (self.request, self.policy) = (request, policy)
  }

  private static let strip = CachePolicy.with { $0.setCookie = .strip }
  private static let refuse = CachePolicy.with { $0.setCookie = .refuse }

  static let cookies: [PersonalRow] = [
    .init("F6 Cookie and max-age: stored", "Cache-Control: max-age=60", request: "Cookie: a=b"),
    .init("F6 Cookie and s-maxage: stored", "Cache-Control: s-maxage=60", request: "Cookie: a=b"),
    .init("F6 Cookie and Expires: stored", "Expires: {60}", request: "Cookie: a=b"),
    .init("F6 Cookie and public: stored", "Cache-Control: public\nETag: \"a\"", request: "Cookie: a=b"),
    .init(
      "9213 2.2 Cookie and a targeted max-age: stored", "CDN-Cache-Control: max-age=60",
      request: "Cookie: a=b"),
    .init("F6 Cookie and a guess: refused", "Last-Modified: {-1000}", .requestCookie, request: "Cookie: a=b"),
    .init("F6 Cookie and a validator: refused", "ETag: \"a\"", .requestCookie, request: "Cookie: a=b"),
    .init(
      "F6 Cookie and no-cache: refused", "Cache-Control: no-cache\nETag: \"a\"", .requestCookie,
      request: "Cookie: a=b"),
    .init(
      "F6 Cookie and a broken max-age: refused", "Cache-Control: max-age=x\nETag: \"a\"", .requestCookie,
      request: "Cookie: a=b"),
    .init(
      "F6 Cookie and the domain's ttl: refused", "Server: s", .requestCookie, request: "Cookie: a=b",
      policy: .of(ttl: 60)),
    .init(
      "F6 Cookie and cache-then-network: refused", "Server: s", .requestCookie, request: "Cookie: a=b",
      policy: .of(.cacheThenNetwork)),
    .init("F6 an empty Cookie is one", "ETag: \"a\"", .requestCookie, request: "Cookie: "),
    .init(
      "F6 Cookie does not lift Authorization", "Cache-Control: max-age=60", .authorization,
      request: "Cookie: a\nAuthorization: b"),
  ]

  static let setCookies: [PersonalRow] = [
    .init("12 store: explicit freshness", "Set-Cookie: a=b\nCache-Control: max-age=60"),
    .init("12 store: Expires", "Set-Cookie: a=b\nExpires: {60}"),
    .init("12 store: public", "Set-Cookie: a=b\nCache-Control: public\nETag: \"a\""),
    .init("12 store: no guess", "Set-Cookie: a=b\nLast-Modified: {-1000}", .setCookie),
    .init("12 store: no ttl", "Set-Cookie: a=b", .setCookie, policy: .of(.cacheFirst, ttl: 60)),
    .init("12 store: no ttl-min", "Set-Cookie: a=b", .setCookie, policy: .with { $0.minimumTTL = 60 }),
    .init("12 store: no stale", "Set-Cookie: a=b\nETag: \"a\"", .setCookie, policy: .of(stale: 60)),
    .init("12 store: private is private", "Set-Cookie: a=b\nCache-Control: private, max-age=6", .private),
    .init("12 strip: explicit freshness", "Set-Cookie: a=b\nCache-Control: max-age=60", policy: strip),
    .init("12 strip: a guess too", "Set-Cookie: a=b\nLast-Modified: {-1000}", policy: strip),
    .init(
      "12 strip: Cookie still needs the origin's word", "Set-Cookie: a=b\nLast-Modified: {-1000}",
      .requestCookie, request: "Cookie: a", policy: strip),
    .init(
      "12 strip: no-store holds", "Set-Cookie: a=b\nCache-Control: no-store", .responseNoStore, policy: strip),
    .init(
      "12 refuse: even with explicit freshness", "Set-Cookie: a=b\nCache-Control: public, max-age=60",
      .setCookieRefused, policy: refuse),
    .init("12 refuse: others are stored", "Cache-Control: max-age=60", policy: refuse),
    .init(
      "12 refuse: in a private cache too", "Set-Cookie: a=b\nCache-Control: max-age=60", .setCookieRefused,
      request: "Cookie: a",
      policy: .with {
        $0.setCookie = .refuse
        $0.scope = .private
      }),
  ]
}

@Test(
  "what may be one client's is shared by the origin's word alone",
  arguments: PersonalRow.cookies + PersonalRow.setCookies)
func personalStorability(row: PersonalRow) {
  let request = fields(row.request)
  let decision = Storability.decide(
    method: .get, requestFields: request, requestDirectives: RequestDirectives(request), status: 200,
    responseFields: fields(row.response), policy: row.policy)
  #expect(decision == row.refused.map { .refuse($0) } ?? .store)
}

struct PersonalReuseRow: Row {
  var rule: String
  var response: String
  var decision: Reuse
  var request: String
  var policy: CachePolicy
  var directives: String

  init(
    _ rule: String, _ response: String, _ decision: Reuse, request: String = "Cookie: a",
    policy: CachePolicy = CachePolicy(), directives: String = ""
  ) {
    (self.rule, self.response, self.decision) = (rule, response, decision)
    (self.request, self.policy, self.directives) = (request, policy, directives)
  }

  /// All are asked for 70 s after they came.
  static let all: [PersonalReuseRow] = [
    .init("F6 fresh by its own word: served", "max-age=80", .serve(age: 70)),
    .init("F6 ttl does not prolong it", "max-age=60", .validate(reason: .stale), policy: .of(ttl: 900)),
    .init("F6 nor ttl-min", "max-age=60", .validate(reason: .stale), policy: .with { $0.minimumTTL = 900 }),
    .init("F6 ttl shortens it", "max-age=900", .validate(reason: .stale), policy: .of(ttl: 60)),
    .init("F6 as long as that, it is fresh", "max-age=900", .serve(age: 70), policy: .of(ttl: 80)),
    .init(
      "F6 a guess is not the origin's word", "must-revalidate\nLast-Modified: {-90000}",
      .validate(reason: .mustRevalidate), request: "Authorization: a"),
    .init(
      "F6 for what is public it will do", "public\nLast-Modified: {-90000}", .serve(age: 70),
      request: "Authorization: a"),
    .init(
      "F6 ttl-max shortens it", "max-age=80", .validate(reason: .stale), policy: .with { $0.maximumTTL = 60 }),
    .init(
      "F6 nor does stale open a window", "max-age=60", .validate(reason: .stale), policy: .of(stale: 900)),
    .init(
      "F6 its own window does", "max-age=60, stale-while-revalidate=30",
      .serveStale(age: 70, reason: .staleWhileRevalidate)),
    .init(
      "F6 cache-then-network serves it while fresh", "max-age=80",
      .serveStale(age: 70, reason: .cacheThenNetwork), policy: .of(.cacheThenNetwork)),
    .init(
      "F6 and not afterwards", "max-age=60", .validate(reason: .stale), policy: .of(.cacheThenNetwork)),
    .init(
      "F6 no policy overrules its no-cache", "max-age=80, no-cache", .validate(reason: .responseNoCache),
      policy: .of(.cacheFirst, ttl: 900)),
    .init(
      "F6 nor what its s-maxage implies", "s-maxage=60, stale-while-revalidate=30",
      .validate(reason: .mustRevalidate), policy: .of(.staleWhileRevalidate, stale: 30)),
    .init(
      "F6 nor does another client's max-stale", "max-age=60", .validate(reason: .stale),
      directives: "max-stale"),
    .init(
      "3.5 must-revalidate permits to share, and the ttl does not undo it", "max-age=0, must-revalidate",
      .validate(reason: .mustRevalidate), request: "Authorization: a", policy: .of(ttl: 900)),
    .init(
      "3.5 s-maxage=0 asks each time, whatever the ttl", "s-maxage=0", .validate(reason: .mustRevalidate),
      request: "Authorization: a", policy: .of(.cacheFirst, ttl: 900)),
    .init(
      "F6 what is public is the owner's to prolong", "public, max-age=60", .serve(age: 70),
      policy: .of(ttl: 900)),
    .init(
      "F6 so is what nobody's cookie brought", "max-age=60", .serve(age: 70), request: "",
      policy: .of(ttl: 900)),
  ]
}

@Test("nothing but the origin's word makes it reusable", arguments: PersonalReuseRow.all)
func personalReuse(row: PersonalReuseRow) {
  let stored = metadata("Cache-Control: \(row.response)", policy: row.policy, request: row.request)
  let directives = RequestDirectives(fields(row.directives.isEmpty ? "" : "Cache-Control: \(row.directives)"))
  #expect(Reuse.decide(stored, request: directives, policy: row.policy, now: arrival + 70) == row.decision)
}

@Test("another client's response does not stand in for an origin that fails, beyond the origin's word")
func personalStaleIfError() {
  let policy = CachePolicy.of(staleIfError: 900)
  func verdict(_ directives: String, _ failure: OriginFailure, _ request: String = "Cookie: a")
    -> StaleIfError
  {
    StaleIfError.decide(
      metadata("Cache-Control: \(directives)", policy: policy, request: request), request: .none,
      policy: policy, failure: failure, now: arrival + 70)
  }
  #expect(verdict("max-age=60", .unreachable) == .no)
  #expect(verdict("max-age=60", .status(503)) == .no)
  #expect(verdict("max-age=60, stale-if-error=30", .status(503)) == .serve(age: 70, reason: .staleIfError))
  #expect(verdict("max-age=80", .unreachable) == .serve(age: 70, reason: .staleIfError))
  #expect(verdict("max-age=60", .status(503), "") == .serve(age: 70, reason: .staleIfError))
  #expect(verdict("public, max-age=60", .unreachable) == .serve(age: 70, reason: .staleIfError))
}

@Test("strip takes Set-Cookie from what is stored, and leaves it to who alone gets the response")
func stripping() {
  let policy = CachePolicy.with { $0.setCookie = .strip }
  let response = fields("Set-Cookie: a=b\nServer: s\nset-cookie: c=d\nX-Other: 1")
  #expect(text(policy.stripped(response, .store)) == ["Server: s", "X-Other: 1"])
  #expect(text(policy.stripped(response, .storePart)) == ["Server: s", "X-Other: 1"])
  #expect(text(policy.stripped(response, .refuse(.method))) == text(response))
  #expect(text(CachePolicy().stripped(response, .store)) == text(response))
}
