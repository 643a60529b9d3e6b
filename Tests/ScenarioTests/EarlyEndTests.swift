// Bodies that end too early: the client's connection is cut so that it can tell, nothing is stored, and the next
// request asks the origin again.

import Testing

@Suite("Bodies that break off")
struct EarlyEndTests {
  /// How an origin may announce a body, and how it may fail to deliver it.
  struct Break: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let head: String
    let start: String
    let isReset: Bool

    static let all = [
      Break(
        testDescription: "Content-Length, closed", head: "Content-Length: 9000", start: "", isReset: false),
      Break(testDescription: "Content-Length, reset", head: "Content-Length: 9000", start: "", isReset: true),
      Break(testDescription: "between chunks, closed", head: chunked, start: "1388\r\n", isReset: false),
      Break(testDescription: "in a chunk, closed", head: chunked, start: "2000\r\n", isReset: false),
      Break(testDescription: "in a chunk, reset", head: chunked, start: "2000\r\n", isReset: true),
      Break(
        testDescription: "delimited by the end, reset", head: "Connection: close", start: "", isReset: true),
    ]
    private static let chunked = "Transfer-Encoding: chunked"
  }

  @Test("an early end cuts the client's connection and leaves nothing in the store", arguments: Break.all)
  func early(_ kind: Break) throws {
    let gate = Gate()
    let body = String(repeating: "x", count: 5000)
    let stage = try Stage { request, connection in
      if request.number > 1 { return try connection.answer(200, [], "whole") }
      try connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\(kind.head)\r\n\r\n\(kind.start)\(body)")
      if kind.start == "1388\r\n" { try connection.send("\r\n") }
      try gate.wait()
      if kind.isReset { connection.reset() } else { connection.close() }
    }
    let client = try stage.daemon.connect()
    try client.request("GET", "/a")
    let received = Shared(0)
    #expect(throws: (any Error).self) {
      try client.response { piece in
        // All that the origin sent came through before it broke off: the daemon streams.
        if received.increment(by: piece.count) == 5000 { gate.open() }
      }
    }
    #expect(received.value == 5000)
    #expect(try client.rest().isEmpty)
    let next = try stage.get("/a")
    #expect(next.text == "whole" && !next.isHit)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test("a broken revalidation behind a stale answer does not replace what is stored by less than all of it")
  func brokenRevalidation() throws {
    let stage = try Stage { request, connection in
      if request.number == 1 {
        try connection.answer(
          200, ["Cache-Control: max-age=1, stale-while-revalidate=600", "Age: 60"], "whole")
      } else {
        try connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nha")
        connection.close()
      }
    }
    for _ in 0..<5 { #expect(try stage.get("/a").text == "whole") }
    #expect(eventually { stage.origin.requests.count > 1 })
    for _ in 0..<5 { #expect(try stage.get("/a").text == "whole") }
  }

  @Test("a client that goes away in mid-body harms nobody and leaves nothing half in the store")
  func clientLeaves() throws {
    let body = String(decoding: repeatElement(UInt8(ascii: "y"), count: 2_000_000), as: UTF8.self)
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=60"], body)
    }
    for _ in 0..<20 {
      let client = try stage.daemon.connect()
      try client.request("GET", "/a")
      _ = try client.socket.receive(upTo: 1000)
      client.socket.reset()
    }
    #expect(try stage.get("/a").text == body)
    #expect(stage.daemon.isRunning)
  }
}
