// RFC 9111 section 4 in the reference model: selection, age, freshness, and serving stale. One function for each section.

/// How the origin answered while this answer was made.
enum OriginWord: Sendable, Equatable {
  case notAsked
  case unreachable
  case failed(Int)
  case answered
}

extension Model {
  // MARK: 4.1, Vary

  func section41(_ edition: Edition, _ request: Asked) -> String? {
    let names = members(of: edition.fields.values("vary")).map { $0.lowercased() }
    if names.contains("*") { return "4.1: Vary is *" }
    let matches = edition.selectors.contains { original in
      names.allSatisfy { normalized(original.fields, $0) == normalized(request.fields, $0) }
    }
    return matches ? nil : "4.1: Vary selects another one"
  }

  private func normalized(_ fields: Lines, _ name: String) -> [String]? {
    fields.has(name) ? members(of: fields.values(name)) : nil
  }

  // MARK: 4.2.1 and 4.2.2, the lifetime

  /// The longest lifetime that can be read from the fields.
  func section421(_ edition: Edition, _ target: String) -> Int64 {
    let cacheControl = directives(edition.fields)
    if let seconds = cacheControl.seconds("s-maxage") { return seconds }
    if let seconds = cacheControl.seconds("max-age") { return seconds }
    if let expires = edition.fields.first("expires") {
      guard let time = dates[expires] else { return 0 }
      return max(0, time - date(edition))
    }
    return section422(edition, target)
  }

  private func section422(_ edition: Edition, _ target: String) -> Int64 {
    guard Self.heuristic.contains(edition.status) || directives(edition.fields).has("public"),
      !target.contains("?"), let modified = edition.fields.first("last-modified").flatMap({ dates[$0] })
    else { return 0 }
    return min(max(0, date(edition) - modified) / 10, 86_400)
  }

  /// RFC 9110 section 6.6.1: without a Date, the time at which it came.
  func date(_ edition: Edition) -> Int64 {
    edition.message.first("date").flatMap { dates[$0] } ?? edition.responseTime
  }

  // MARK: 4.2.3, the age

  func section423(_ edition: Edition, now: Int64) -> Int64 {
    let field = members(of: [edition.message.first("age") ?? ""]).first ?? ""
    let ageValue = deltaSeconds(field) ?? 0
    let apparentAge = max(0, edition.responseTime - date(edition))
    let responseDelay = edition.responseTime - edition.requestTime
    let correctedInitialAge = max(apparentAge, ageValue + responseDelay)
    // Section 1.2.2: what overflows is 2^31.
    return min(correctedInitialAge + max(0, now - edition.responseTime), 1 << 31)
  }

  /// The freshness that remains; not positive where it is stale. A domain's ttl counts from the arrival.
  func remaining(_ edition: Edition, _ target: String, now: Int64) -> Int64 {
    // Of what came with credentials or brings a cookie the origin's word alone counts.
    let isPersonal =
      edition.fields.has("set-cookie")
      || edition.selectors.contains { $0.fields.has("authorization") }
        && !directives(edition.fields).has("public")
    if let ttl = rules.ttl, edition.status < 400, !isPersonal {
      return ttl - max(0, now - edition.responseTime)
    }
    return section421(edition, target) - section423(edition, now: now)
  }

  // MARK: 4.2.4 and RFC 5861, stale

  func section424(
    _ edition: Edition, _ request: Asked, staleness: Int64, _ word: OriginWord
  ) -> String? {
    if rules.kind == "cache-then-network" { return nil }
    let cacheControl = directives(edition.fields)
    if cacheControl.has("must-revalidate") || cacheControl.has("proxy-revalidate") {
      return "4.2.4: must-revalidate"
    }
    if rules.kind == "http", cacheControl.has("s-maxage") { return "5.2.2.10: s-maxage" }
    if staleness <= maxStale(request) { return nil }
    if staleness <= max(cacheControl.seconds("stale-while-revalidate") ?? 0, rules.stale ?? 0) { return nil }
    let onError = max(
      cacheControl.seconds("stale-if-error") ?? 0, rules.staleIfError ?? 0,
      directives(request.fields).greatest("stale-if-error") ?? 0)
    switch word {
    case .unreachable: return nil
    case .failed(500), .failed(502), .failed(503), .failed(504):
      return staleness <= onError ? nil : "RFC 5861 4: stale beyond stale-if-error"
    default: return "4.2.4: stale"
    }
  }

  private func maxStale(_ request: Asked) -> Int64 {
    let asked = directives(request.fields)
    return asked.permits("max-stale") ? .max : asked.greatest("max-stale") ?? -1
  }
}
