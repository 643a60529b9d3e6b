// What is told of a cache's directory: the URLs, ages and decisions that a daemon would come to, and no credentials.

import Glibc
import RegentCaching
import RegentHTTP
import RegentLoop
import Testing

@testable import Regent
@testable import RegentStorage

@Suite("A cache's directory, looked at")
struct CacheDirectoryTests {
  static let configuration = """
    [[domain]]
    name = "api"
    hosts = ["api.example.org"]
    upstream = "https://api.example.org/v1"
    [[domain]]
    name = "plain"
    upstream = "http://127.0.0.1:9000"
    ignore-query = ["utm_*"]
    sort-query = true
    [[domain]]
    name = "keyed"
    upstream = "http://keyed.example.org"
    key-fields = ["X-Kind", "X-Token"]
    [[domain]]
    name = "mine"
    scope = "private"
    upstream = "http://[::1]:81"
    [[domain]]
    name = "a"
    [[domain.fixture]]
    path = "/"
    """

  private func fresh(_ lines: String...) -> Fields {
    var result = fields("Cache-Control: max-age=60")
    for line in lines {
      let parts = line.split(separator: ":", maxSplits: 1)
      result.append(named: parts[0].utf8, parts[1].drop { $0 == " " }.utf8)
    }
    return result
  }

  @Test("every key that routing makes is told as the URL at its origin, or at this machine")
  func urls() throws {
    let directory = try FilledDirectory(Self.configuration)
    let rows: [(String, String, String, Bool)] = [
      ("http://api.localhost/users?a=1", "https://api.example.org/v1/users?a=1", "api", false),
      ("http://localhost/api/users", "https://api.example.org/v1/users", "api", false),
      ("http://plain.localhost/?b=2&utm_x=1&a=1", "http://127.0.0.1:9000/?a=1&b=2", "plain", false),
      ("http://plain.localhost/?utm_x=1", "http://127.0.0.1:9000/", "plain", false),
      ("http://keyed.localhost/k?", "http://keyed.example.org/k?", "keyed", false),
      ("http://mine.localhost/m", "http://[::1]:81/m", "mine", true),
      ("http://a.localhost/x", "http://a.localhost/x", "a", false),
    ]
    for (url, _, _, _) in rows {
      let asked = url.contains("mine") ? fields("Authorization: alice") : fields("X-Kind: one")
      try directory.keep(url, answered: fresh("ETag: \"x\""), asked: asked)
    }
    for toml in [Self.configuration, nil] {
      let told = try directory.opened(toml).listed().reversed()
      // The second one came in the first one's... place: another query, so both are there.
      #expect(told.map(\.url) == rows.map(\.1) && told.map(\.domain) == rows.map(\.2))
      #expect(told.map(\.isPrivate) == rows.map(\.3))
      #expect(told.allSatisfy { $0.decision == .serve && $0.size == 4 && $0.hits == 0 && $0.remaining == 60 })
      for (url, origin, _, _) in rows {
        for name in toml == nil ? [origin] : [url, origin] {
          let found = try directory.opened(toml).find(name)
          #expect(found.map(\.url) == [origin], "\(name)")
        }
      }
    }
    #expect(try directory.opened().find("http://api.localhost:8080/users?a=1").count == 1)
    for other in ["http://api.example.org/v1/users", "http://other.localhost/x"] {
      #expect(try directory.opened(Self.configuration).find(other).isEmpty)
    }
    for wrong in ["/users", "api.localhost/users", "ftp://a/", "http://a b/", ""] {
      #expect(throws: DaemonError.self, "\(wrong)") { try directory.opened().find(wrong) }
    }
  }

