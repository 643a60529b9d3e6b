// Origins behind an outgoing proxy: a tunnel for https, whole targets for http, and nothing in clear before TLS.

import Foundation
import TestKit
import Testing

@Suite("An outgoing proxy")
struct OutgoingProxyScenarios {
  /// A proxy that opens tunnels to one port, whatever it is asked for, and notes what that was.
  private final class Tunnels: Sendable {
    let listener: Listener
    let asked = Shared<[String]>([])

    /// `answer` stands in for "200 Connection established" and its end of head.
    init(to port: UInt16, answer: String = "HTTP/1.1 200 Yes\r\n\r\n") throws {
      listener = try Listener()
      _ = Worker { [listener, asked] in
        while let client = listener.accept() {
          let head = try MessageReader(client).head()
          asked.update { $0.append(head?.raw ?? "") }
          let server = try Socket(port: port)
          try client.send(Array(answer.utf8))
          _ = Worker { try Self.pass(from: client, to: server) }
          _ = Worker { try Self.pass(from: server, to: client) }
        }
      }
    }

    deinit { listener.stop() }

    private static func pass(from source: Socket, to target: Socket) throws {
      while true {
        let bytes = try source.receive()
        if bytes.isEmpty { return target.endSending() }
        try target.send(bytes)
      }
    }
  }

  @Test("https goes through a tunnel, and the certificate is the origin's own to show")
  func tunnel() throws {
    let authority = try Authority()
    let nginx = try Nginx(certificate: try authority.leaf(for: "api.test"))
    try nginx.put("a", Array("data".utf8))
    let proxy = try Tunnels(to: nginx.port)
    let daemon = try Daemon.start(
      upstream: "https://api.test:4443", workers: 1,
      set: ["domain.default.proxy=http://user:hush@127.0.0.1:\(proxy.listener.port)"],
      environment: authority.trust)
    for target in ["/a", "/a?2"] { #expect(try daemon.get(target).text == "data") }
    let asked = proxy.asked.value
    #expect(asked.count == 1, "a tunnel is used again")
    #expect(asked[0].hasPrefix("CONNECT api.test:4443 HTTP/1.1\r\nHost: api.test:4443\r\n"), "\(asked)")
    #expect(asked[0].contains("Proxy-Authorization: Basic dXNlcjpodXNo\r\n"))
    let wrong = try Daemon.start(
      upstream: "https://other.test", set: ["domain.default.proxy=http://127.0.0.1:\(proxy.listener.port)"],
      environment: authority.trust)
    #expect(try wrong.get("/a")["Proxy-Status"]?.contains("error=tls_certificate_error") == true)
    let stats = try daemon.get("/stats", host: "regent.localhost").text
    #expect(!stats.contains("hush") && !daemon.log.contains("hush"))
  }

  @Test(
    "a proxy that refuses, breaks off or talks in clear behind its answer gets nothing and gives nothing",
    arguments: [
      "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 Yes\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
      "HTTP/1.1 200 Yes\r\nContent-Length: 4\r\n\r\nevil",
      "HTTP/1.1 302 Go\r\nLocation: http://evil.test\r\n\r\n", "garbage\r\n\r\n",
    ])
  func refusal(answer: String) throws {
    let authority = try Authority()
    let nginx = try Nginx(certificate: try authority.leaf(for: "api.test"))
    try nginx.put("a", Array("data".utf8))
    let proxy = try Tunnels(to: nginx.port, answer: answer)
    let daemon = try Daemon.start(
      upstream: "https://api.test", set: ["domain.default.proxy=http://127.0.0.1:\(proxy.listener.port)"],
      environment: authority.trust)
    let response = try daemon.get("/a")
    #expect(response.status == 502 && !response.text.contains("evil"), "\(response.head.raw)")
    let status = response["Proxy-Status"] ?? ""
    #expect(status.contains("destination_unavailable") || status.contains("tls_protocol_error"), "\(status)")
    #expect(contents(of: nginx.folder.path("access.log")).isEmpty)
  }

  @Test("http goes to the proxy itself, with whole targets, as the environment says")
  func absolute() throws {
    let proxy = try Origin { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=60"], request.head.raw)
    }
    let daemon = try Daemon.start(
      upstream: "http://api.test:81/v1", set: ["domain.default.request-query=k=v"],
      environment: ["http_proxy": "http://user@127.0.0.1:\(proxy.port)", "no_proxy": "other.test"])
    let text = try daemon.get("/a?b").text
    #expect(text.hasPrefix("GET http://api.test:81/v1/a?b&k=v HTTP/1.1\r\nHost: api.test:81\r\n"), "\(text)")
    #expect(text.contains("Proxy-Authorization: Basic dXNlcjo=\r\n"))
    #expect(try daemon.get("/a?b").isHit)
    let other = try Daemon.start(
      upstream: "http://127.0.0.1:\(proxy.port)", environment: ["http_proxy": "http://127.0.0.1:1"])
    #expect(try other.get("/x").text.hasPrefix("GET /x "))
  }
}

@Suite("An outgoing proxy that speaks TLS itself")
struct SecureProxyScenarios {
  @Test("carries the origin's own TLS within its own, however long the bodies are, and is used again")
  func tunnel() throws {
    let authority = try Authority()
    let nginx = try Nginx(certificate: try authority.leaf(for: "api.test"))
    let body = Pattern(for: "/long").bytes(count: 5_000_000)
    try nginx.put("long", body)
    try nginx.put("a", Array("data".utf8))
    let proxy = try SecureProxy(to: nginx.port, certificate: try authority.leaf(for: "localhost"))
    let daemon = try Daemon.start(
      upstream: "https://api.test:4443", workers: 1,
      set: [
        "domain.default.proxy=https://user:hush@localhost:\(proxy.port)",
        Setting.domain("policy", "network-only"),
      ], environment: authority.trust)
    for _ in 0..<3 {
      #expect(isSame(try daemon.get("/long").body, body))
      #expect(try daemon.get("/a").text == "data")
    }
    let asked = proxy.asked
    #expect(asked.hasPrefix("CONNECT api.test:4443 HTTP/1.1\r\nHost: api.test:4443\r\n"), "\(asked)")
    #expect(asked.contains("Proxy-Authorization: Basic dXNlcjpodXNo\r\n"))
    #expect(asked.components(separatedBy: "CONNECT").count == 2, "a tunnel is used again: \(asked)")
    #expect(try daemon.figures("origins", "faults") == [:])
  }

