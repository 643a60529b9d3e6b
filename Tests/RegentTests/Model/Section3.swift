// RFC 9111 section 3 in the reference model: what must not be in a shared cache.

extension Model {
  /// Why this must not be stored; nil where it may.
  func section3(_ edition: Edition) -> String? {
    let cacheControl = directives(edition.fields)
    guard let request = edition.selectors.first else { return "nobody asked for it" }
    if request.method != "GET" { return section3Method(edition, request) }
    if edition.status == 304 || edition.status < 200 { return "3: no status to store" }
    if edition.status == 206, !edition.fields.has("content-range") { return "3.3: a part of unknown place" }
    if cacheControl.permits("must-understand") {
      if !Self.understood.contains(edition.status) { return "5.2.2.3: must-understand" }
    } else if cacheControl.has("no-store") {
      return "5.2.2.5: no-store"
    }
    if edition.selectors.allSatisfy({ directives($0.fields).has("no-store") }) {
      return "5.2.1.5: the request said no-store"
    }
    if cacheControl.isWhole("private") { return "5.2.2.7: private" }
    return section3Last(edition, cacheControl) ?? section35(edition, cacheControl) ?? cookies(edition)
  }

  static let understood: Set<Int> = Set([
    200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 500, 501, 502, 503, 504,
  ])
  .union(400...417).union([201, 202, 205, 421, 422, 426, 428, 429, 431, 451, 505, 511])
  static let heuristic: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

  /// RFC 9110 section 9.3.3: a POST's answer may be reused with explicit freshness and its own target as
  /// Content-Location.
  private func section3Method(_ edition: Edition, _ request: Asked) -> String? {
    guard request.method == "POST", edition.status == 200,
      edition.fields.first("content-location") == request.target, isExplicit(edition)
    else { return "3: the method \(request.method)" }
    var copy = edition
    copy.selectors[0].method = "GET"
    return section3(copy)
  }

  func isExplicit(_ edition: Edition) -> Bool {
    let cacheControl = directives(edition.fields)
    return edition.fields.has("expires") || cacheControl.has("max-age") || cacheControl.has("s-maxage")
  }

  private func section3Last(_ edition: Edition, _ cacheControl: Directives) -> String? {
    cacheControl.has("public") || isExplicit(edition) || Self.heuristic.contains(edition.status)
      ? nil : "3: nothing says that it may be stored"
  }

  /// Section 3.5: a request with Authorization.
  private func section35(_ edition: Edition, _ cacheControl: Directives) -> String? {
    guard edition.selectors.contains(where: { $0.fields.has("authorization") }) else { return nil }
    let permitted = ["must-revalidate", "public", "s-maxage"].contains { cacheControl.has($0) }
    return permitted ? nil : "3.5: Authorization"
  }

  /// Regent's own promise: no cookie is shared unless the response's fields say that it may be.
  private func cookies(_ edition: Edition) -> String? {
    guard edition.fields.has("set-cookie") else { return nil }
    return isExplicit(edition) || directives(edition.fields).has("public")
      ? nil : "Set-Cookie without explicit freshness or public"
  }
}
