// Which domain a request reaches, and what becomes of those that reach none.

import Testing

@Suite("Routing")
struct RoutingTests {
  /// A daemon with two domains, whose origins answer with their name and what they were asked.
  private struct Town {
    let github: Origin
    let other: Origin
    let daemon: Daemon

    init() throws {
      github = try Origin { request, connection in
        try connection.answer(200, [], "github \(request.target) \(request["Host"] ?? "")")
      }
      other = try Origin { request, connection in try connection.answer(200, [], "other \(request.target)") }
      let config = """
        [[domain]]
        name = "github"
        hosts = ["api.github.test", "*.hub.test"]
        upstream = "\(github.url)"

        [[domain]]
        name = "other"
        hosts = ["other.test"]
        upstream = "\(other.url)"

        [[domain]]
        name = "paths"
        hosts = ["other.test"]
        paths = ["/hub/*"]
        upstream = "\(github.url)"
        """
      daemon = try Daemon.start(config: config)
    }

    var requests: Int { github.requests.count + other.requests.count }
  }

  @Test("a domain answers at NAME.localhost, at its hosts, below their suffix, and under localhost/NAME/")
  func domains() throws {
    let town = try Town()
    let client = try town.daemon.connect()
    for host in [
      "github.localhost", "GitHub.LocalHost", "github.localhost:80", "api.github.test", "a.b.hub.test",
    ] {
      #expect(try client.get("/x?y=%2f", host: host).text.hasPrefix("github /x?y=%2f "), "\(host)")
    }
    #expect(try client.get("/github/x", host: "localhost").text.hasPrefix("github /x "))
    #expect(try client.get("/github/x", host: "localhost:\(town.daemon.port)").text.hasPrefix("github /x "))
    #expect(try client.get("/other/x?q", host: "127.0.0.1").text == "other /x?q")
    #expect(try client.get("/x", host: "other.test").text == "other /x")
    #expect(try client.get("/hub/x", host: "other.test").text.hasPrefix("github /hub/x "))
    let own = "github / 127.0.0.1:\(town.github.port)"
    #expect(try client.get("/", host: "api.github.test").text == own)
  }

  @Test(
    "a host that no domain knows gets 421 with the number of domains, and no origin sees it",
    arguments: [
      "evil.example", "evil.example:80", "hub.test", "xhub.test", "localhost.evil.example",
      "github.localhost.evil",
      "169.254.169.254", "0x7f000001", "[::2]", "api.github.test.evil",
    ])
  func unknown(_ host: String) throws {
    let town = try Town()
    let response = try town.daemon.get("/", host: host)
    #expect(response.status == 421, "\(response.head.raw)")
    #expect(response.text.contains("3") && response.text.lowercased().contains("domain"), "\(response.text)")
    #expect(town.requests == 0)
  }

  @Test("the absolute form reaches the domain of its own host")
  func absolute() throws {
    let town = try Town()
    let client = try town.daemon.connect()
    #expect(try client.get("http://other.test/x", host: "other.test").text == "other /x")
    #expect(try client.get("http://OTHER.test:80/x", host: "other.test").text == "other /x")
    #expect(try client.get("http://other.test", host: "other.test").text == "other /")
    #expect(try client.get("http://other.test?q", host: "other.test").text == "other /?q")
    #expect(try client.get("http://evil.example/x", host: "evil.example").status == 421)
  }

  @Test("methods that are not for a proxy's data port get 405 with Allow and reach no origin")
  func methods() throws {
    let town = try Town()
    for method in ["TRACE", "PURGE"] {
      let client = try town.daemon.connect()
      try client.request(method, "/x", host: "other.test", ["Max-Forwards: 0"])
      let response = try client.response()
      #expect(response.status == 405, "\(method)")
      #expect(response["Allow"]?.contains("GET") == true, "\(method): \(response.head.raw)")
      #expect(!response.text.contains("Max-Forwards"))
    }
    let client = try town.daemon.connect()
    try client.send("CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n")
    #expect(try client.response().status == 405)
    #expect(town.requests == 0)
  }

