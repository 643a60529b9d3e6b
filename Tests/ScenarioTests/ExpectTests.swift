// Expect: 100-continue end to end (RFC 9110 section 10.1.1, TRUST.md A12): whoever can answer without the content does,
// the origin's word decides, and nobody waits for ever.

import Testing

@Suite("Expect")
struct ExpectTests {
  private static func post(_ client: Client, _ fields: [String] = ["Content-Length: 2"]) throws {
    try client.request("POST", "/a", fields + ["Expect: 100-continue"])
  }

  @Test("it goes to the origin with the head, the origin's 100 comes back, and only then the content goes")
  func endToEnd() throws {
    let (gate, arrived) = (Gate(), Gate())
    let stage = try Stage { _, connection in
      arrived.open()
      try gate.wait()
      #expect(!connection.socket.isReadable(within: 0))
      try connection.send("HTTP/1.1 100 Continue\r\n\r\n")
      try connection.answer(200, [], String(decoding: try connection.readBody(), as: UTF8.self))
    }
    let client = try stage.daemon.connect()
    try Self.post(client)
    try arrived.wait()
    // The content is there, and yet the origin has said nothing.
    try client.send("hi")
    #expect(!client.socket.isReadable(within: 200))
    gate.open()
    let answer = try client.response()
    #expect(answer.text == "hi" && answer.interim == [100])
    let asked = try #require(stage.origin.requests.first)
    #expect(asked["Expect"] == "100-continue" && asked["Content-Length"] == "2")
  }

  @Test(
    "a final answer in place of the 100 stops the upload before it begins", arguments: [200, 401, 413, 417])
  func refused(status: Int) throws {
    // Whoever waited that long for the origin's word would have hung.
    let stage = try Stage(set: [Setting.domain("expect-wait", "600s")], workers: 1) { request, connection in
      if request.method == "GET" { return try connection.answer(200, [], "on \(request.connection)") }
      try connection.answer(status, [], "no, thanks")
      #expect(try connection.receive().isEmpty)
      connection.close()
    }
    let client = try stage.daemon.connect()
    try Self.post(client, ["Content-Length: 100000"])
    let answer = try client.response()
    #expect(answer.status == status && answer.text == "no, thanks" && answer.interim.isEmpty)
    // Whether the content comes nevertheless is the client's secret: this connection can only end.
    #expect(answer["Connection"] == "close")
    #expect(try stage.get("/b").text == "on 2")
    #expect(stage.origin.garbage.isEmpty)
  }

  @Test(
    "an origin that says nothing for a second, or as long as its domain waits, gets the content all the same",
    arguments: ["2", "chunked"], [nil, 0, 300, 2000])
  func silent(length: String, wait: Int?) throws {
    let stage = try Stage(set: wait.map { [Setting.domain("expect-wait", "\($0)ms")] } ?? []) {
      _, connection in
      try connection.answer(200, [], String(decoding: try connection.readBody(), as: UTF8.self))
    }
    let client = try stage.daemon.connect()
    let isChunked = length == "chunked"
    let start = ContinuousClock.now
    try Self.post(client, [isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 2"])
    #expect(try client.head().startLine == "HTTP/1.1 100 Continue")
    // How long at most is the machine's affair; for ever would have been a hang.
    #expect(ContinuousClock.now - start >= .milliseconds(wait ?? 1000))
    try client.send(isChunked ? "2\r\nhi\r\n0\r\n\r\n" : "hi")
    let answer = try client.response()
    #expect(answer.text == "hi" && answer.interim.isEmpty)
  }

  @Test("the origin's late and its second 100 reach nobody who was invited already")
  func late() throws {
    let stage = try Stage { _, connection in
      let body = try connection.readBody()
      try connection.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
      try connection.answer(200, [], String(decoding: body, as: UTF8.self))
    }
    let client = try stage.daemon.connect()
    try Self.post(client)
    #expect(try client.head().startLine == "HTTP/1.1 100 Continue")
    try client.send("hi")
    let answer = try client.response()
    #expect(answer.text == "hi" && answer.interim.isEmpty)
  }

  @Test("said twice it is one; in an HTTP/1.0 request, and without content, it is none")
  func variations() throws {
    let stage = try Stage { request, connection in
      if request["Expect"] != nil { try connection.send("HTTP/1.1 100 Continue\r\n\r\n") }
      let body = try connection.readBody()
      try connection.answer(200, [], String(decoding: body, as: UTF8.self) + (request["Expect"] ?? ""))
    }
    let twice = try stage.daemon.connect()
    try Self.post(twice, ["Expect: 100-Continue", "Content-Length: 2"])
    #expect(try twice.head().startLine == "HTTP/1.1 100 Continue")
    try twice.send("hi")
    #expect(try twice.response().text == "hi100-continue")
    let old = try stage.daemon.connect()
    try old.send("POST /a HTTP/1.0\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi")
    #expect(try old.rest().hasSuffix("\r\n\r\nhi"))
    let empty = try stage.daemon.connect()
    try empty.request("POST", "/a", ["Content-Length: 0", "Expect: 100-continue"])
    let answer = try empty.response()
    #expect(answer.text.isEmpty && answer.interim.isEmpty && answer.status == 200)
  }

  @Test("a hit answers at once, and nobody is invited")
  func hit() throws {
    let stage = try Stage(set: [Setting.domain("expect-wait", "600s")]) { _, connection in
      try connection.answer(200, ["Cache-Control: max-age=60"], "stored")
    }
    _ = try stage.get("/a")
    let client = try stage.daemon.connect()
    let answer = try client.get("/a", ["Expect: 100-continue"])
    #expect(answer.isHit && answer.text == "stored" && answer.interim.isEmpty)
  }

  @Test(
    "what Regent refuses itself it refuses without inviting",
    arguments: [
      ("GET /stats", "regent.localhost", "x-rays", 417), ("POST /a", "localhost", "tea", 417),
      ("POST /a", "nobody.test", "100-continue", 421), ("TRACE /a", "localhost", "100-continue", 405),
      ("POST /stats", "regent.localhost", "100-continue", 405),
    ])
  func local(line: String, host: String, expectation: String, status: Int) throws {
    let stage = try Stage { _, connection in try connection.answer() }
    let client = try stage.daemon.connect()
    try client.send(
      "\(line) HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 5\r\nExpect: \(expectation)\r\n\r\n")
    let answer = try client.response()
    #expect(answer.status == status && answer.interim.isEmpty && answer["Connection"] == "close")
    #expect(stage.origin.requests.isEmpty)
  }

  @Test(
    "a client that was invited and sends nothing is let go of in time, and with it the origin's connection")
  func nothingComes() throws {
    let ended = Gate()
    let stage = try Stage(set: [Setting.bodyGrace("1s")], workers: 1) { request, connection in
      if request.method == "GET" { return try connection.answer(200, [], "still there") }
      try connection.send("HTTP/1.1 100 Continue\r\n\r\n")
      #expect(try connection.receive().isEmpty)
      ended.open()
      connection.close()
    }
    let client = try stage.daemon.connect()
    try Self.post(client)
    #expect(try client.head().startLine == "HTTP/1.1 100 Continue")
    #expect(try client.response().status == 408)
    try ended.wait()
    #expect(try stage.get("/b").text == "still there")
  }
}
