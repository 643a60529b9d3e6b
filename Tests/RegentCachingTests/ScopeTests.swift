// Caches of one client's own: what they keep that a shared one must not, whose rules bind them no more, and the
// partitions that keep clients apart (RFC 9111 sections 3, 3.5, 5.2.2; TRUST F6).

import RegentCaching
import RegentHTTP
import TestKit
import Testing

extension CachePolicy {
  /// The default policy with a few settings.
  static func with(_ kind: Kind = .http, _ change: (inout CachePolicy) -> Void) -> CachePolicy {
    var policy = CachePolicy(kind: kind)
    change(&policy)
    return policy
  }

  static let ofOneClient = CachePolicy.with { $0.scope = .private }
}

struct ScopeRow: Row {
  var rule: String
  var response: String
  var refused: RefusalReason?
  var request: String
  var lifetime: Int32?
  var status: UInt16

  init(
    _ rule: String, _ response: String, _ refused: RefusalReason? = nil, request: String = "Authorization: a",
    lifetime: Int32? = nil, status: UInt16 = 200
  ) {
    (self.rule, self.response, self.refused) = (rule, response, refused)
    (self.request, self.lifetime, self.status) = (request, lifetime, status)
  }

  static let all: [ScopeRow] = [
    .init("9111 5.2.2.7 private is stored", "Cache-Control: private, max-age=60", lifetime: 60),
    .init(
      "9111 5.2.2.7 for who sends Cookie too", "Cache-Control: private, max-age=60", request: "Cookie: a"),
    .init("9111 3.5 Authorization is no obstacle", "Cache-Control: max-age=60", lifetime: 60),
    .init("9111 3.5 nor is it to a guess", "Last-Modified: {-1000}", lifetime: 100),
    .init(
      "F6 Cookie is no obstacle to a guess", "Last-Modified: {-1000}", request: "Cookie: a", lifetime: 100),
    .init("B7 Set-Cookie is none to a guess", "Set-Cookie: b\nLast-Modified: {-1000}", lifetime: 100),
    .init("9111 5.2.2.5 no-store holds", "Cache-Control: private, no-store, max-age=60", .responseNoStore),
    .init(
      "9111 5.2.1.5 the request's no-store holds", "Cache-Control: private, max-age=60", .requestNoStore,
      request: "Authorization: a\nCache-Control: no-store"),
    .init("9111 4.1 Vary: * holds", "Cache-Control: private, max-age=60\nVary: *", .vary),
    .init("9111 3 what is never reusable is not stored", "Cache-Control: private", .neverReusable),
    .init(
      "9111 5.2.2.10 s-maxage is for shared caches", "Cache-Control: s-maxage=9, max-age=60", lifetime: 60),
    .init("9111 5.2.2.10 a broken one too", "Cache-Control: s-maxage=x, max-age=60", lifetime: 60),
    .init("9111 5.2.2.10 beside Expires too", "Cache-Control: s-maxage=9\nExpires: {60}", lifetime: 60),
    .init("9111 5.2.2.10 alone it gives nothing", "Cache-Control: s-maxage=9", .neverReusable, lifetime: 0),
    .init(
      "9111 5.2.2.10 alone a guess is made", "Cache-Control: s-maxage=9\nLast-Modified: {-1000}",
      lifetime: 100),
    .init(
      "9111 3 s-maxage makes no other status storable", "Cache-Control: s-maxage=9\nETag: \"a\"",
      .noExplicitFreshness, status: 302),
    .init(
      "9111 3 private does", "Cache-Control: private\nLast-Modified: {-1000}", lifetime: 100, status: 302),
    .init("9213 2.2 a targeted private is stored", "CDN-Cache-Control: private, max-age=60", lifetime: 60),
    .init(
      "F6 without credentials nothing tells clients apart: private", "Cache-Control: private, max-age=60",
      .private, request: "X-Api-Key: a"),
    .init(
      "F6 without credentials: Set-Cookie", "Set-Cookie: b\nLast-Modified: {-1000}", .setCookie, request: ""),
    .init(
      "F6 without credentials: s-maxage counts", "Cache-Control: s-maxage=9, max-age=60", request: "",
      lifetime: 9),
    .init("F6 without credentials: what is public is stored", "Cache-Control: max-age=60", request: ""),
  ]
}

