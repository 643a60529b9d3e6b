// What a reference names below the path under which a domain's targets lie, and which authority it has (RFC 9111 section
// 4.4; RFC 3986 sections 3.2 and 5.2).

import RegentCaching
import RegentHTTP
import Testing

struct PlaceRow: Row {
  var rule: String
  var reference: String
  var base: String
  var target: String?

  init(_ rule: String, _ reference: String, base: String = "/v1", _ target: String?) {
    (self.rule, self.reference, self.base, self.target) = (rule, reference, base, target)
  }

  static let all: [PlaceRow] = [
    .init("9111 4.4 a path below the base", "/v1/x", "/x"),
    .init("9111 4.4 its query stays", "/v1/x?y=1", "/x?y=1"),
    .init("9111 4.4 the base itself", "/v1", "/"), .init("9111 4.4 the base with a slash", "/v1/", "/"),
    .init("9111 4.4 the base with a query", "/v1?y", "/?y"),
    .init("9111 4.4 outside of the base", "/v2/x", nil), .init("9111 4.4 above the base", "/", nil),
    .init("9111 4.4 a base that only begins alike", "/v1x/x", nil),
    .init("9111 4.4 a base in other case is another path", "/V1/x", nil),
    .init("9111 4.4 an encoded base is another path", "/v%31/x", nil),
    .init("3986 5.2 dots that lead out of the base", "/v1/../x", nil),
    .init("3986 5.2 dots that lead back into it", "/v2/../v1/x", "/x"),
    .init("3986 5.2 a relative path", "x", "/d/x"),
    .init("3986 5.2 a relative path that leads out", "../../x", nil),
    .init("3986 5.2 a query alone", "?z", "/d/e?z"),
    .init("3986 5.2 an empty reference keeps the query", "", "/d/e?q"),
    .init("3986 5.2 a fragment alone keeps it, too", "#f", "/d/e?q"),
    .init("9111 4.4 the origin's authority", "http://a.org/v1/x", "/x"),
    .init("9111 4.4 the origin's authority without a path", "http://a.org", nil),
    .init("9111 4.4 another authority", "http://b.org/v1/x", nil),
    .init("9111 4.4 without a base all paths count", "/v1/x", base: "", "/v1/x"),
    .init("9111 4.4 without a base the root", "http://a.org", base: "", "/"),
  ]
}

@Test("a place knows what a reference names below its base", arguments: PlaceRow.all)
func placeTargets(row: PlaceRow) {
  let origin = Invalidation.Origin(scheme: .http, host: Array("a.org".utf8), port: 80)
  let place = Invalidation.Place(
    origin, path: Array("\(row.base)/d/e".utf8), query: Array("q".utf8), base: Array(row.base.utf8))
  let target = place.target(Array(row.reference.utf8)[...])
  let text = target.map {
    String(decoding: $0.path, as: UTF8.self)
      + ($0.query.map { "?" + String(decoding: $0, as: UTF8.self) } ?? "")
  }
  #expect(text == row.target)
}

struct AuthorityRow: Row {
  var rule: String
  var reference: String
  var authority: String?

  init(_ rule: String, _ reference: String, _ authority: String?) {
    (self.rule, self.reference, self.authority) = (rule, reference, authority)
  }

  static let all: [AuthorityRow] = [
    .init("3986 3.2 a host", "http://a.org/x", "http a.org 80"),
    .init("3986 3.2 a host over TLS", "https://a.org/x", "https a.org 443"),
    .init("3986 3.1 a scheme has no case", "HTTPS://A.org", "https A.org 443"),
    .init("3986 3.2.3 a port", "http://a.org:81/x", "http a.org 81"),
    .init("3986 3.2.3 an empty port", "http://a.org:/x", "http a.org 80"),
    .init("3986 3.2.3 a port that is too large", "http://a.org:65536/x", nil),
    .init("3986 3.2.3 a port of very many digits", "http://a.org:99999999999999999999/x", nil),
    .init("3986 3.2.3 a port that is no number", "http://a.org:+80/x", nil),
    .init("3986 3.2.2 an address in brackets", "http://[::1]:81/x", "http [::1] 81"),
    .init("3986 3.2 a query ends it", "http://a.org?x", "http a.org 80"),
    .init("3986 3.2 a fragment ends it", "http://a.org#x", "http a.org 80"),
    .init("3986 3.2.1 user information", "http://u@a.org/x", nil),
    .init("3986 3.2.1 user information with a password", "http://u:p@a.org/x", nil),
    .init("3986 3.2 nothing", "http:///x", nil), .init("3986 3.2 no authority", "http:x", nil),
    .init("3986 4.2 without a scheme", "//a.org/x", nil), .init("3986 4.2 a path", "/x:y", nil),
    .init("3986 3.1 another scheme", "ftp://a.org/x", nil), .init("3986 3.1 an empty reference", "", nil),
  ]
}

@Test("a reference's authority is read whole or not at all", arguments: AuthorityRow.all)
func authorities(row: AuthorityRow) {
  let found = Invalidation.authority(of: Array(row.reference.utf8)[...])
  let text = found.map {
    "\($0.scheme == .https ? "https" : "http") \(String(decoding: $0.host, as: UTF8.self)) \($0.port)"
  }
  #expect(text == row.authority)
}
