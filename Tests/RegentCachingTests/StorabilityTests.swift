// What may be stored (RFC 9111 section 3, 3.5, 5.2; TRUST B6 to B8).

import RegentCaching
import RegentHTTP
import Testing

struct StorabilityRow: Row {
  var rule: String
  var response: String
  var refused: RefusalReason?
  var request: String
  var status: UInt16
  var method: RegentHTTP.Method
  var policy: CachePolicy

  init(
    _ rule: String, _ response: String, _ refused: RefusalReason? = nil, request: String = "",
    status: UInt16 = 200, method: RegentHTTP.Method = .get, policy: CachePolicy = CachePolicy()
  ) {
    self.rule = rule
    self.response = response
    self.refused = refused
    self.request = request
    self.status = status
    self.method = method
    self.policy = policy
  }

  static let all = methodsAndStatuses + directives + sharing + policies

  static let methodsAndStatuses: [StorabilityRow] = [
    .init("9111 3 a GET with max-age is stored", "Cache-Control: max-age=60"),
    .init(
      "9111 3 a HEAD's response is no content to store", "Cache-Control: max-age=60", .method, method: .head),
    .init("9111 3 POST is not stored", "Cache-Control: max-age=60", .method, method: .post),
    .init("9111 3 PUT is not stored", "Cache-Control: max-age=60", .method, method: .put),
    .init("9111 3 OPTIONS is not stored", "Cache-Control: max-age=60", .method, method: .options),
    .init("9111 3 an interim status is not stored", "Cache-Control: max-age=60", .status, status: 103),
    .init("9111 4.3.4 a 304 is not stored", "Cache-Control: max-age=60", .status, status: 304),
    .init("9111 3.3 a part is not stored", "Cache-Control: max-age=60", .partial, status: 206),
    .init("9110 15 a status above 599 is none", "Cache-Control: max-age=60", .status, status: 600),
    .init("9111 3 Expires makes a 302 storable", "Expires: {60}", status: 302),
    .init("9111 3 max-age makes a 500 storable", "Cache-Control: max-age=60", status: 500),
    .init("9111 3 max-age makes an unknown status storable", "Cache-Control: max-age=60", status: 599),
    .init(
      "9111 3 public makes a 302 with a validator storable", "Cache-Control: public\nETag: \"a\"", status: 302
    ),
    .init("9111 3 a 302 alone is not stored", "ETag: \"a\"", .noExplicitFreshness, status: 302),
    .init("9111 3 a 200 with a validator is stored", "ETag: \"a\""),
    .init("9111 3 a 404 with Last-Modified is stored", "Last-Modified: {-9}", status: 404),
    .init("9111 3 a 200 that could never be reused is not", "Server: s", .neverReusable),
    .init("9111 3 max-age=0 with a validator is stored", "Cache-Control: max-age=0\nETag: \"a\""),
    .init("9111 3 max-age=0 without validator is not", "Cache-Control: max-age=0", .neverReusable),
    .init("5861 3 a stale window is a use", "Cache-Control: max-age=0, stale-while-revalidate=9"),
    .init("B6 a bare 400 is not stored", "Server: s", .noExplicitFreshness, status: 400),
    .init("B6 a bare 405 is not stored", "Server: s", .neverReusable, status: 405),
    .init("B6 a bare 431 is not stored", "Server: s", .noExplicitFreshness, status: 431),
    .init("B6 a bare 501 is not stored", "Server: s", .neverReusable, status: 501),
    .init(
      "B6 the domain's ttl stores no bare 405", "Server: s", .neverReusable, status: 405, policy: .of(ttl: 60)
    ),
    .init(
      "B6 the domain's ttl stores no bare 500", "Server: s", .noExplicitFreshness, status: 500,
      policy: .of(ttl: 60)),
  ]