  @Test("the decision is that of the domain's rules, and of HTTP's where there are none")
  func decisions() throws {
    let directory = try FilledDirectory(Self.configuration)
    let rows: [(String, [String], Int64, ArchivedResponse.Decision, String)] = [
      ("fresh", ["Cache-Control: max-age=60"], 30, .serve, ""),
      ("stale", ["Cache-Control: max-age=10", "ETag: \"a\""], 30, .validate, "stale"),
      ("must", ["Cache-Control: max-age=10, must-revalidate"], 30, .validate, "must-revalidate"),
      (
        "behind", ["Cache-Control: max-age=10, stale-while-revalidate=60"], 30, .serveStale,
        "stale-while-revalidate"
      ),
      (
        "no-cache", ["Cache-Control: max-age=60, no-cache", "ETag: \"a\""], 1, .validate, "response-no-cache"
      ),
      ("future", ["Cache-Control: max-age=60"], -500, .validate, "clock-went-back"),
    ]
    for (name, lines, age, _, _) in rows {
      var answered = Fields()
      for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1)
        answered.append(named: parts[0].utf8, parts[1].drop { $0 == " " }.utf8)
      }
      try directory.keep("http://api.localhost/\(name)", answered: answered, age: age)
    }
    let told = try directory.opened().listed().reversed()
    #expect(told.map(\.decision) == rows.map(\.3) && told.map(\.reason) == rows.map(\.4))
    #expect(told.map(\.age) == [30, 30, 30, 30, 1, 0])
    #expect(told.map(\.remaining).prefix(2) == [30, -20])
    let always = Self.configuration.replacing(
      "name = \"api\"", with: "name = \"api\"\npolicy = \"network-only\"")
    #expect(try directory.opened(always).listed().allSatisfy { $0.reason == "network-only" })
    let long = Self.configuration.replacing("name = \"api\"", with: "name = \"api\"\nttl = \"1h\"")
    #expect(try directory.opened(long).find("http://api.localhost/stale").first?.remaining == 3570)
  }

  @Test("what no request finds any more says why")
  func obstacles() throws {
    let directory = try FilledDirectory(Self.configuration)
    for name in ["api", "keyed"] { try directory.keep("http://\(name).localhost/x", answered: fresh()) }
    try directory.keep("http://mine.localhost/x", answered: fresh(), asked: fields("Authorization: a"))
    func reason(_ domain: String, _ old: String, _ new: String) throws -> String {
      let toml = Self.configuration.replacing(old, with: new)
      let told = try #require(directory.opened(toml).listed().first { $0.domain == domain })
      #expect(told.decision == .never && told.lines.last == "decision: it is not found: \(told.reason)")
      return told.reason
    }
    #expect(try reason("api", "name = \"api\"", "name = \"other\"").contains("no domain \"api\""))
    #expect(try reason("api", "org/v1", "org/v2").contains("another origin"))
    #expect(try reason("mine", "scope = \"private\"", "").contains("is shared now"))
    #expect(try reason("api", "name = \"api\"", "name = \"api\"\nscope = \"private\"").contains("or scope"))
    #expect(try reason("keyed", ", \"X-Token\"", "").contains("keys other fields"))
    #expect(try directory.opened(Self.configuration).listed().allSatisfy { $0.decision == .serve })
  }

  @Test("what was invalidated for all values of a keyed field is not found, whatever the rules are")
  func invalidated() throws {
    let directory = try FilledDirectory(Self.configuration)
    for (url, kind) in [("x", "one"), ("x", "two"), ("y", "one")] {
      try directory.keep(
        "http://keyed.localhost/\(url)", answered: fresh("ETag: \"old\""), asked: fields("X-Kind: \(kind)"))
    }
    try directory.invalidate("http://keyed.localhost/x")
    try directory.keep(
      "http://keyed.localhost/x", answered: fresh("ETag: \"new\""), asked: fields("X-Kind: one"))
    for toml in [Self.configuration, nil] {
      let told = try directory.opened(toml).listed().reversed()
      #expect(told.map(\.decision) == [.never, .never, .serve, .serve])
      #expect(
        told.prefix(2).allSatisfy { $0.reason.contains("another generation of its target is in force") })
      let found = try directory.opened(toml).find("http://keyed.localhost/x")
      #expect(toml == nil || found.map(\.decision) == [.serve, .never, .never])
    }
    // A memo that is none tells nothing.
    let memo = directory.path + "/v1/generations.memo"
    #expect(unsafe truncate(memo, 100) == 0)
    #expect(try directory.opened().listed().allSatisfy { $0.decision == .serve })
  }

  @Test("credentials are never told: not of the key, not of Vary, not of the fields")
  func credentials() throws {
    let directory = try FilledDirectory(Self.configuration)
    try directory.keep(
      "http://mine.localhost/m",
      answered: fresh("Set-Cookie: SECRET=1", "X-Auth-Token: SECRET", "Vary: Cookie, Accept-Language"),
      asked: fields("Authorization: Bearer SECRET", "Cookie: a=SECRET", "Accept-Language: de"))
    try directory.keep(
      "http://keyed.localhost/k", answered: fresh(), asked: fields("X-Kind: one", "X-Token: SECRET"))
    for toml in [Self.configuration, nil] {
      for response in try directory.opened(toml).listed() {
        let all = ([response.url, response.json] + response.lines + response.headLines).joined(
          separator: "\n")
        #expect(!all.contains("SECRET"), "\(all)")
      }
    }
    let mine = try #require(directory.opened().find("http://mine.localhost/m").first)
    #expect(mine.selecting == ["cookie: (8 bytes, not shown)", "accept-language: de"])
    #expect(mine.lines.contains("Set-Cookie: (8 bytes, not shown)"))
    let keyed = try #require(directory.opened(Self.configuration).find("http://keyed.localhost/k").first)
    #expect(keyed.selecting == ["x-kind: one", "x-token: (6 bytes, not shown)"])
    let unknown = try #require(directory.opened().find("http://keyed.localhost/k").first)
    #expect(unknown.selecting == ["keyed field 1: (3 bytes)", "keyed field 2: (6 bytes)"])
  }

  @Test("orders are by age, size and URL, and what is no response of HTTP's is counted")
  func orders() throws {
    let directory = try FilledDirectory(Self.configuration)
    for (name, count, age) in [("b", 30, 5), ("c", 10, 1), ("a", 20, 9)] as [(String, Int, Int64)] {
      try directory.keep(
        "http://api.localhost/\(name)", [UInt8](repeating: 1, count: count), answered: fresh(), age: age)
    }
    directory.keep(key: [1, 2, 3], head: [])
    try directory.keep(key: directory.routed("http://api.localhost/x").key.bytes, head: [1, 2, 3])
    let opened = try directory.opened()
    func names(_ order: CacheDirectory.Order) -> String {
      opened.listed(order).map { String($0.url.suffix(1)) }.joined()
    }
    #expect(names(.written) == "acb" && names(.age) == "cba" && names(.size) == "bac" && names(.url) == "abc")
    for order in CacheDirectory.Order.allCases {
      let omissions = opened.list(order) { _ in }
      #expect(omissions.unknown == 2 && omissions.damaged.isEmpty)
    }
    #expect(opened.count == 5 && opened.owner == nil)
  }

  @Test("text of others does not speak to a terminal")
  func shown() {
    #expect(Shown.text("a\u{1B}[31m\u{7}\r\n\u{9B}\u{202E}é中".utf8) == "a?[31m????" + "?é中")
    #expect(Shown.text([0x61, 0xFF, 0x62]) == "a\u{FFFD}b")
    #expect(Shown.url([0x2F, 0x20, 0xC3, 0xA9, 0x7F, 0x1B]) == "/%20%C3%A9%7F%1B")
    for name in ["Cookie", "SET-COOKIE", "X-Api-Key", "Proxy-Authorization", "x-amz-security-token"] {
      #expect(Shown.isSecret(name.utf8), "\(name)")
    }
    for name in ["Accept", "ETag", "Cache-Control", "WWW-Authenticate", "Author"] {
      #expect(!Shown.isSecret(name.utf8), "\(name)")
    }
  }
}
