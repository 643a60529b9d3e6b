// Switching protocols (RFC 9110 section 7.8, TRUST.md A10): what goes to the origin and when, which 101 makes a tunnel,
// and that everything else is an ordinary exchange.

import Testing

/// The messages that open a WebSocket, and other tunnels.
enum Opening {
  static func request(
    _ upgrade: String = "websocket", method: String = "GET", version: String = "1.1", _ fields: [String] = []
  ) -> String {
    let lines = [
      "\(method) /chat HTTP/\(version)", "Host: localhost", "Connection: Upgrade", "Upgrade: \(upgrade)",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
    ]
    return (lines + fields).joined(separator: "\r\n") + "\r\n\r\n"
  }

  static func answer(_ upgrade: String = "websocket", _ fields: [String] = []) -> String {
    let lines = [
      "HTTP/1.1 101 Switching Protocols", "Upgrade: \(upgrade)", "Connection: Upgrade",
      "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
    ]
    return (lines + fields).joined(separator: "\r\n") + "\r\n\r\n"
  }

  /// Sends back whatever comes, until the other side ends.
  static func echo(_ connection: OriginConnection) throws {
    while case let bytes = try connection.receive(), !bytes.isEmpty { try connection.send(bytes) }
    connection.close()
  }
}

@Suite("Upgrade")
struct UpgradeTests {
  @Test("a matching 101 makes a tunnel: the handshake's fields pass, then bytes of any kind both ways")
  func tunnel() throws {
    let stage = try Stage { _, connection in
      try connection.send(Opening.answer("websocket", ["Keep-Alive: 5", "X-Kept: 1"]) + "\u{1}early")
      try Opening.echo(connection)
    }
    let client = try stage.daemon.connect()
    try client.send(Opening.request("websocket", ["X-End: 1", "Sec-WebSocket-Protocol: chat"]))
    let answer = try client.response()
    #expect(answer.status == 101 && answer["Upgrade"] == "websocket" && answer["Connection"] == "Upgrade")
    #expect(answer["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" && answer["X-Kept"] == "1")
    #expect(
      answer["Keep-Alive"] == nil && answer["Content-Length"] == nil && answer["Transfer-Encoding"] == nil)
    #expect(try client.receive(6) == [1] + Array("early".utf8))
    let bytes = Pattern(for: "tunnel").bytes(count: 100_000)
    let socket = client.socket
    let sending = Worker { try socket.send(bytes) }
    #expect(isSame(try client.receive(bytes.count), bytes))
    try sending.finish()
    let asked = try #require(stage.origin.requests.first)
    #expect(asked["Upgrade"] == "websocket" && asked["Connection"] == "Upgrade" && asked["X-End"] == "1")
    #expect(asked["Sec-WebSocket-Key"] != nil && asked["Sec-WebSocket-Protocol"] == "chat")
    #expect(asked["Content-Length"] == nil && asked["Transfer-Encoding"] == nil)
  }

  @Test(
    "not one byte after the request's head reaches the origin before its 101, and all of them do behind it")
  func pipelined() throws {
    let (arrived, gate) = (Gate(), Gate())
    let stage = try Stage { _, connection in
      arrived.open()
      try gate.wait()
      #expect(!connection.socket.isReadable(within: 300))
      try connection.send(Opening.answer())
      #expect(try connection.receive(8) == Array("piperest".utf8))
      try connection.send("seen")
      try Opening.echo(connection)
    }
    let client = try stage.daemon.connect()
    try client.send(Opening.request() + "pipe")
    try arrived.wait()
    try client.send("rest")
    gate.open()
    #expect(try client.response().status == 101)
    #expect(try client.receive(4) == Array("seen".utf8))
  }

  @Test(
    "a page of another site gets none where it would speak with the owner's fields",
    arguments: [
      ("https://evil.test", true, 403), ("null", true, 403), ("http://localhost.evil.test", true, 403),
      ("http://LOCALHOST", true, 101), ("https://evil.test", false, 101), (nil, true, 101),
    ] as [(String?, Bool, Int)])
  func foreignPage(page: String?, isOwned: Bool, status: Int) throws {
    let stage = try Stage(set: isOwned ? ["domain.default.request-fields=X-Key: secret"] : []) {
      _, connection in
      try connection.send(Opening.answer())
    }
    let client = try stage.daemon.connect()
    try client.send(Opening.request("websocket", page.map { ["Origin: \($0)"] } ?? []))
    let answer = try client.response()
    #expect(answer.status == status)
    if status == 403 { #expect(stage.origin.requests.isEmpty && !answer.text.contains("secret")) }
  }

  @Test(
    "anything but 101 is an ordinary answer, and what was pipelined is the next request",
    arguments: [200, 400, 426, 503])
  func ordinary(status: Int) throws {
    let stage = try Stage(set: [Setting.retry("none")]) { request, connection in
      if request.target == "/next" { return try connection.answer(200, [], "next") }
      try connection.answer(
        status, ["Upgrade: websocket", "Connection: Upgrade", "Cache-Control: max-age=60"],
        "answer \(request.number)")
    }
    let client = try stage.daemon.connect()
    try client.send(Opening.request() + "GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n")
    let answer = try client.response()
    #expect(answer.status == status && answer.text == "answer 1" && answer["Connection"] == nil)
    #expect(try client.response().text == "next")
    #expect(stage.origin.requests.map(\.connection) == [1, 1])
    #expect(stage.origin.garbage.isEmpty)
    // What it says of upgrading is no answer for others.
    if status == 200 { #expect(try stage.get("/chat").text == "answer 2") }
  }

  @Test("a stored response does not answer an upgrade")
  func notFromTheStore() throws {
    let stage = try Stage { request, connection in
      guard request["Upgrade"] != nil else {
        return try connection.answer(200, ["Cache-Control: max-age=60"], "stored")
      }
      try connection.send(Opening.answer())
      try Opening.echo(connection)
    }
    _ = try stage.get("/chat")
    #expect(try stage.get("/chat").isHit)
    let client = try stage.daemon.connect()
    try client.send(Opening.request())
    #expect(try client.response().status == 101)
    #expect(try stage.get("/chat").isHit)
  }

  @Test(
    "an unsolicited or mismatched 101 is a bad gateway, and nothing behind it reaches the client",
    arguments: [
      Opening.answer("h2c"), Opening.answer("websocket, h2c"),
      Opening.answer("websocket", ["Content-Length: 4"]),
      Opening.answer("websocket", ["Transfer-Encoding: chunked"]),
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\n\r\n", Opening.answer().replacing("HTTP/1.1", with: "HTTP/1.0"),
    ])
  func mismatched(_ answer: String) throws {
    let stage = try Stage { request, connection in
      if request.target == "/next" { return try connection.answer(200, [], "next") }
      try connection.send(answer + "evilHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
    }
    let client = try stage.daemon.connect()
    try client.send(Opening.request())
    let refusal = try client.response()
    #expect(refusal.status == 502 && refusal["Proxy-Status"]?.contains("http_protocol_error") == true)
    #expect(try client.get("/next").text == "next")
    #expect(stage.origin.requests.map(\.connection) == [1, 2])
  }

  @Test(
    "a 101 that does not answer the client's key is a bad gateway of its own kind (RFC 6455 section 4.1)",
    arguments: [
      "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOO=", "Sec-WebSocket-Accept: dGhlIHNhbXBsZSBub25jZQ==",
      "Sec-WebSocket-Accept:", "X-None: 1", "Sec-WebSocket-Accept: S3PPLMBITXAQ9KYGZZHZRBK+XOO=",
      "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
    ])
  func wrongKey(_ field: String) throws {
    let accept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    let stage = try Stage { _, connection in
      try connection.send(Opening.answer().replacing(accept, with: field) + "evil")
    }
    let client = try stage.daemon.connect()
    try client.send(Opening.request())
    let refusal = try client.response()
    #expect(refusal.status == 502 && refusal.text.contains("Sec-WebSocket-Accept"), "\(refusal.text)")
    #expect(refusal["Proxy-Status"]?.contains("http_protocol_error") == true)
    #expect(try stage.daemon.figures("origins", "faults") == ["websocket-accept": 1])
    let tunnels = try stage.daemon.figures("tunnels")
    #expect(tunnels["open"] == 0 && tunnels["opened"] == 0)
  }

  @Test("a WebSocket without a key, or with two, is asked for as an ordinary request")
  func noKey() throws {
    let stage = try Stage { _, connection in try connection.answer(200, [], "ordinary") }
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    for keys in ["", key + key] {
      let client = try stage.daemon.connect()
      try client.send(Opening.request().replacing(key, with: keys))
      #expect(try client.response().text == "ordinary")
    }
    #expect(stage.origin.requests.count == 2 && stage.origin.requests.allSatisfy { $0["Upgrade"] == nil })
  }

  @Test("a 101 without any wish for one is a bad gateway")
  func unsolicited() throws {
    let stage = try Stage { _, connection in try connection.send(Opening.answer() + "evil") }
    #expect(try stage.get("/a").status == 502)
  }

  @Test(
    "what may not switch is asked as an ordinary request",
    arguments: [
      Opening.request("h2c"), Opening.request("tcp"), Opening.request(version: "1.0"),
      Opening.request("websocket", method: "POST", ["Content-Length: 0"]),
      Opening.request("websocket", ["Content-Length: 2"]) + "hi",
      Opening.request("websocket", ["Transfer-Encoding: chunked"]) + "0\r\n\r\n",
      Opening.request().replacing("Connection: Upgrade", with: "Connection: keep-alive"),
    ])
  func notForwarded(_ request: String) throws {
    let stage = try Stage { request, connection in
      #expect(request["Upgrade"] == nil && request["Connection"] == nil)
      try connection.readBody()
      try connection.answer(200, [], "ordinary")
    }
    let client = try stage.daemon.connect()
    try client.send(request)
    #expect(try client.response().text == "ordinary")
  }

  @Test("a domain may list other protocols, or none")
  func listed() throws {
    let origin = try Origin { request, connection in
      guard request["Upgrade"] == "tcp" else { return try connection.answer(200, [], "ordinary") }
      try connection.send(Opening.answer("tcp"))
      try Opening.echo(connection)
    }
    let daemon = try Daemon.start(
      config: """
        [[domain]]
        name = "docker"
        upstream = "\(origin.url)"
        upgrade = ["tcp"]
        [[domain]]
        name = "none"
        upstream = "\(origin.url)"
        upgrade = []
        """)
    for (host, protocols, status) in [
      ("docker", "tcp", 101), ("docker", "websocket", 200), ("none", "tcp", 200), ("none", "websocket", 200),
    ] {
      let client = try daemon.connect()
      try client.request(
        "POST", "/attach", host: "\(host).localhost", ["Connection: upgrade", "Upgrade: \(protocols)"])
      #expect(try client.response().status == status, "\(host) \(protocols)")
    }
  }

  @Test("CONNECT is refused, and what comes behind it is no tunnel")
  func connect() throws {
    let stage = try Stage { _, connection in try connection.answer(200, [], "never") }
    let client = try stage.daemon.connect()
    try client.send(
      "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"
    )
    #expect(try client.response().status == 405)
    #expect(stage.origin.requests.isEmpty)
  }
}
