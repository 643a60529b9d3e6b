// A fuzz target for what messages say of caching. The first byte of each line chooses its field. Nothing traps; lines
// joined say what they said apart; nothing is stored or served against a plain no-store, private or no-cache; and what
// is encoded comes back as it was.

import RegentHTTP

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
  if !condition { fatalError(broken()) }
}

private let now: Int64 = 1_700_000_000
private let names: [FieldName] = [
  .cacheControl, .cacheControl, .cdnCacheControl, .regentCacheControl, .expires, .age, .date, .pragma,
  .lastModified, .vary, .setCookie, .etag,
]
private let policies: [CachePolicy] = {
  var own = CachePolicy(kind: .cacheFirst, ttl: 60, stale: 9, staleIfError: 9, heuristicMaximum: .max)
  (own.heuristicPercent, own.heuristicForQueries, own.scope) = (100, true, .private)
  var bounded = CachePolicy(kind: .staleWhileRevalidate, stale: .max)
  (bounded.minimumTTL, bounded.maximumTTL, bounded.setCookie) = (1, .max, .strip)
  return [CachePolicy(), own, bounded, CachePolicy(kind: .cacheThenNetwork)]
}()

private func message(_ bytes: [UInt8]) -> Fields {
  var fields = Fields()
  for line in bytes.split(separator: 0x0A) {
    fields.append(names[Int(line.first ?? 0) % names.count], line.dropFirst())
  }
  return fields
}

/// The members of Cache-Control by the plainest reading there is, where no quotes make it subtle.
private func plainMembers(_ fields: Fields) -> Set<String>? {
  var members: Set<String> = []
  for value in fields.all(.cacheControl) {
    if value.contains(0x22) { return nil }
    for member in value.split(separator: 0x2C) {
      let words = member.split { $0 == 0x20 || $0 == 0x09 }
      if words.count == 1 {
        members.insert(String(decoding: words[0].map(\.asciiLowercased), as: UTF8.self))
      }
    }
  }
  return members
}

private func checkJoined(_ fields: Fields, _ directives: ResponseDirectives) {
  guard plainMembers(fields) != nil, !directives.isTargeted else { return }
  var joined = Fields()
  joined.append(.cacheControl, fields.all(.cacheControl).map(Array.init).joined(separator: [0x2C]))
  require(ResponseDirectives(joined) == directives, "lines joined say something else")
}

private func checkStorability(_ fields: Fields, _ directives: ResponseDirectives, _ policy: CachePolicy) {
  for request in [Fields(), withCookie] {
    for status in [UInt16(200), 206, 404, 299] {
      let decision = Storability.decide(
        method: .get, requestFields: request, requestDirectives: RequestDirectives(fields), status: status,
        responseFields: fields, policy: policy)
      guard decision.keeps, !directives.isTargeted, let said = plainMembers(fields) else { continue }
      require(!said.contains("no-store") || said.contains("must-understand"), "stored against no-store")
      require(
        !said.contains("private") || policy.scope == .private && request.contains(.cookie),
        "stored against private")
    }
  }
}

private let withCookie: Fields = {
  var fields = Fields()
  fields.append(.cookie, "a".utf8)
  return fields
}()

private func checkReuse(_ fields: Fields, _ directives: ResponseDirectives, _ policy: CachePolicy) {
  let stored = StoredMetadata(
    status: 200, fields: fields, requestFields: withCookie, requestTime: now - 1, responseTime: now,
    policy: policy)
  var encoded: [UInt8] = []
  stored.encode(onto: &encoded)
  require(StoredMetadata.decode(encoded.span) == stored, "metadata is no fixed point")
  require(stored.lifetime >= 0 && stored.initialAge >= 0, "a time is negative")
  for moment in [now, now + 1, now + 3_000_000_000, .max, .min] {
    let asked = RequestDirectives(fields)
    let decision = Reuse.decide(stored, request: asked, policy: policy, now: moment)
    _ = StaleIfError.decide(
      stored, request: asked, policy: policy, failure: .unreachable, now: moment)
    let isServed =
      switch decision {
      case .serve, .serveStale: true
      case .validate, .no: false
      }
    require(!isServed || !asked.noCache, "served against the request's no-cache")
    require(
      !isServed || !directives.flags.contains(.noCache) || policy.kind != .http, "served against no-cache")
    if case .serve = decision {
      require(stored.remainingFreshness(policy: policy, now: moment) > 0, "served as fresh, and is stale")
    }
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let fields = message(Array(UnsafeBufferPointer(start: start, count: count)))
  let directives = ResponseDirectives(fields)
  checkJoined(fields, directives)
  for policy in policies {
    checkStorability(fields, directives, policy)
    checkReuse(fields, directives, policy)
  }
  var shared: [UInt8] = []
  var own: [UInt8] = []
  StoredFields.split(fields, shared: &shared, own: &own)
  return 0
}
