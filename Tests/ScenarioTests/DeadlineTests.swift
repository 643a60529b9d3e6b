// The deadlines of a request at its origin: each has its status and its words.

import Testing

@Suite("Deadlines at an origin")
struct DeadlineTests {
  private static let once = Setting.retry("none")

  private func expect(_ response: Response, _ status: Int, _ word: String, _ sentence: String) {
    #expect(response.status == status, "\(response.head.raw)")
    #expect(response["Proxy-Status"]?.contains("error=\(word)") == true, "\(response.head.raw)")
    #expect(response.text.contains(sentence), "\(response.text)")
  }

  @Test("a connection that is not accepted is 504 connection_timeout")
  func connecting() throws {
    // Nobody accepts, and the queue is full: the kernel lets the daemon's connection wait.
    let listener = try Listener(backlog: 0)
    let first = try Socket(port: listener.port)
    let daemon = try Daemon.start(
      upstream: "http://127.0.0.1:\(listener.port)", set: [Self.once, "timeouts.connect=300ms"])
    expect(try daemon.get("/"), 504, "connection_timeout", "did not accept the connection in time")
    first.close()
  }

  @Test("a TLS handshake that does not end is 504 connection_timeout, with words of its own")
  func handshake() throws {
    let listener = try Listener()
    let daemon = try Daemon.start(
      upstream: "https://127.0.0.1:\(listener.port)", set: [Self.once, "timeouts.tls-handshake=300ms"])
    expect(try daemon.get("/"), 504, "connection_timeout", "the TLS handshake did not end in time")
  }

  @Test("an answer that does not begin, or whose head does not end, is 504 http_response_timeout (TRUST D8)")
  func firstByte() throws {
    let stage = try Stage(set: [Self.once, Setting.firstByte("300ms")]) { request, connection in
      if request.target == "/half" { try connection.send("HTTP/1.1 200 OK\r\nContent-Le") }
      if request.target == "/drip" {
        try connection.send("HTTP/1.1 200 OK\r\nX: ")
        while !connection.socket.isReadable(within: 20) { try connection.send("x") }
      }
      _ = try? connection.socket.receive()
    }
    for target in ["/none", "/half", "/drip"] {
      expect(try stage.get(target), 504, "http_response_timeout", "did not answer in time")
    }
  }

  @Test("over all attempts lies the request's own: 504 http_response_timeout, with words of its own")
  func request() throws {
    let settings = [
      "timeouts.request=700ms", Setting.firstByte("200ms"), Setting.domain("retry-base", "10ms"),
      Setting.domain("retry-jitter", "10ms"), Setting.domain("retry-attempts", "50"),
    ]
    let stage = try Stage(set: settings) { _, connection in
      _ = try? connection.socket.receive()
    }
    let response = try stage.get("/a")
    // Some repetitions fit in, and none begins behind its end.
    #expect(response.status == 504 && 2...5 ~= stage.origin.count("/a"), "\(response.head.raw)")
    let single = try Stage(set: ["timeouts.request=300ms"]) { _, connection in
      _ = try? connection.socket.receive()
    }
    expect(try single.get("/a"), 504, "http_response_timeout", "The time for this request passed")
    #expect(single.origin.count("/a") == 1)
  }

  @Test("the request's own deadline lies over connecting and the TLS handshake as well")
  func requestWhileConnecting() throws {
    let full = try Listener(backlog: 0)
    let first = try Socket(port: full.port)
    let silent = try Listener()
    for upstream in ["http://127.0.0.1:\(full.port)", "https://127.0.0.1:\(silent.port)"] {
      let daemon = try Daemon.start(
        upstream: upstream,
        set: ["timeouts.request=300ms", "timeouts.connect=15s", "timeouts.tls-handshake=15s"])
      let before = ContinuousClock.now
      expect(try daemon.get("/"), 504, "http_response_timeout", "The time for this request passed")
      #expect(ContinuousClock.now - before < .seconds(12))
    }
    first.close()
  }

  @Test(
    "a body that pauses, or never ends, is cut and not stored (TRUST D8)",
    arguments: ["between-bytes", "response"])
  func body(deadline: String) throws {
    let stage = try Stage(set: ["timeouts.\(deadline)=500ms"]) { request, connection in
      if request.number > 1 { return try connection.answer(200, ["Cache-Control: max-age=60"], "good") }
      try connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 1000000\r\n\r\n")
      while deadline == "response" {
        try connection.send("x")
        if connection.socket.isReadable(within: 50) { break }
      }
      _ = try? connection.socket.receive()
    }
    let client = try stage.daemon.connect()
    try client.request("GET", "/a")
    #expect(throws: (any Error).self) { try client.response() }
    #expect(try stage.get("/a").text == "good")
  }
}
