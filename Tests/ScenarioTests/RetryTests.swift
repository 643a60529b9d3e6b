// Requests that an origin fails and that are sent once more: which are, how often, after how long, and which never.

import Foundation
import Testing

/// Settings under which a repetition follows soon.
private let soon = [Setting.domain("retry-base", "10ms"), Setting.domain("retry-jitter", "10ms")]

@Suite("Repeating what an origin failed")
struct RetryTests {
  @Test(
    "a trouble that passes is not the client's",
    arguments: ["502", "503", "504", "reset", "close", "late"])
  func passing(trouble: String) throws {
    let stage = try Stage(set: soon + [Setting.firstByte("200ms")]) { request, connection in
      if request.number > 2 { return try connection.answer(200, [], "good") }
      switch trouble {
      case "reset": connection.reset()
      case "close": connection.close()
      case "late": _ = try? connection.socket.receive()
      default: try connection.answer(Int(trouble) ?? 0, ["Cache-Control: no-store"], "trouble")
      }
    }
    let response = try stage.get("/a")
    #expect(response.status == 200 && response.text == "good", "\(response.head.raw)")
    #expect(stage.origin.count("/a") == 3)
    #expect(try stage.daemon.figures("origins")["retries"] == 2)
  }

  @Test("as often as the domain says, and then its last answer is the client's")
  func lasting() throws {
    let cases: [([String], Int)] = [
      ([], 3), ([Setting.domain("retry-attempts", "2")], 2), ([Setting.retry("none")], 1),
    ]
    for (settings, attempts) in cases {
      let stage = try Stage(set: soon + settings) { request, connection in
        try connection.answer(503, ["X-Number: \(request.number)"], "trouble")
      }
      let response = try stage.get("/a")
      #expect(response.status == 503 && response.text == "trouble", "\(response.head.raw)")
      #expect(response["X-Number"] == "\(attempts)" && stage.origin.count("/a") == attempts)
    }
  }

  @Test(
    "what the origin asks for is waited for",
    arguments: [
      (503, "Retry-After: 1", 2), (429, "Retry-After: 1", 2), (429, "RateLimit: \"default\";r=0;t=1", 2),
      (429, "X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1", 2),
    ])
  func demanded(status: Int, field: String, count: Int) throws {
    let stage = try Stage(set: soon) { request, connection in
      if request.number > 1 { return try connection.answer(200, [], "good") }
      try connection.answer(status, [field], "trouble")
    }
    let before = ContinuousClock.now
    #expect(try stage.get("/a").text == "good")
    #expect(ContinuousClock.now - before >= .seconds(1))
    #expect(stage.origin.count("/a") == count)
  }

  @Test(
    "what is no passing trouble, or lasts too long, goes to the client as it is",
    arguments: [
      (429, ["X: y"]), (503, ["Retry-After: 60"]), (429, ["Retry-After: 60"]), (500, ["X: y"]),
      (404, ["Retry-After: 1"]), (503, ["Cache-Control: max-age=60"]),
    ])
  func notRepeated(status: Int, fields: [String]) throws {
    let stage = try Stage(set: soon) { _, connection in try connection.answer(status, fields, "trouble") }
    let response = try stage.get("/a")
    #expect(response.status == status && response.text == "trouble", "\(response.head.raw)")
    #expect(response["Retry-After"] == fields[0].wholeMatch(of: /Retry-After: (\d+)/).map { String($0.1) })
    #expect(stage.origin.count("/a") == 1)
  }

  @Test("an origin that refuses connections and listens a moment later is reached, POST or not")
  func refused() throws {
    for method in ["GET", "POST"] {
      let port = try Daemon.freePort()
      let daemon = try Daemon.start(
        upstream: "http://127.0.0.1:\(port)",
        set: [
          Setting.retry("linear"), Setting.domain("retry-base", "500ms"),
          Setting.domain("retry-attempts", "4"),
        ])
      let client = try daemon.connect()
      try client.send("\(method) /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello")
      #expect(!client.socket.isReadable(within: 200))
      let origin = try Origin(port: port) { _, connection in
        try connection.answer(200, [], String(decoding: connection.readBody(), as: UTF8.self))
      }
      #expect(try client.response(to: method).text == "hello")
      #expect(origin.count("/a") == 1)
    }
  }

  @Test("a POST that has left is never sent again", arguments: ["503", "reset", "close"])
  func post(trouble: String) throws {
    let stage = try Stage(set: soon) { request, connection in
      try connection.readBody()
      switch trouble {
      case "503": try connection.answer(503)
      case "reset": connection.reset()
      default: connection.close()
      }
    }
    for method in ["POST", "PATCH"] {
      let client = try stage.daemon.connect()
      try client.send("\(method) /\(method) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello")
      #expect(try client.response(to: method).status == (trouble == "503" ? 503 : 502))
      #expect(stage.origin.count("/\(method)") == 1)
    }
  }

