// Bytes that one side owes the other when an exchange is over (TRUST.md A8, A9, A16): content that nobody needed, bodies
// where none may be. They are never taken for a message, on either side.

import Testing

@Suite("Owed bytes")
struct OwedBytesTests {
  private static let evil = "GET /evil HTTP/1.1\r\nHost: localhost\r\n\r\n"

  /// A request whose content looks like one more request.
  struct Unneeded: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let line: String
    var fields: [String] = []
    var host = "origin.localhost"
    let statuses: Set<Int>
  }

  @Test(
    "A8: content that the answer did not need is never a request, at once or dribbled",
    arguments: [
      Unneeded(testDescription: "hit", line: "GET /stored", statuses: [200]),
      Unneeded(
        testDescription: "304", line: "GET /stored", fields: ["If-None-Match: \"v\""], statuses: [200, 304]),
      Unneeded(
        testDescription: "416", line: "GET /stored", fields: ["Range: bytes=900-"], statuses: [200, 206, 416]),
      Unneeded(testDescription: "HEAD", line: "HEAD /stored", statuses: [200]),
      Unneeded(testDescription: "405", line: "PURGE /stored", statuses: [405]),
      Unneeded(testDescription: "421", line: "POST /a", host: "nobody.test", statuses: [421]),
      Unneeded(testDescription: "synthetic", line: "GET /canned", statuses: [200]),
      Unneeded(
        testDescription: "504", line: "GET /none", fields: ["Cache-Control: only-if-cached"], statuses: [504]),
      Unneeded(testDescription: "413", line: "POST /refused", statuses: [413]),
    ])
  func unneeded(_ row: Unneeded) throws {
    let origin = try Origin { request, connection in
      if request.target == "/refused" { return try connection.answer(413, [], "too large") }
      try connection.answer(200, ["Cache-Control: max-age=60", "ETag: \"v\""], request.target)
    }
    let daemon = try Daemon.start(
      config: """
        [[domain]]
        name = "origin"
        upstream = "\(origin.url)"
        [[domain.fixture]]
        path = "/canned"
        body = "canned"
        """)
    #expect(try daemon.get("/stored", host: "origin.localhost").text == "/stored")
    for isDribbled in [false, true] {
      let client = try daemon.connect()
      let fields = row.fields + ["Content-Length: \(Self.evil.utf8.count)"]
      let parts = row.line.split(separator: " ").map(String.init)
      try client.request(parts[0], parts[1], host: row.host, fields)
      // It may have answered and ended before all of it is there.
      do {
        for byte in Self.evil.utf8 where isDribbled { try client.socket.send([byte]) }
        if !isDribbled { try client.send(Self.evil) }
        try client.request("GET", "/after", host: "origin.localhost", ["Connection: close"])
      } catch SocketError.reset {}
      #expect(row.statuses.contains(try client.response(to: parts[0]).status))
      let rest = try client.rest()
      #expect(!rest.contains("/evil") && (rest.isEmpty || rest.hasSuffix("/after")), "\(rest)")
    }
    // An origin that answers before it has read the content may see its connection end in the midst of it.
    #expect(origin.count("/evil") == 0 && origin.garbage.allSatisfy { $0 == "cut" })
  }

  @Test(
    "A16: a body where none may be goes with its connection",
    arguments: [
      ("GET", "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil", 204),
      ("GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n", 204),
      ("POST", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nevil", 304),
      ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 200),
      ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n", 200),
      (
        "GET",
        "HTTP/1.1 302 Found\r\nLocation: /\r\nTransfer-Encoding: chunked,\r\n\r\n4\r\nevil\r\n0\r\n\r\n", 502
      ),
      ("GET", "HTTP/1.1 302 Found\r\nLocation: /\r\nTransfer-Encoding: xchunked\r\n\r\nevil", 502),
    ])
  func bodiless(method: String, answer: String, status: Int) throws {
    let stage = try Stage(workers: 1) { request, connection in
      if request.target == "/next" { return try connection.answer(200, ["Cache-Control: no-store"], "next") }
      try connection.send(answer)
    }
    let client = try stage.daemon.connect()
    for round in 1...3 {
      try client.request(method, "/a", method == "POST" ? ["If-Match: \"v\"", "Content-Length: 0"] : [])
      let response = try client.response(to: method)
      #expect(response.status == status && !response.text.contains("evil"), "\(response.head.raw)")
      #expect(try client.get("/next").text == "next")
      #expect(stage.origin.count("/next") == round)
    }
    let requests = stage.origin.requests
    for (one, next) in zip(requests, requests.dropFirst()) where one.target == "/a" {
      #expect(one.connection != next.connection)
    }
  }
}
