// The table of hosts, paths and methods: which domain a request belongs to, row by row.

import RegentConfig
import RegentHTTP
import TestKit
import Testing

@testable import Regent

@Suite("The router")
struct RouterTests {
  /// The domains of the tables below, in the order of their numbers.
  private static let domains: [RegentConfig.Domain] = [
    domain("github", [.exact("api.github.com")]),
    domain("org", [.suffix("example.org")]),
    domain("deep", [.suffix("deep.example.org")]),
    domain("www", [.exact("www.example.org"), .exact("[2001:db8::1]")]),
    domain("shop", [.exact("shop.test")]),
    domain("shop-api", [.exact("shop.test")], paths: [.prefix("/api/")]),
    domain("shop-v2", [.exact("shop.test")], paths: [.prefix("/api/v2/")]),
    domain("shop-one", [.exact("shop.test")], paths: [.exact("/api/v2/one"), .exact("/one")]),
    domain("shop-post", [.exact("shop.test")], paths: [.prefix("/api/")], methods: ["POST", "PUT"]),
    domain("narrow", [.exact("narrow.test")], paths: [.exact("/only")], methods: ["GET"]),
  ]

  private static func domain(
    _ name: String, _ hosts: [HostPattern], paths: [PathPattern] = [], methods: [String] = []
  ) -> RegentConfig.Domain {
    var domain = RegentConfig.Domain(name: name)
    (domain.hosts, domain.paths, domain.methods) = (hosts, paths, methods)
    return domain
  }

  /// The name of the domain that a request belongs to, with the length of the prefix that named it if there is one.
  private func found(
    _ router: Router, _ host: String, _ path: String, _ method: RegentHTTP.Method,
    domains: [RegentConfig.Domain] = domains
  ) -> String? {
    let host = Array(host.utf8)[...]
    let match = router.match(
      router.routes(host: host), path: Array(path.utf8)[...], method: method,
      atLoopback: Router.isLoopback(host))
    guard let match else { return nil }
    let name = match.domain == domains.count ? "admin" : domains[match.domain].name
    return match.prefix > 0 ? "\(name) -\(match.prefix)" : name
  }

  @Test(
    "finds the most specific domain: host, then path, then method",
    arguments: [
      // Hosts: exact before suffix, longer suffix before shorter.
      ("api.github.com", "/", .get, "github"), ("github.localhost", "/x", .get, "github"),
      ("www.example.org", "/", .get, "www"), ("a.example.org", "/", .get, "org"),
      ("a.b.example.org", "/", .get, "org"), ("a.deep.example.org", "/", .get, "deep"),
      ("deep.example.org", "/", .get, "org"), ("example.org", "/", .get, nil),
      ("badexample.org", "/", .get, nil), (".example.org", "/", .get, nil), ("", "/", .get, nil),
      ("[2001:db8::1]", "/", .get, "www"), ("api.github.com.evil.test", "/", .get, nil),
      // Paths: exact before prefix, longer prefix before shorter, any last.
      ("shop.test", "/", .get, "shop"), ("shop.test", "/api", .get, "shop"),
      ("shop.test", "/api/", .get, "shop-api"), ("shop.test", "/api/v1/x", .get, "shop-api"),
      ("shop.test", "/api/v2/x", .get, "shop-v2"), ("shop.test", "/api/v2/one", .get, "shop-one"),
      ("shop.test", "/api/v2/one/", .get, "shop-v2"), ("shop.test", "/one", .get, "shop-one"),
      ("shop.test", "/API/", .get, "shop"),
      // Methods: a named one before any, but never before a longer path.
      ("shop.test", "/api/x", .post, "shop-post"), ("shop.test", "/api/x", .put, "shop-post"),
      ("shop.test", "/api/x", .delete, "shop-api"), ("shop.test", "/api/v2/x", .post, "shop-v2"),
      ("narrow.test", "/only", .get, "narrow"), ("narrow.test", "/only", .post, nil),
      ("narrow.test", "/other", .get, nil), ("narrow.localhost", "/only", .get, "narrow"),
      ("narrow.localhost", "/other", .get, nil),
    ] as [(String, String, RegentHTTP.Method, String?)])
  func mostSpecific(host: String, path: String, method: RegentHTTP.Method, name: String?) {
    let router = Router(Self.domains, admin: Self.domains.count, pathPrefixes: true)
    #expect(found(router, host, path, method) == name)
  }

  @Test("does not depend on the order of the domains", arguments: 1...20)
  func anyOrder(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let domains = Self.domains.shuffled(using: &random)
    let router = Router(domains, admin: domains.count, pathPrefixes: true)
    for (host, path, method, name) in [
      ("shop.test", "/api/v2/one", .get, "shop-one"), ("shop.test", "/api/x", .post, "shop-post"),
      ("shop.test", "/api/x", .get, "shop-api"), ("shop.test", "/x", .post, "shop"),
      ("a.deep.example.org", "/", .get, "deep"), ("www.example.org", "/", .get, "www"),
    ] as [(String, String, RegentHTTP.Method, String)] {
      #expect(found(router, host, path, method, domains: domains) == name, "seed \(seed)")
    }
  }

  @Test("sends the loopback names and regent.localhost to the admin pages where no domain is the default")
  func admin() {
    let router = Router(Self.domains, admin: Self.domains.count, pathPrefixes: true)
    for host in ["regent.localhost", "localhost", "127.0.0.1", "[::1]"] {
      #expect(found(router, host, "/stats", .get) == "admin")
    }
    #expect(found(router, "127.0.0.2", "/stats", .get) == nil)
    #expect(router.domainCount == Self.domains.count)
  }

  @Test("sends the loopback names to the default domain, and regent.localhost still to the admin pages")
  func defaultDomain() {
    var domains = Self.domains
    domains[3].isDefault = true
    let router = Router(domains, admin: domains.count, pathPrefixes: true)
    for host in ["localhost", "127.0.0.1", "[::1]"] {
      #expect(found(router, host, "/stats", .get) == "www")
      #expect(found(router, host, "/", .post) == "www")
    }
    #expect(found(router, "regent.localhost", "/stats", .get) == "admin")
  }

  @Test(
    "takes a first segment for a domain's name at the loopback names alone",
    arguments: [
      ("localhost", "/github/users", "github -7"), ("127.0.0.1", "/github/", "github -7"),
      ("[::1]", "/shop-api/x", "shop-api -9"), ("localhost", "/github", "admin"),
      ("localhost", "/githu/x", "admin"), ("localhost", "/githubs/x", "admin"),
      ("localhost", "//github/x", "admin"), ("localhost", "/", "admin"), ("localhost", "/GitHub/x", "admin"),
      ("localhost", "*", "admin"), ("localhost", "", "admin"),
      ("www.example.org", "/github/users", "www"), ("github.localhost", "/shop/x", "github"),
      ("regent.localhost", "/github/users", "admin"),
    ] as [(String, String, String)])
  func prefixes(host: String, path: String, name: String) {
    let router = Router(Self.domains, admin: Self.domains.count, pathPrefixes: true)
    #expect(found(router, host, path, .get) == name)
  }

  @Test("takes no first segment for a name where that is turned off")
  func noPrefixes() {
    let router = Router(Self.domains, admin: Self.domains.count, pathPrefixes: false)
    #expect(found(router, "localhost", "/github/users", .get) == "admin")
  }
}
