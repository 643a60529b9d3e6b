// Keys (RFC 9111 section 2; TRUST B2, B3) and invalidation (section 4.4).

import RegentCaching
import RegentHTTP
import TestKit
import Testing

private func key(
  _ host: String, _ path: String, _ query: String? = nil, scheme: CacheKey.Scheme = .http, port: UInt16 = 80
) -> [UInt8] {
  var bytes: [UInt8] = []
  CacheKey.append(
    scheme: scheme, host: Array(host.utf8), port: port, path: Array(path.utf8),
    query: query.map { Array($0.utf8) }, onto: &bytes)
  return bytes
}

@Test("B3 targets that differ have keys that differ")
func distinctKeys() {
  let long = String(repeating: "x", count: 300)
  let keys = [
    key("a", "/b"), key("ab", "/"), key("a", "/b", ""), key("a", "/b", "c"), key("a", "/bc"),
    key("a", "/b?c"),
    key("a", "/b", scheme: .https), key("a", "/b", port: 443), key("a", "/B"), key("a", "//b"),
    key("a", "/%62"),
    key("a", "/b/"), key("a", "/./b"), key("a", "/b", "c&d"), key("a", "/b", "d&c"), key("a", "/" + long),
    key("a", "/" + long + "x"), key("a" + long, "/"), key("a.", "/b"), key("a", "/b%2Fc"), key("a", "/b/c"),
  ]
  #expect(Set(keys).count == keys.count)
}

@Test("9110 4.2.3 the host's case does not count")
func hostCase() {
  #expect(key("ExAmple.ORG", "/A") == key("example.org", "/A"))
}

@Test("B2 200,000 random tuples share no key unless they are equal")
func randomKeys() {
  var generator = SeededGenerator(seed: 20_261_121)
  var seen: [[UInt8]: String] = [:]
  let alphabet: [Character] = ["a", "b", "/", "?", "\u{1}", "\u{0}"]
  for _ in 0..<200_000 {
    func word() -> String {
      String((0..<Int(generator.next() % 4)).map { _ in alphabet[Int(generator.next() % 6)] })
    }
    let (host, path) = (word(), word())
    let query = generator.next() % 2 == 0 ? nil : word()
    let tuple = "\(host.count) \(host) \(path.count) \(path) \(query.map { "?\($0)" } ?? "none")"
    let previous = seen.updateValue(tuple, forKey: key(host, path, query))
    if let previous, previous != tuple { Issue.record("seed 20261121: \(previous) and \(tuple) share a key") }
  }
  #expect(seen.count > 10_000)
}

struct InvalidationRow: Row {
  var rule: String
  var reference: String
  var target: String?

  init(_ rule: String, _ reference: String, _ target: String?) {
    self.rule = rule
    self.reference = reference
    self.target = target
  }

  static let all: [InvalidationRow] = [
    .init("9111 4.4 an absolute path", "/x", "/x"),
    .init("9111 4.4 an absolute path with a query", "/x?y", "/x?y"),
    .init("9111 4.4 an empty query is one", "/x?", "/x?"),
    .init("9111 4.4 a fragment does not count", "/x#y?z", "/x"),
    .init("9111 4.4 the same origin", "http://a.org/x", "/x"),
    .init("9111 4.4 the same origin with its default port", "http://a.org:80/x", "/x"),
    .init("9111 4.4 the same origin with an empty port", "http://a.org:/x", "/x"),
    .init("9111 4.4 the same origin in capitals", "HTTP://A.ORG/x", "/x"),
    .init("9111 4.4 the same origin without a path", "http://a.org", "/"),
    .init("9111 4.4 the same origin without a path, with a query", "http://a.org?q", "/?q"),
    .init("9111 4.4 without a scheme", "//a.org/x", "/x"),
    .init("9111 4.4 another host is not touched", "http://b.org/x", nil),
    .init("9111 4.4 a longer host is not touched", "http://a.org.b/x", nil),
    .init("9111 4.4 another port is not touched", "http://a.org:81/x", nil),
    .init("9111 4.4 another scheme is not touched", "https://a.org/x", nil),
    .init("9111 4.4 user information is not touched", "http://a.org@b.org/x", nil),
    .init("9111 4.4 a port that is no number is not touched", "http://a.org:+80/x", nil),
    .init("9111 4.4 an opaque reference is not touched", "http:x", nil),
    .init("9111 4.4 mailto is not touched", "mailto:a@a.org", nil),
    .init("3986 5.2 a relative path", "x", "/d/x"),
    .init("3986 5.2 a relative path with dots", "../x/./y", "/x/y"),
    .init("3986 5.2 more dots than segments", "../../../x", "/x"),
    .init("3986 5.2 a query alone", "?q", "/d/e?q"),
    .init("3986 5.2 a colon in a later segment is no scheme", "x/y:z", "/d/x/y:z"),
    .init("3986 5.2 dots at the end leave a slash", "/x/y/..", "/x/"),
    .init("3986 5.2 an empty reference is the target itself", "", "/d/e"),
  ]
}

@Test("only same-origin references are invalidated", arguments: InvalidationRow.all)
func invalidationTargets(row: InvalidationRow) {
  let target = Invalidation.sameOriginTarget(
    Array(row.reference.utf8)[...],
    of: Invalidation.Origin(scheme: .http, host: Array("a.org".utf8), port: 80), path: Array("/d/e".utf8)[...]
  )
  let text = target.map {
    String(decoding: $0.path, as: UTF8.self)
      + ($0.query.map { "?" + String(decoding: $0, as: UTF8.self) } ?? "")
  }
  #expect(text == row.target)
}

@Test("9111 4.4 successful unsafe requests invalidate", arguments: RegentHTTP.Method.allCases)
func invalidatingMethods(method: RegentHTTP.Method) {
  for status: UInt16 in [200, 204, 303] {
    #expect(Invalidation.applies(method: method, status: status) == !method.isSafe)
  }
  for status: UInt16 in [100, 400, 404, 500] {
    #expect(!Invalidation.applies(method: method, status: status))
  }
}
