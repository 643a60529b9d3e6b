// Message framing on the origin's side (TRUST.md A9, A16 and the response half of A1 to A11): what an origin writes
// wrongly reaches no client, is never stored, and its connection is never used again.

import Testing

@Suite("Framing of responses")
struct OriginFramingTests {
  /// Heads that no response may have, each with bytes that a careless reader would take for a body.
  static let badHeads = [
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "HTTP/1.1 200 OK\r\nContent-Length: 3, 4\r\n\r\nabcd",
    "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length: 0x3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551619\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nA B: x\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nA: x\0y\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nA: x\r\n folded\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nA: x\ry\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc",
    "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/2.0 200 OK\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 20 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 2000 OK\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 099 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 +20 OK\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nabc",
    "garbage\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 70_000))\r\nContent-Length: 3\r\n\r\nabc",
  ]

  @Test("a malformed head gives 502, is not stored, and ends its connection", arguments: badHeads)
  func badHead(_ head: String) throws {
    let stage = try Stage { request, connection in
      if request.number > 1 || request.target == "/warm" { return try connection.answer(200, [], "good") }
      try connection.send(
        head.replacing(
          "\r\nContent-Length: 3\r\n\r\n", with: "\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\n\r\n")
      )
    }
    #expect(try stage.get("/warm").text == "good")
    #expect(try stage.get("/a").status == 502)
    #expect(try stage.get("/a").text == "good")
    let asked = stage.origin.requests.filter { $0.target == "/a" }
    #expect(asked.count == 2)
    #expect(asked.first?.connection != asked.last?.connection)
  }

  @Test(
    "a pooled connection that ends before any answer is tried again once on a new one; a new one gives 502")
  func endBeforeAnswer() throws {
    let stage = try Stage(set: [Setting.retry("none")], workers: 1) { request, connection in
      if request.target == "/first" || request.number > 1 { return try connection.answer(200, [], "good") }
      connection.close()
    }
    #expect(try stage.get("/new").status == 502)
    #expect(stage.origin.count("/new") == 1)
    #expect(try stage.get("/first").text == "good")
    #expect(try stage.get("/pooled").text == "good")
    #expect(stage.origin.count("/pooled") == 2)
    let client = try stage.daemon.connect()
    try client.send("POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx")
    #expect(try client.response().status == 502)
    #expect(stage.origin.count("/post") == 1)
  }

  /// Chunked bodies that are wrong somewhere after their good head.
  static let badChunks = [
    "0x3\r\nabc\r\n0\r\n\r\n", "+3\r\nabc\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n", "3\r\nabcX0\r\n\r\n",
    "3\nabc\r\n0\r\n\r\n",
    "3\r\nabc\n0\r\n\r\n", "FFFFFFFFFFFFFFFF\r\nabc", "FFFFFFFFFFFFFFFFF\r\nabc",
    "3;a\nb\r\nabc\r\n0\r\n\r\n",
    "3\r\nabc\r\n0\r\nX: y\n\r\n", "3\r\nabc\r\n0\r\n: y\r\n\r\n", "3\r\nabc\r\n\r\n",
  ]

  @Test("a malformed chunk never ends cleanly at the client and is never stored", arguments: badChunks)
  func badChunk(_ body: String) throws {
    let stage = try Stage { request, connection in
      if request.number > 1 { return try connection.answer(200, [], "good") }
      try connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
    }
    #expect(try Self.isBroken { try stage.get("/a") })
    #expect(try stage.get("/a").text == "good")
    let asked = stage.origin.requests
    #expect(asked.count == 2 && asked.first?.connection != asked.last?.connection)
  }

  /// Responses with more bytes than they announce: the rest must never be taken for a response.
  static let extra = [
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngoodX",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngoodHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    "HTTP/1.1 204 No Content\r\nX: y\r\n\r\nevil",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nevil",
  ]

  @Test("bytes after a response are dropped with their connection", arguments: extra)
  func extraBytes(_ answer: String) throws {
    let stage = try Stage { request, connection in
      if request.target == "/extra" { return try connection.send(answer) }
      try connection.answer(200, ["Cache-Control: no-store"], "next")
    }
    let client = try stage.daemon.connect()
    for _ in 0..<5 {
      let response = try client.get("/extra")
      // A 304 that nobody asked for is a bad gateway besides.
      #expect(response.body.isEmpty || response.text == "good" || response.status == 502)
      #expect(!response.text.contains("evil"))
      #expect(try client.get("/next").text == "next")
    }
    let requests = stage.origin.requests
    for pair in zip(requests, requests.dropFirst()) where pair.0.target == "/extra" {
      #expect(pair.0.connection != pair.1.connection)
    }
  }

  @Test("the body that a HEAD's answer wrongly brings is dropped with its connection")
  func bodyOfHead() throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: no-store"], request.method == "HEAD" ? "evil" : "next")
    }
    let client = try stage.daemon.connect()
    for _ in 0..<5 {
      try client.request("HEAD", "/a")
      #expect(try client.response(to: "HEAD").status == 200)
      #expect(try client.get("/b").text == "next")
    }
  }

  @Test("an answer that comes before the request's body is complete ends the origin's connection")
  func earlyAnswer() throws {
    let stage = try Stage { request, connection in
      if request.method == "POST" {
        try connection.answer(413, [], "too much")
        connection.close()
      } else {
        try connection.answer(200, ["Cache-Control: no-store"], request.target)
      }
    }
    let client = try stage.daemon.connect()
    try client.send("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc")
    let status = try client.response().status
    #expect([413, 502].contains(status))
    try client.offer(String(repeating: "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 20))
    _ = try? client.rest()
    #expect(try stage.get("/b").text == "/b")
    #expect(stage.origin.count("/smuggled") == 0)
  }

  /// Whether a request ended in an error that the client can see.
  static func isBroken(_ request: () throws -> Response) throws -> Bool {
    do {
      return try request().status == 502
    } catch WireError.cut, SocketError.reset {
      return true
    }
  }
}
