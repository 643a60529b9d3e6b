// Message framing on the client's side (TRUST.md section 1, classes A): each refused message is followed by a
// smuggled request, which must be neither answered nor seen by the origin, and the connection must end.

import TestKit
import Testing

@Suite("Framing of requests")
struct FramingTests {
  @Test(
    "a message that could be read in two ways is refused, and nothing after it is read",
    arguments: Refused.all)
  func refused(_ refused: Refused) throws {
    let stage = try Self.stage()
    for (row, message) in refused.messages.enumerated() {
      let client = try stage.daemon.connect()
      try client.offer(message + Refused.smuggled)
      let response = try client.response()
      #expect(
        refused.statuses.contains(response.status), "row \(row): \(message.debugDescription.prefix(300))")
      #expect(try client.rest().isEmpty, "row \(row): \(message.debugDescription.prefix(300))")
    }
    #expect(stage.origin.count("/smuggled") == 0)
    if refused.isRefusedByItsHead {
      #expect(stage.origin.requests.isEmpty, "\(stage.origin.requests.map(\.head.raw))")
    }
    #expect(try stage.get("/good").text == "/good")
  }

  @Test("a control byte anywhere in a head is refused, and the next request is not read (200 at random)")
  func mutated() throws {
    let seed = SeededGenerator.anySeed()
    print("seed of the mutated heads: \(seed)")
    var generator = SeededGenerator(seed: seed)
    let stage = try Self.stage()
    let head = Array(
      "GET /mutated HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nUser-Agent: kit\r\n\r\n".utf8)
    for round in 0..<200 {
      var bytes = head
      // Before the first byte and before the last, a line end would stand outside the head.
      let place = Int.random(in: 1..<(head.count - 1), using: &generator)
      let byte = [0, 1, 8, 10, 11, 12, 13, 27, 127].randomElement(using: &generator) ?? 0
      bytes.insert(UInt8(byte), at: place)
      let client = try stage.daemon.connect()
      try client.socket.send(bytes + Array(Refused.smuggled.utf8))
      let response = try client.response()
      #expect(response.status == 400, "seed \(seed), round \(round): byte \(byte) at \(place)")
      #expect(try client.rest().isEmpty, "seed \(seed), round \(round): byte \(byte) at \(place)")
    }
    #expect(stage.origin.requests.isEmpty)
  }

  @Test("trailers are dropped, whatever they name, and the next pipelined request is answered")
  func trailers() throws {
    let stage = try Self.stage()
    for name in ["Content-Length: 9", "Transfer-Encoding: chunked", "Host: evil", "Authorization: x", "X: y"]
    {
      let client = try stage.daemon.connect()
      try client.send("\(Refused.post)Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\(name)\r\n\r\n")
      try client.request("GET", "/next")
      #expect(try client.response().status == 200, "\(name)")
      #expect(try client.response().text == "/next", "\(name)")
    }
    #expect(stage.origin.requests.allSatisfy { $0["Host"]?.contains("evil") != true })
    #expect(stage.origin.garbage.isEmpty)
  }

  @Test(
    "a body that a stored response or an error does not need is never taken for a request",
    arguments: ["GET /stored", "POST /stats", "GET /stats", "TRACE /a", "PURGE /stored"])
  func bodyNotNeeded(_ start: String) throws {
    let stage = try Self.stage()
    _ = try stage.get("/stored")
    for isDribbled in [false, true] {
      let client = try stage.daemon.connect()
      let body = Refused.smuggled
      let host = start.hasSuffix("stats") ? "regent.localhost" : "localhost"
      try client.send("\(start) HTTP/1.1\r\nHost: \(host)\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
      // The daemon may answer and end before it has the whole body.
      do {
        for byte in body.utf8 where isDribbled { try client.socket.send([byte]) }
        if !isDribbled { try client.send(body) }
        try client.request("GET", "/after")
        client.socket.endSending()
      } catch SocketError.reset {}
      _ = try client.response()
      let rest = try client.rest()
      #expect(!rest.contains("/smuggled"))
      #expect(rest.isEmpty || rest.contains("/after"))
    }
    #expect(stage.origin.count("/smuggled") == 0)
  }

  @Test("an HTTP/1.0 request ends its connection, and bytes after it are not read")
  func oldVersion() throws {
    let stage = try Self.stage()
    let client = try stage.daemon.connect()
    try client.send("POST /old HTTP/1.0\r\nHost: localhost\r\n\r\n" + Refused.smuggled)
    #expect([200, 411].contains(try client.response().status))
    #expect(try client.rest().isEmpty)
    #expect(stage.origin.count("/smuggled") == 0)
  }

  @Test("pipelined requests are answered in order, also byte by byte")
  func pipelined() throws {
    let stage = try Self.stage()
    let client = try stage.daemon.connect()
    let targets = (0..<50).map { $0 % 3 == 0 ? "/stored" : "/p\($0)" }
    let all = targets.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined()
    try client.send(all)
    for target in targets { #expect(try client.response().text == target) }
    for byte in all.utf8 { try client.socket.send([byte]) }
    for target in targets { #expect(try client.response().text == target) }
  }

  /// Answers each request with its target; `/stored` may be stored.
  private static func stage() throws -> Stage {
    try Stage { request, connection in
      try connection.readBody()
      let life = request.target == "/stored" ? "max-age=60" : "no-store"
      try connection.answer(200, ["Cache-Control: \(life)"], request.target)
    }
  }
}
