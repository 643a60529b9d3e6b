// Interim responses of an origin on their way through (RFC 9110 section 15.2): as they come, to clients that know them,
// in order, in bounded number, and never into the store.

import Testing

@Suite("Interim responses")
struct InterimTests {
  private static let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-Test: yes\r\n"

  @Test(
    "100, 102 and 103 reach an HTTP/1.1 client with their fields, and the final response is stored without them"
  )
  func passThrough() throws {
    let stage = try Stage { _, connection in
      try connection.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n")
      try connection.send(Self.hints + "Connection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n\r\n")
      try connection.answer(200, ["Cache-Control: max-age=60"], "the body")
    }
    let client = try stage.daemon.connect()
    try client.request("GET", "/a")
    #expect(try client.head().startLine == "HTTP/1.1 100 Continue")
    #expect(try client.head().startLine == "HTTP/1.1 102 Processing")
    let hints = try client.head()
    #expect(hints.startLine == "HTTP/1.1 103 Early Hints")
    #expect(hints["Link"] == "</a.css>; rel=preload" && hints["X-Test"] == "yes")
    #expect(hints["X-Hop"] == nil && hints["Connection"] == nil && hints["Keep-Alive"] == nil)
    let final = try client.response()
    #expect(final.text == "the body" && final.interim.isEmpty && final["X-Test"] == nil)
    let hit = try client.get("/a")
    #expect(hit.isHit && hit.interim.isEmpty && hit["Link"] == nil)
  }

  @Test("each leaves before the final response is there", arguments: ["GET", "POST"])
  func atOnce(method: String) throws {
    let gate = Gate()
    let stage = try Stage { _, connection in
      try connection.send(Self.hints + "\r\n")
      try connection.readBody()
      try gate.wait()
      try connection.answer(200, ["Cache-Control: no-store"], "the body")
    }
    let client = try stage.daemon.connect()
    try client.send(
      "\(method) /a HTTP/1.1\r\nHost: localhost\r\n\(method == "POST" ? "Content-Length: 2\r\n" : "")\r\n")
    #expect(try client.head().startLine == "HTTP/1.1 103 Early Hints")
    if method == "POST" { try client.send("hi") }
    gate.open()
    #expect(try client.response().text == "the body")
  }

  @Test("none reaches an HTTP/1.0 client", arguments: [100, 102, 103])
  func http10(status: Int) throws {
    let stage = try Stage { _, connection in
      try connection.send("HTTP/1.1 \(status) Interim\r\nX-Test: yes\r\n\r\n")
      try connection.answer(200, ["Cache-Control: max-age=60"], "the body")
    }
    let client = try stage.daemon.connect()
    try client.send("GET /a HTTP/1.0\r\nHost: localhost\r\n\r\n")
    let text = try client.rest()
    #expect(text.hasPrefix("HTTP/1.1 200 ") && text.hasSuffix("\r\n\r\nthe body"), "\(text)")
    #expect(try stage.get("/a").isHit)
  }

  @Test("they stand behind the answers to the requests before theirs, and in front of their own")
  func pipelined() throws {
    let stage = try Stage { request, connection in
      if request.target == "/b" { try connection.send(Self.hints + "\r\n") }
      try connection.answer(200, ["Cache-Control: max-age=60"], request.target)
    }
    _ = try stage.get("/a")
    let client = try stage.daemon.connect()
    let (hit, miss) = (
      "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /b HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    try client.send(hit + hit + miss + hit)
    for (target, interim) in [("/a", []), ("/a", []), ("/b", [103]), ("/a", [])] as [(String, [Int])] {
      let response = try client.response()
      #expect(response.text == target && response.interim == interim, "\(response.head.raw)")
    }
  }

  @Test(
    "whoever asks to be invited is invited once, behind the answers before, also where the origin invites, too"
  )
  func invited() throws {
    let stage = try Stage { request, connection in
      if request.method == "POST" {
        try connection.send("HTTP/1.1 100 Continue\r\n\r\n")
        try connection.readBody()
      }
      try connection.answer(200, ["Cache-Control: max-age=60"], request.method)
    }
    _ = try stage.get("/a")
    let client = try stage.daemon.connect()
    try client.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
    try client.request("POST", "/a", ["Content-Length: 2", "Expect: 100-continue"])
    let first = try client.response()
    #expect(first.text == "GET" && first.interim.isEmpty)
    #expect(try client.head().startLine == "HTTP/1.1 100 Continue")
    try client.send("hi")
    let second = try client.response()
    #expect(second.text == "POST" && second.interim.isEmpty)
  }

  @Test(
    "an origin that sends too many, switches protocols unasked, or ends after one is a bad gateway",
    arguments: ["nine", "101", "ends", "ends on a used connection"])
  func bad(how: String) throws {
    let stage = try Stage { request, connection in
      guard request.target == "/a" else { return try connection.answer(200, ["Cache-Control: no-store"]) }
      switch how {
      case "nine": try connection.send(String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 9))
      case "101":
        try connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
      default: try connection.send("HTTP/1.1 103 Early Hints\r\n\r\n")
      }
      if !how.hasPrefix("ends") { try connection.answer(200, [], "never") }
      connection.close()
    }
    if how == "ends on a used connection" { _ = try stage.get("/warm") }
    let response = try stage.get("/a")
    #expect(response.status == 502 && response.interim.count <= 8, "\(response.head.raw)")
    #expect(stage.origin.count("/a") == 1)
  }

  @Test("eight are not too many")
  func eight() throws {
    let stage = try Stage { _, connection in
      try connection.send(String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 8))
      try connection.answer(200, ["Cache-Control: max-age=60"], "the body")
    }
    let response = try stage.get("/a")
    #expect(response.text == "the body" && response.interim == Array(repeating: 102, count: 8))
  }

  @Test("a client that is gone does not keep the final response from the store")
  func clientGone() throws {
    let (arrived, gate) = (Gate(), Gate())
    let stage = try Stage { request, connection in
      arrived.open()
      try gate.wait()
      try connection.send(Self.hints + "\r\n")
      try connection.answer(200, ["Cache-Control: max-age=60"], "\(request.number)")
    }
    let client = try stage.daemon.connect()
    try client.request("GET", "/a")
    try arrived.wait()
    client.socket.reset()
    gate.open()
    #expect(try eventually { try stage.get("/a").isHit })
  }
}
