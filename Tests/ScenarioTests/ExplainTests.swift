// `regent explain`: what the running daemon would do with a request, and why; it fetches nothing and changes nothing.

import Testing

@Suite("regent explain")
struct ExplainTests {
  /// A daemon with a shared and a private domain of one origin.
  private struct Town {
    let origin: Origin
    let daemon: Daemon

    init() throws {
      origin = try Origin { request, connection in
        let fields =
          switch request.target {
          case "/stale": ["Cache-Control: max-age=1, stale-while-revalidate=900", "Age: 9"]
          case "/must": ["Cache-Control: max-age=1, must-revalidate", "Age: 9", "ETag: \"v\""]
          case "/vary": ["Cache-Control: max-age=60", "Vary: Accept-Language"]
          case "/both" where request.number == 1: ["Cache-Control: max-age=60", "Vary: X-Kind"]
          case "/cookie": ["Cache-Control: max-age=60", "Set-Cookie: secret=1"]
          default: ["Cache-Control: max-age=60"]
          }
        try connection.answer(200, fields, "body")
      }
      daemon = try Daemon.start(
        config: """
          [[domain]]
          name = "shared"
          upstream = "\(origin.url)"
          [[domain]]
          name = "mine"
          scope = "private"
          upstream = "\(origin.url)"
          [[domain]]
          name = "never"
          policy = "network-only"
          upstream = "\(origin.url)"
          """)
    }

    func get(_ path: String, _ fields: [String] = [], domain: String = "shared") throws {
      _ = try daemon.get(path, host: "\(domain).localhost", fields)
    }

    func explain(_ path: String, _ arguments: [String] = [], domain: String = "shared") throws -> Told {
      try ExplainTests.explain(["http://\(domain).localhost:\(daemon.port)\(path)"] + arguments)
    }
  }

  private static func explain(_ arguments: [String]) throws -> Told {
    try run(Daemon.binary, ["explain"] + arguments, environment: Daemon.environment)
  }

  @Test("a miss, and then a hit with the arithmetic of its age; nothing is fetched and nothing changes")
  func missAndHit() throws {
    let town = try Town()
    for _ in 0..<2 {
      let miss = try town.explain("/a?b=1")
      #expect(
        miss.says("request     GET", "domain      shared: policy http, scope shared", "chain       memory"),
        "\(miss)")
      #expect(miss.says("key         shared /a?b=1", "fwd=uri-miss", "upstream: would be asked"), "\(miss)")
    }
    #expect(town.origin.requests.isEmpty)
    try town.get("/a?b=1")
    for _ in 0..<2 {
      let hit = try town.explain("/a?b=1")
      #expect(
        hit.says("1 stored under this key", "status 200, 4 bytes", "Cache-Control: max-age=60"), "\(hit)")
      #expect(hit.says("corrected_initial_age", "current_age", "lifetime               60 s"), "\(hit)")
      #expect(hit.says("decision: serve it, with Age: ", "RFC 9111 section 4.2"), "\(hit)")
      #expect(!hit.output.contains("would be asked"))
    }
    #expect(town.origin.requests.count == 1)
  }

  @Test("stale: served while it is revalidated behind, which is not begun; or asked first")
  func stale() throws {
    let town = try Town()
    for path in ["/stale", "/must"] { try town.get(path) }
    let stale = try town.explain("/stale")
    #expect(
      stale.says("serve it stale", "stale-while-revalidate (RFC 5861 section 3", "stale for "), "\(stale)")
    let must = try town.explain("/must")
    #expect(must.says("ask the origin first: must-revalidate", "upstream: would be asked next"), "\(must)")
    #expect(town.origin.requests.count == 2)
  }

  @Test("the request's own fields count: Vary, Cache-Control, and more than one -H")
  func fields() throws {
    let town = try Town()
    try town.get("/vary", ["Accept-Language: de"])
    let german = try town.explain("/vary", ["-H", "Accept-Language: de"])
    #expect(german.says("variant 1: this request selects it", "decision: serve it"), "\(german)")
    let english = try town.explain("/vary", ["-H", "Accept-Language:en"])
    #expect(english.says("its Vary selects other requests", "fwd=vary-miss"), "\(english)")
    let reload = try town.explain(
      "/vary", ["-H", "Accept-Language: de", "--header", "Cache-Control: no-cache"])
    #expect(reload.says("ask the origin first: request-no-cache (RFC 9111 sections 5.2.1.4"), "\(reload)")
  }

  @Test("of two that a request selects, the one is named that it would get")
  func preference() throws {
    let town = try Town()
    try town.get("/both", ["X-Kind: a"])
    try town.get("/both", ["X-Kind: b"])
    let told = try town.explain("/both", ["-H", "X-Kind: a"])
    #expect(told.says("2 stored under this key", "another one is preferred to it"), "\(told)")
    let variants = told.output.split(separator: "\n").filter { $0.contains("variant ") }
    #expect(variants.count == 2)
    let chosen = try #require(variants.first { $0.contains("this request selects it") })
    #expect(told.output[chosen.endIndex...].prefix(120).contains("Vary: X-Kind"), "\(told)")
  }

  @Test("a private domain is told by the credentials that are given, and cookies are not shown")
  func privateDomain() throws {
    let town = try Town()
    try town.get("/a", ["Authorization: alice"], domain: "mine")
    let alice = try town.explain("/a", ["-H", "Authorization: alice"], domain: "mine")
    #expect(alice.says("scope private", "partition of its credentials", "decision: serve it"), "\(alice)")
    for other in [["-H", "Authorization: bob"], []] {
      #expect(try town.explain("/a", other, domain: "mine").says("fwd=uri-miss"))
    }
    try town.get("/cookie")
    let cookie = try town.explain("/cookie")
    #expect(cookie.says("Set-Cookie: (8 bytes, not shown)") && !cookie.output.contains("secret"), "\(cookie)")
  }

  @Test("a domain that always asks says so, and a host that no domain knows is refused")
  func policies() throws {
    let town = try Town()
    let never = try town.explain("/a", domain: "never")
    #expect(never.says("policy network-only", "fwd=bypass", "upstream: would be asked next"), "\(never)")
    let port = "127.0.0.1:\(town.daemon.port)"
    let unknown = try Self.explain(["http://unknown.test/a", "--daemon", port])
    #expect(unknown.says("decision    refuse it with 421: Regent serves"), "\(unknown)")
  }

  @Test("what cannot be explained ends with its exit code and one sentence")
  func failures() throws {
    let town = try Town()
    let port = "127.0.0.1:\(town.daemon.port)"
    let silent = try Self.explain(["http://a.localhost:\(try Daemon.freePort())/"])
    #expect(silent.exit == .status(69), "\(silent)")
    let wrong: [[String]] = [
      ["http://a.localhost/", "--daemon", "nowhere:x"], ["http://a.localhost/", "--daemon", port, "-H", "X"],
      ["http://a.localhost/", "--daemon", port, "-H", "a b: c"], ["/only/a/path", "--daemon", port],
      ["http://a.localhost/ x", "--daemon", port], ["ftp://a.localhost/", "--daemon", port],
      ["http://a.localhost/", "--daemon", port, "-H", "Host: b"], [],
    ]
    for arguments in wrong {
      let told = try Self.explain(arguments)
      #expect(told.exit == .status(64), "\(arguments) \(told)")
      #expect(told.output.isEmpty && !told.errors.isEmpty, "\(arguments) \(told)")
    }
    #expect(town.daemon.isRunning)
  }
}