@Test("a private cache keeps for who sends credentials what is theirs", arguments: ScopeRow.all)
func privateScope(row: ScopeRow) {
  let request = fields(row.request)
  let decision = Storability.decide(
    method: .get, requestFields: request, requestDirectives: RequestDirectives(request), status: row.status,
    responseFields: fields(row.response), policy: .ofOneClient)
  #expect(decision == row.refused.map { .refuse($0) } ?? .store)
  let known = metadata(row.response, status: row.status, policy: .ofOneClient, request: row.request)
  if let lifetime = row.lifetime { #expect(known.lifetime == lifetime) }
}

@Test(
  "proxy-revalidate and s-maxage do not bind a private cache, must-revalidate does (RFC 9111 section 5.2.2)")
func privateStaleness() {
  func decide(_ directives: String, _ request: String) -> Reuse {
    let stored = metadata("Cache-Control: \(directives)", policy: .ofOneClient, request: request)
    return Reuse.decide(stored, request: .none, policy: .ofOneClient, now: arrival + 70)
  }
  let window = "max-age=60, stale-while-revalidate=30"
  for implied in ["proxy-revalidate", "s-maxage=60"] {
    #expect(
      decide("\(implied), \(window)", "Authorization: a")
        == .serveStale(age: 70, reason: .staleWhileRevalidate))
    #expect(decide("\(implied), \(window)", "") == .validate(reason: .mustRevalidate))
  }
  #expect(decide("must-revalidate, \(window)", "Authorization: a") == .validate(reason: .mustRevalidate))
}

@Test("the domain's ttl holds for one client's responses, whatever credentials or cookies they have")
func privateTTL() {
  let policy = CachePolicy.with { ($0.scope, $0.ttl) = (.private, 90) }
  let stored = metadata("Cache-Control: private\nSet-Cookie: a=b", policy: policy, request: "Cookie: a")
  #expect(Reuse.decide(stored, request: .none, policy: policy, now: arrival + 80) == .serve(age: 80))
}

private func partition(_ request: String) -> [UInt8] {
  var key: [UInt8] = []
  CacheKey.append(credentialsOf: fields(request), onto: &key)
  return key
}

@Test("requests with other credentials are in other partitions, whatever their bytes")
func partitions() {
  let requests = [
    "", "Authorization: a", "Authorization: b", "Authorization: A", "Authorization: a b", "Authorization: ",
    "Cookie: a", "Cookie: b", "Cookie: ", "Authorization: a\nCookie: a", "Authorization: a\nCookie: b",
    "Authorization: b\nCookie: a", "Authorization: a\nAuthorization: b", "Authorization: b\nAuthorization: a",
    "Authorization: a, b", "Cookie: a\nCookie: b", "Cookie: a; b", "Cookie: ab", "Cookie: a\nCookie: a",
    "Authorization: a\nCookie: ", "Cookie: a\nCookie: ",
  ]
  for (index, one) in requests.enumerated() {
    for other in requests[(index + 1)...] {
      #expect(partition(one) != partition(other), "\(one) | \(other)")
    }
  }
}

@Test("what is no credential does not part requests, nor does the order of the fields")
func samePartition() {
  #expect(partition("") == partition("Accept: a\nX-Api-Key: b\nProxy-Authorization: c"))
  #expect(partition("Authorization: a\nCookie: b") == partition("cookie: b\nAccept: c\nauthorization: a"))
}

@Test("no credentials can be written so that they are in another's partition")
func partitionsAreApart() {
  let seed = SeededGenerator.anySeed()
  var generator = SeededGenerator(seed: seed)
  var seen: [[UInt8]: String] = [:]
  for _ in 0..<20_000 {
    let count = Int.random(in: 0...3, using: &generator)
    let lines = (0..<count).map { _ in
      let name = Bool.random(using: &generator) ? "Authorization" : "Cookie"
      let value = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
        ["a", "b", "!", ";"].randomElement(using: &generator) ?? ""
      }
      return "\(name): \(value.joined())"
    }
    let sorted = lines.filter { $0.hasPrefix("A") } + lines.filter { $0.hasPrefix("C") }
    let request = sorted.joined(separator: "\n")
    let key = partition(request)
    #expect(seen[key] ?? request == request, "seed \(seed)")
    seen[key] = request
  }
}
