// The faults that an origin can make (issue 4, item 9): each has its status, its word, its counter; nothing of it is
// stored, and its connection is not used again.

import Testing

@Suite("Faults of origins")
struct FaultTests {
  @Test(
    "has its outcome and its counter, leaves nothing in the store, and costs its connection",
    arguments: Fault.allCases)
  func fault(_ fault: Fault) throws {
    let origin = try FaultyOrigin(seed: 1)
    let daemon = try Daemon.start(upstream: origin.url, workers: 1, set: FaultyOrigin.settings)
    let target = "/fault/\(fault.rawValue)/a"
    let client = try daemon.connect()
    try client.request("GET", target)
    switch fault.outcome {
    case .refused(let status):
      let answer = try client.response()
      #expect(answer.status == status && !answer.text.contains("evil"), "\(answer.head.raw)")
      #expect(answer["Proxy-Status"]?.contains("error=\(fault.word)") == true, "\(answer.head.raw)")
    case .cut: #expect(throws: (any Error).self) { try client.response() }
    case .good: #expect(isSame(try client.response().body, FaultyOrigin.content(of: target)))
    }
    // What lies behind a good answer is seen when the connection is looked at again.
    #expect(try eventually { try (daemon.figures("origins", "faults")[fault.reason] ?? 0) >= 1 })
    let faulty = Set(origin.requests.map(\.connection))
    origin.mend()
    let answer = try daemon.get(target)
    #expect(answer.status == 200 && isSame(answer.body, FaultyOrigin.content(of: target)))
    // What is good and may be kept may have been kept.
    if fault.outcome != .good {
      #expect(!answer.isHit)
      #expect(!faulty.contains(origin.requests.last?.connection ?? 0))
    }
    let next = try daemon.get("/good/b")
    #expect(isSame(next.body, FaultyOrigin.content(of: "/good/b")))
    #expect(!faulty.contains(origin.requests.last?.connection ?? 0))
  }

  @Test("a connection that is closed just as it is used again is named so, and the request is sent once more")
  func closedAsReused() throws {
    let stage = try Stage(workers: 1) { request, connection in
      if request.target == "/b", request.number == 1 { return connection.close() }
      try connection.answer(200, ["Cache-Control: no-store"], request.target)
    }
    #expect(try stage.get("/a").text == "/a")
    #expect(try stage.get("/b").text == "/b")
    #expect(stage.origin.count("/b") == 2)
    #expect(try stage.daemon.figures("origins", "faults") == ["closed-as-reused": 1])
  }

  @Test("what comes before the request is no answer to it")
  func speaksFirst() throws {
    let listener = try Listener()
    let speaking = Worker {
      while let socket = listener.accept() {
        try? socket.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".utf8))
        _ = try? socket.receive()
      }
    }
    // The handshake of the connection is over before the bytes are here: the first may slip through as an answer.
    let daemon = try Daemon.start(upstream: "http://127.0.0.1:\(listener.port)", workers: 1)
    let isSeen = try eventually {
      _ = try daemon.get("/a")
      return (try daemon.figures("origins", "faults")["unasked-bytes"] ?? 0) > 0
    }
    #expect(isSeen)
    listener.stop()
    try speaking.finish()
  }

  /// Origins that cannot be reached.
  struct Unreachable: Sendable {
    let url: String
    let status: Int
    let word: String
    let reason: String
  }

  @Test(
    "an origin that cannot be reached says why",
    arguments: [
      Unreachable(url: "http://nobody.invalid", status: 502, word: "dns_error", reason: "name-not-found"),
      Unreachable(
        url: "http://255.255.255.255", status: 502, word: "destination_unavailable", reason: "unreachable"),
      Unreachable(url: "", status: 502, word: "connection_refused", reason: "refused"),
    ])
  func unreachable(_ row: Unreachable) throws {
    let url = row.url.isEmpty ? "http://127.0.0.1:\(try Daemon.freePort())" : row.url
    let daemon = try Daemon.start(upstream: url, workers: 1)
    let answer = try daemon.get("/a")
    #expect(answer.status == row.status, "\(answer.head.raw)")
    #expect(answer["Proxy-Status"]?.contains("error=\(row.word)") == true, "\(answer.head.raw)")
    #expect((try daemon.figures("origins", "faults")[row.reason] ?? 0) >= 1)
  }

  @Test(
    "a response that never ends flows on until its client leaves, and then it is over for the origin, too")
  func endless() throws {
    let over = Gate()
    let stage = try Stage(workers: 1) { _, connection in
      try connection.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n\r\n")
      do { while true { try connection.send([UInt8](repeating: 0x78, count: 100_000)) } } catch {
        over.open()
      }
      connection.close()
    }
    let client = try stage.daemon.connect()
    try client.request("GET", "/a")
    _ = try client.head()
    _ = try client.receive(20 << 20)
    client.socket.reset()
    try over.wait()
  }

  @Test("a body that trickles passes byte by byte, as it comes")
  func trickles() throws {
    let gates = (0..<5).map { _ in Gate() }
    let stage = try Stage(set: [Setting.betweenBytes("2s")], workers: 1) { _, connection in
      try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
      for gate in gates {
        try gate.wait()
        try connection.send("x")
      }
    }
    let client = try stage.daemon.connect()
    try client.request("GET", "/a")
    _ = try client.head()
    for gate in gates {
      #expect(!client.socket.isReadable(within: 100))
      gate.open()
      #expect(try client.receive() == [0x78])
    }
  }

  @Test(
    "A13: any number of interim responses up to eight is passed on, more are a bad gateway; none is stored",
    arguments: [100, 102, 103], [0, 1, 7, 8, 9, 20, 50])
  func interim(status: Int, count: Int) throws {
    let stage = try Stage(workers: 1) { _, connection in
      // An interim response has no content, whatever it announces (RFC 9110 section 15.2).
      try connection.send(
        String(repeating: "HTTP/1.1 \(status) Interim\r\nContent-Length: 4\r\n\r\n", count: count))
      try connection.answer(200, ["Cache-Control: max-age=60"], "the body")
    }
    let answer = try stage.get("/a")
    #expect(answer.interim.count == min(count, 8) && Set(answer.interim).isSubset(of: [status]))
    #expect(answer.status == (count > 8 ? 502 : 200), "\(answer.head.raw)")
    let again = try stage.get("/a")
    #expect(again.isHit == (count <= 8) && (count > 8 || again.interim.isEmpty))
    #expect((try stage.daemon.figures("origins", "faults")["too-many-interim"] ?? 0 > 0) == (count > 8))
  }
}