  static let directives: [StorabilityRow] = [
    .init("9111 5.2.2.5 no-store", "Cache-Control: no-store", .responseNoStore),
    .init("9111 5.2.2.5 no-store beats max-age", "Cache-Control: max-age=60, no-store", .responseNoStore),
    .init(
      "9111 5.2.2.5 no-store on a second line", "Cache-Control: max-age=60\nCache-Control: No-Store",
      .responseNoStore),
    .init(
      "9111 5.2.2.5 no-store with an argument still holds", "Cache-Control: no-store=1, max-age=9",
      .responseNoStore),
    .init(
      "9111 5.2.2.5 no-store inside a quoted string is not said", "Cache-Control: x=\"no-store\", max-age=9"),
    .init(
      "9111 5.2.1.5 the request's no-store", "Cache-Control: max-age=60", .requestNoStore,
      request: "Cache-Control: no-store"),
    .init("9111 5.2.2.4 no-cache is stored for validation", "Cache-Control: no-cache\nETag: \"a\""),
    .init("9111 5.2.2.7 private", "Cache-Control: private, max-age=60", .private),
    .init("9111 5.2.2.7 private beats public", "Cache-Control: public, private, max-age=60", .private),
    .init("9111 5.2.2.7 private beats s-maxage", "Cache-Control: private, s-maxage=60", .private),
    .init(
      "9111 5.2.2.7 private with names concerns those fields", "Cache-Control: private=\"x-user\", max-age=60"
    ),
    .init("9111 5.2.2.7 private with one unquoted name too", "Cache-Control: private=x-user, max-age=60"),
    .init(
      "9111 5.2.2.7 private with an empty list is whole", "Cache-Control: private=\"\", max-age=60", .private),
    .init(
      "9111 5.2.2.7 private with a malformed list is whole", "Cache-Control: private=\"a b\", max-age=60",
      .private),
    .init(
      "9111 5.2.2.7 private with an unclosed list is whole", "Cache-Control: max-age=60, private=\"a",
      .private),
    .init(
      "9111 5.2.2.3 must-understand lifts no-store for a known status",
      "Cache-Control: must-understand, no-store, max-age=60"),
    .init(
      "9111 5.2.2.3 must-understand stores no unknown status", "Cache-Control: must-understand, max-age=60",
      .notUnderstood, status: 299),
    .init(
      "9111 5.2.2.3 must-understand does not lift private", "Cache-Control: must-understand, private",
      .private),
    .init(
      "9111 5.2.2.3 must-understand with an argument lifts nothing",
      "Cache-Control: must-understand=1, no-store", .responseNoStore),
  ]

  static let sharing: [StorabilityRow] = [
    .init(
      "9111 3.5 Authorization forbids", "Cache-Control: max-age=60", .authorization,
      request: "Authorization: x"),
    .init("9111 3.5 public permits", "Cache-Control: public, max-age=60", request: "Authorization: x"),
    .init("9111 3.5 s-maxage permits", "Cache-Control: s-maxage=60", request: "Authorization: x"),
    .init(
      "9111 3.5 must-revalidate permits", "Cache-Control: max-age=60, must-revalidate",
      request: "Authorization: x"),
    .init(
      "9111 3.5 proxy-revalidate does not", "Cache-Control: max-age=60, proxy-revalidate", .authorization,
      request: "Authorization: x"),
    .init(
      "9111 3.5 a broken s-maxage does not", "Cache-Control: s-maxage=x, max-age=9", .authorization,
      request: "Authorization: x"),
    .init(
      "9111 3.5 a public with an argument does not", "Cache-Control: public=1, max-age=9", .authorization,
      request: "Authorization: x"),
    .init(
      "9111 3.5 the domain's ttl does not", "ETag: \"a\"", .authorization, request: "Authorization: x",
      policy: .of(ttl: 60)),
    .init("B7 Set-Cookie by heuristics is not stored", "Set-Cookie: a=b\nLast-Modified: {-999}", .setCookie),
    .init(
      "B7 Set-Cookie by the domain's ttl is not stored", "Set-Cookie: a=b", .setCookie, policy: .of(ttl: 60)),
    .init("B7 Set-Cookie with explicit freshness is stored", "Set-Cookie: a=b\nCache-Control: max-age=60"),
    .init("B7 Set-Cookie with public is stored", "Set-Cookie: a=b\nCache-Control: public\nETag: \"a\""),
    .init("B8 Vary: * is not stored", "Vary: *\nCache-Control: max-age=60", .vary),
    .init("B8 * among names is not stored", "Vary: Accept, *\nCache-Control: max-age=60", .vary),
    .init("B8 * on a second line is not stored", "Vary: Accept\nVary: *\nCache-Control: max-age=60", .vary),
    .init("B8 a malformed Vary is not stored", "Vary: Other:\nCache-Control: max-age=60", .vary),
    .init("9111 4.1 Vary with names is stored", "Vary: Accept, X-Lang\nCache-Control: max-age=60"),
  ]

  static let policies: [StorabilityRow] = [
    .init(
      "policy network-only stores nothing", "Cache-Control: max-age=60", .networkOnly,
      policy: .of(.networkOnly)),
    .init("policy ttl stores what has no freshness", "Server: s", policy: .of(ttl: 60)),
    .init(
      "policy ttl does not lift no-store", "Cache-Control: no-store", .responseNoStore, policy: .of(ttl: 60)),
    .init(
      "policy ttl does not lift private", "Cache-Control: private", .private,
      policy: .of(.cacheFirst, ttl: 60)),
    .init("policy cache-then-network stores any 200", "Server: s", policy: .of(.cacheThenNetwork)),
    .init(
      "policy may ignore the request's directives", "Cache-Control: max-age=60",
      request: "Cache-Control: no-store",
      policy: CachePolicy(honoursRequestDirectives: false)),
  ]
}

@Test("a response is stored only where a shared cache may", arguments: StorabilityRow.all)
func storability(row: StorabilityRow) {
  let request = fields(row.request)
  let decision = Storability.decide(
    method: row.method, requestFields: request, requestDirectives: RequestDirectives(request),
    status: row.status, responseFields: fields(row.response), policy: row.policy)
  #expect(decision == row.refused.map { .refuse($0) } ?? .store)
}