  @Test("passes uploads on, and tunnels of the client's own")
  func upload() throws {
    let authority = try Authority()
    let server = try WebSocketServer(certificate: try authority.leaf(for: "localhost"))
    let proxy = try SecureProxy(to: server.port, certificate: try authority.leaf(for: "localhost"))
    let daemon = try Daemon.start(
      upstream: server.url, set: ["domain.default.proxy=https://localhost:\(proxy.port)"],
      environment: authority.trust)
    let said = try runWebSocketClient(daemon)
    #expect(said.contains("frames of 1 MiB both ways at once") && said.hasSuffix("closed by the server\n"))
  }

  @Test("gets whole targets for http, in its own TLS")
  func absolute() throws {
    let authority = try Authority()
    let proxy = try SecureProxy(to: 1, certificate: try authority.leaf(for: "localhost"))
    let daemon = try Daemon.start(
      upstream: "http://api.test:81", workers: 1,
      set: ["domain.default.proxy=https://localhost:\(proxy.port)"], environment: authority.trust)
    for target in ["/a", "/b"] {
      #expect(try daemon.get(target).text.hasPrefix("GET http://api.test:81\(target) HTTP/1.1\r\n"))
    }
    #expect(try daemon.figures("origins")["opened"] == 1)
  }

  @Test(
    "is believed by its own certificate only, and its fault is not the origin's",
    arguments: ["name", "trust", "plain"])
  func certificate(how: String) throws {
    let authority = try Authority()
    let nginx = try Nginx(certificate: try authority.leaf(for: "localhost"))
    try nginx.put("a", Array("data".utf8))
    let own = try how == "trust" ? Authority().leaf(for: "localhost") : authority.leaf(for: "other.test")
    let proxy = try SecureProxy(to: nginx.port, certificate: own)
    let plain = try Nginx()
    let daemon = try Daemon.start(
      upstream: nginx.url,
      set: [
        "domain.default.proxy=https://localhost:\(how == "plain" ? plain.port : proxy.port)",
        Setting.retry("none"),
      ], environment: authority.trust)
    let answer = try daemon.get("/a")
    #expect(answer.status == 502 && answer.text.contains("outgoing proxy"), "\(answer.text)")
    #expect(answer["Proxy-Status"]?.contains("destination_unavailable") == true)
    #expect(proxy.asked.isEmpty && contents(of: nginx.folder.path("access.log")).isEmpty)
  }
}

@Suite("Checks of an origin's addresses")
struct OriginHealthScenarios {
  @Test("an address that answers its check badly gets no requests until it answers well")
  func checks() throws {
    let isWell = Shared(false)
    let origins = try (0..<2).map { number in
      try Origin { request, connection in
        if request.target == "/health" {
          return try connection.answer(number == 1 || isWell.value ? 204 : 503)
        }
        try connection.answer(200, ["Cache-Control: no-store"], "\(number)")
      }
    }
    let daemon = try Daemon.start(
      config: """
        [[domain]]
        name = "many"
        default = true
        upstream = ["\(origins[0].url)", "\(origins[1].url)"]
        health-path = "/health"
        health-interval = "20ms"
        request-fields = ["X-Key: k"]
        """, workers: 1)
    let client = try daemon.connect()
    _ = try client.get("/a")
    #expect(eventually { origins[0].count("/health") > 1 })
    for _ in 0..<6 { #expect(try client.get("/a").text == "1") }
    isWell.update { $0 = true }
    #expect(try eventually { try client.get("/a").text == "0" })
    let check = try #require(origins[0].requests.first { $0.target == "/health" })
    #expect(
      check["X-Key"] == "k" && check["Host"] == "127.0.0.1:\(origins[0].port)"
        && check["Connection"] == "close")
    #expect(daemon.stop() == .status(0))
  }
}
