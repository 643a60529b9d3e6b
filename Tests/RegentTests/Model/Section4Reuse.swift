// RFC 9111 sections 4 and 5.2.1 in the reference model: whether a stored response may answer without validation.

extension Model {
  /// Why this stored response must not answer this request now without asking; nil where it may.
  func section4(
    _ entry: Entry, _ edition: Edition, _ request: Asked, now: Int64, _ word: OriginWord
  ) -> String? {
    if let reason = suitable(entry, edition, request) { return reason }
    if rules.kind == "network-only" { return "the domain's policy is to ask always" }
    if now < edition.responseTime - 2 { return "the clock went back behind its arrival" }
    let remaining = remaining(edition, entry.target, now: now)
    let overruled =
      rules.kind == "cache-then-network" || rules.kind == "cache-first" && rules.ttl != nil && remaining > 0
    if directives(edition.fields).isWhole("no-cache"), !overruled { return "5.2.2.4: no-cache" }
    if remaining <= 0,
      let reason = section424(edition, request, staleness: -remaining, word)
    {
      return reason
    }
    return section521(edition, request, age: section423(edition, now: now), remaining: remaining, word)
  }

  /// Whether it could be chosen for the request at all: target, method, Vary, and that it may be stored.
  func suitable(_ entry: Entry, _ edition: Edition, _ request: Asked) -> String? {
    if entry.target != request.target { return "4: another target" }
    if !["GET", "HEAD"].contains(request.method) { return "4: the method \(request.method)" }
    return section3(edition) ?? section41(edition, request)
  }

  /// Section 5.2.1: what the client wants. After an error its wishes for freshness are not to be had.
  private func section521(
    _ edition: Edition, _ request: Asked, age: Int64, remaining: Int64, _ word: OriginWord
  ) -> String? {
    let asked = directives(request.fields)
    if asked.has("no-cache") { return "5.2.1.4: the request's no-cache" }
    if !request.fields.has("cache-control"),
      members(of: request.fields.values("pragma")).contains(where: { $0.lowercased() == "no-cache" })
    {
      return "5.4: Pragma"
    }
    guard word == .notAsked || word == .answered else { return nil }
    if let maxAge = asked.greatest("max-age"), age > maxAge { return "5.2.1.1: the request's max-age" }
    if let minFresh = asked.least("min-fresh"), remaining < minFresh { return "5.2.1.3: min-fresh" }
    return nil
  }
}