  @Test("OPTIONS * is not sent to an origin as a path, and a target of another form is refused")
  func asterisk() throws {
    let town = try Town()
    let client = try town.daemon.connect()
    try client.request("OPTIONS", "*", host: "other.test")
    #expect([200, 204, 404, 405, 421].contains(try client.response().status))
    try client.request("GET", "*", host: "other.test")
    #expect(try client.response().status == 400)
    #expect(town.other.requests.allSatisfy { $0.method == "OPTIONS" && $0.target == "*" })
  }

  @Test("with --upstream alone, loopback names and the upstream's own name reach it, and others get 421")
  func upstreamAlone() throws {
    let stage = try Stage { request, connection in try connection.answer(200, [], "here") }
    for host in ["localhost", "127.0.0.1", "[::1]", "localhost:\(stage.daemon.port)", "x.localhost"] {
      #expect(try stage.daemon.get("/", host: host).text == "here", "\(host)")
    }
    let response = try stage.daemon.get("/", host: "evil.example")
    #expect(response.status == 421)
    #expect(response.text.contains("1") && response.text.contains("domain"), "\(response.text)")
  }

  @Test("fields of the connection do not pass, others keep their order and repeats")
  func hopByHop() throws {
    let stage = try Stage { request, connection in
      let fields = [
        "Connection: close, X-Hop", "X-Hop: 1", "Keep-Alive: 5", "X-End: 2", "Set-Cookie: a", "Set-Cookie: b",
      ]
      try connection.answer(200, fields, request.head.raw)
    }
    let response = try stage.get(
      "/", ["Connection: X-Mine", "X-Mine: 1", "TE: trailers", "Proxy-Connection: x", "X-One: 1", "X-One: 2"])
    let seen = response.text.lowercased()
    for name in ["x-mine", "te:", "proxy-connection", "keep-alive"] {
      #expect(!seen.contains(name), "\(name)")
    }
    #expect(seen.contains("x-one: 1\r\nx-one: 2\r\n"))
    #expect(response["X-Hop"] == nil && response["Keep-Alive"] == nil && response["X-End"] == "2")
    #expect(response["Set-Cookie"] == "a, b")
  }

  @Test("an origin that cannot be reached gives 502 with its reason, and the daemon lives on")
  func unreachable() throws {
    let port = try Daemon.freePort()
    let daemon = try Daemon.start(upstream: "http://127.0.0.1:\(port)")
    for _ in 0..<3 {
      let response = try daemon.get("/")
      #expect(response.status == 502)
      #expect(response["Proxy-Status"]?.contains("error=connection_refused") == true, "\(response.head.raw)")
    }
    let origin = try Origin(port: port) { _, connection in try connection.answer(200, [], "back") }
    #expect(try daemon.get("/").text == "back")
    origin.stop()
  }

  @Test("/stats is JSON that a page of another site cannot run")
  func stats() throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=60"], "x")
    }
    for _ in 0..<2 { _ = try stage.get("/<script>") }
    let page = try stage.daemon.get("/stats", host: "regent.localhost")
    #expect(page.status == 200)
    #expect(page["Content-Type"]?.hasPrefix("application/json") == true, "\(page.head.raw)")
    #expect(page["X-Content-Type-Options"] == "nosniff", "\(page.head.raw)")
    #expect(!page.text.contains("<script>"))
    #expect(try !stage.daemon.stats().isEmpty)
  }

  @Test("regent.localhost leads to /stats and names the domains; it is there to be read only")
  func welcome() throws {
    let daemon = try Daemon.start(config: "[[domain]]\nname = \"shop\"\nupstream = \"http://127.0.0.1:9\"\n")
    let page = try daemon.get("/", host: "regent.localhost")
    #expect(page.status == 200)
    #expect(page.text.contains("/stats") && page.text.contains("shop"), "\(page.text)")
    #expect(try daemon.get("/nothing", host: "regent.localhost").status == 404)
    let client = try daemon.connect()
    try client.request("DELETE", "/stats", host: "regent.localhost")
    #expect(try client.response(to: "DELETE").status == 405)
  }
}
