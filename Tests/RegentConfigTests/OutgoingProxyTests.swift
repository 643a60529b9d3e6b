// Which proxy leads to an origin: the configuration's, the environment's, or none.

import Testing

@testable import RegentConfig

@Suite("The outgoing proxy")
struct OutgoingProxyTests {
  /// The proxy of a domain's first address, as host and port.
  private func proxy(
    _ upstream: String, _ lines: String = "", _ environment: [String: String] = [:]
  ) throws -> ProxyURL? {
    let text =
      "[server]\nlisten = ['127.0.0.1:8080']\n[[domain]]\nname = 'a'\nupstream = '\(upstream)'\n\(lines)\n"
    var configuration = try Configuration.parse(text, file: "f")
    var findings = Findings(file: "f")
    configuration.chooseProxies(environment, findings: &findings)
    try findings.settle()
    return configuration.domains[0].upstreams[0].proxy
  }

  private let environment = ["http_proxy": "http://plain.test:1", "https_proxy": "secure.test:2"]

  @Test(
    "the environment has one for each scheme; HTTP_PROXY in capitals is a client's word and does not count")
  func schemes() throws {
    #expect(try proxy("http://a.test", "", environment)?.url.authority == "plain.test:1")
    #expect(try proxy("https://a.test", "", environment)?.url.authority == "secure.test:2")
    #expect(try proxy("https://a.test", "", ["HTTPS_PROXY": "http://c.test:3"])?.url.authority == "c.test:3")
    #expect(try proxy("http://a.test", "", ["HTTP_PROXY": "http://c.test:3"]) == nil)
    #expect(try proxy("http://a.test") == nil)
    #expect(try proxy("http://a.test", "", ["http_proxy": ""]) == nil)
  }

  @Test(
    "an origin on this machine is never asked through the environment's proxy",
    arguments: [
      "http://localhost:1", "http://a.localhost", "http://127.9.0.1", "http://[::1]:81", "unix:/run/a",
    ])
  func loopback(upstream: String) throws {
    #expect(try proxy(upstream, "", environment) == nil)
  }

  @Test("but through a configured one, if it has a host")
  func configured() throws {
    let lines = "proxy = 'http://p.test:3128'"
    #expect(try proxy("http://127.0.0.1:1", lines, environment)?.url.authority == "p.test:3128")
    #expect(try proxy("unix:/run/a", lines) == nil)
    #expect(try proxy("http://a.test", "proxy = 'none'", environment) == nil)
  }

  @Test(
    "no_proxy names hosts, domains, and ports",
    arguments: [
      ("*", true), ("a.test", true), (".a.test", true), ("test", true), (".test", true), ("A.TEST", true),
      ("x.test, a.test", true), ("x.test a.test", true), ("a.test:81", true), ("b.test", false), ("", false),
      ("a.test:82", false), ("est", false), ("b.a.test", false), (",", false), (".", false),
    ])
  func excluded(list: String, isExcluded: Bool) throws {
    var environment = environment
    environment["no_proxy"] = list
    #expect(try (proxy("http://a.test:81", "", environment) == nil) == isExcluded)
  }

  @Test("an address is excluded by itself")
  func addresses() throws {
    for (list, isExcluded) in [
      ("[2001:db8::1]:80", true), ("2001:db8::1", true), ("[2001:db8::1]", true), ("2001:db8::2", false),
    ] {
      var environment = environment
      environment["NO_PROXY"] = list
      #expect(try (proxy("http://[2001:db8::1]", "", environment) == nil) == isExcluded, "\(list)")
    }
  }

  @Test("Regent is not its own proxy because its environment says so to all")
  func own() throws {
    #expect(try proxy("http://a.test", "", ["http_proxy": "http://127.0.0.1:8080"]) == nil)
    #expect(try proxy("http://a.test", "", ["http_proxy": "http://127.0.0.1:8081"]) != nil)
  }

  @Test("a user and a password become a field, and are shown nowhere")
  func user() throws {
    let proxy = try #require(try proxy("http://a.test", "proxy = 'http://us%65r:p%40ss@p.test:1'"))
    #expect(proxy.url.authority == "p.test:1")
    #expect(proxy.authorization?.pieces == [.literal("Basic dXNlcjpwQHNz")])
    var dumped = "\(proxy)"
    dump(proxy, to: &dumped)
    #expect(dumped.contains("dXNl") == false && dumped.contains("p@ss") == false)
  }

  @Test("one may speak TLS itself, at https's own port")
  func secure() throws {
    for upstream in ["http://a.test", "https://a.test"] {
      let proxy = try #require(try proxy(upstream, "proxy = 'https://u:p@p.test'"))
      #expect(proxy.url.scheme == .https && proxy.url.port == 443 && proxy.authorization != nil)
    }
    let named = try proxy("https://a.test", "", ["https_proxy": "HTTPS://p.test:8443"])
    #expect(named?.url.scheme == .https && named?.url.port == 8443)
  }

  @Test(
    "what is no proxy is refused, and a password in it is not shown",
    arguments: [
      "https://hush@p.test/x", "socks5://hush@p.test", "http://u:hush@p.test/x", "http://%zz:hush@p.test",
      "http://u:hush@", "hush",
    ])
  func refused(text: String) {
    let errors = #expect(throws: ConfigurationErrors.self) { try proxy("http://a.test", "proxy = '\(text)'") }
    #expect("\(errors?.errors ?? [])".contains("hush") == false)
    #expect(throws: ConfigurationErrors.self) {
      try proxy("http://a.test", "", ["http_proxy": "x://\(text)"])
    }
  }
}