  @Test(
    "a PUT's content is sent again byte for byte, chunked or not", arguments: ["503", "reset", "close"],
    [false, true])
  func put(trouble: String, isChunked: Bool) throws {
    let bodies = Shared<[[UInt8]]>([])
    let content = Pattern(for: "/put").bytes(count: 50_000)
    let stage = try Stage(set: soon) { request, connection in
      let body = try connection.readBody()
      bodies.update { $0.append(body) }
      if request.number > 2 { return try connection.answer(200, [], "good") }
      switch trouble {
      case "503": try connection.answer(503)
      case "reset": connection.reset()
      default: connection.close()
      }
    }
    let client = try stage.daemon.connect()
    let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(content.count)"
    try client.send("PUT /a HTTP/1.1\r\nHost: localhost\r\n\(framing)\r\n\r\n")
    for start in stride(from: 0, to: content.count, by: 10_000) {
      if isChunked { try client.send("2710\r\n") }
      try client.socket.send(Array(content[start..<start + 10_000]))
      if isChunked { try client.send("\r\n") }
    }
    if isChunked { try client.send("0\r\n\r\n") }
    let response = try client.response(to: "PUT")
    #expect(response.text == "good", "\(response.head.raw)")
    #expect(bodies.value.count == 3 && bodies.value.allSatisfy { isSame($0, content) })
    #expect(try stage.daemon.figures("origins")["kept-content-bytes"] == 0)
  }

  @Test("content that is too large to be kept is not sent again")
  func largePut() throws {
    let stage = try Stage(set: soon + [Setting.domain("retry-body", "1 KiB")]) { request, connection in
      try connection.readBody()
      try connection.answer(503)
    }
    let content = String(repeating: "x", count: 1025)
    let chunks = "400\r\n\(content.prefix(1024))\r\n1\r\nx\r\n0\r\n\r\n"
    for (target, framing, body) in [
      ("/length", "Content-Length: 1025", content), ("/chunked", "Transfer-Encoding: chunked", chunks),
    ] {
      let client = try stage.daemon.connect()
      try client.send("PUT \(target) HTTP/1.1\r\nHost: localhost\r\n\(framing)\r\n\r\n\(body)")
      #expect(try client.response(to: "PUT").status == 503)
      #expect(stage.origin.count(target) == 1)
    }
  }

  @Test("an origin that always fails is sent at most a tenth more, and a few (TRUST D7)")
  func budget() throws {
    let stage = try Stage(
      set: [
        Setting.domain("retry-base", "1ms"), Setting.domain("retry-jitter", "1ms"),
        Setting.domain("breaker", "false"),
      ]
    ) { _, connection in try connection.answer(503, ["Cache-Control: no-store"]) }
    try concurrently(8) { worker in
      let client = try stage.daemon.connect()
      for number in 0..<50 { #expect(try client.get("/\(worker)/\(number)").status == 503) }
    }
    #expect(stage.origin.requests.count <= 400 + 40 + 3 && stage.origin.requests.count > 410)
    let reasons = try stage.daemon.figures("origins", "not-retried")
    #expect(reasons["budget"] ?? 0 > 300, "\(reasons)")
  }

  @Test("a stale response that may answer does, at once, and nobody waits for a repetition")
  func stale() throws {
    let stage = try Stage(set: [
      Setting.domain("retry-base", "15s"), Setting.domain("retry-max-delay", "15s"),
    ]) { request, connection in
      if request.number == 1 {
        let fields = ["Cache-Control: max-age=10, stale-if-error=600", "Age: 60"]
        try connection.answer(200, fields + ["Connection: close"], "the body")
        return connection.close()
      }
      // The next one finds no connection to reuse, so that its end is a trouble of its own.
      if request.number % 2 == 0 { try connection.answer(503, ["Connection: close"], "trouble") }
      connection.close()
    }
    _ = try stage.get("/a")
    let before = ContinuousClock.now
    for _ in 0..<4 { #expect(try stage.get("/a").text == "the body") }
    #expect(ContinuousClock.now - before < .seconds(15))
    #expect(stage.origin.count("/a") == 5)
  }

  @Test("a client that has gone is not asked for once more, unless a store wants the answer")
  func left() throws {
    let stage = try Stage(
      set: [
        Setting.retry("linear"), Setting.domain("retry-base", "300ms"), Setting.domain("retry-attempts", "2"),
      ]
    ) { request, connection in
      if request.number > 1 { return try connection.answer(200, ["Cache-Control: max-age=60"], "good") }
      try connection.answer(503)
    }
    for (method, target) in [("DELETE", "/gone"), ("GET", "/stored")] {
      let client = try stage.daemon.connect()
      try client.request(method, target)
      #expect(eventually { stage.origin.count(target) == 1 })
      client.socket.reset()
    }
    #expect(eventually { stage.origin.count("/stored") == 2 })
    #expect(try eventually { try stage.get("/stored").isHit })
    #expect(stage.origin.count("/gone") == 1)
    let reasons = try stage.daemon.figures("origins", "not-retried")
    #expect(reasons["left"] == 1, "\(reasons)")
  }
}
