// One fetch for all who ask for the same at once (TRUST section 2.2 and row D5), on the wire: what arrives is shared from
// its first byte, and what may not be shared holds nobody up.

import Foundation
import Testing

@Suite("One fetch for all who ask at once")
struct FlightTests {
  static let kept = "Cache-Control: max-age=600"

  @Test("500 clients for one slow object: the origin is asked once, and every byte is right")
  func herd() throws {
    let gate = Gate()
    let body = Pattern(for: "/slow").bytes(count: 100_000)
    let stage = try Stage { _, connection in
      try gate.wait()
      try connection.send("HTTP/1.1 200 OK\r\n\(Self.kept)\r\nContent-Length: \(body.count)\r\n\r\n")
      try connection.send(body)
    }
    let clients = try stage.crowd(500, "/slow")
    gate.open()
    var collapsed = 0
    for client in clients {
      let response = try client.response()
      #expect(response.status == 200 && isSame(response.body, body))
      if response.cacheStatus.contains("fwd=uri-miss; collapsed") { collapsed += 1 }
    }
    #expect(collapsed == 499 && stage.origin.requests.count == 1)
    let figures = try ["followers", "in-the-air"].map(stage.flight)
    #expect(figures == [499, 0])
    #expect(try stage.get("/slow").isHit)
  }

  @Test("who comes in the middle of a body gets its first bytes at once", arguments: [true, false])
  func middle(isChunked: Bool) throws {
    let gate = Gate()
    let body = Pattern(for: "/m").bytes(count: 300_000)
    let stage = try Stage { _, connection in
      let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
      try connection.send("HTTP/1.1 200 OK\r\n\(Self.kept)\r\n\(framing)\r\n\r\n")
      for half in [body.prefix(150_000), body.dropFirst(150_000)] {
        if isChunked { try connection.send(String(half.count, radix: 16) + "\r\n") }
        try connection.send(Array(half))
        if isChunked { try connection.send("\r\n") }
        if half.startIndex == 0 { try gate.wait() }
      }
      if isChunked { try connection.send("0\r\n\r\n") }
    }
    let first = try stage.daemon.connect()
    try first.request("GET", "/m")
    _ = try first.socket.receive()
    for _ in 0..<5 {
      let late = try stage.daemon.connect()
      try late.request("GET", "/m")
      var seen = 0
      _ = try? late.response { piece in
        seen += piece.count
        if seen >= 100_000 { throw SocketError.timeout }
      }
      #expect(seen >= 100_000, "nothing of the first half came before the second")
    }
    let later = try stage.daemon.connect()
    try later.request("GET", "/m")
    #expect(try eventually { try stage.flight("joined-late") == 6 })
    gate.open()
    let response = try later.response()
    #expect(isSame(response.body, body) && response.cacheStatus.contains("collapsed"))
    #expect(stage.origin.requests.count == 1)
    #expect(try eventually { try stage.get("/m").isHit })
  }

  @Test("the first client's leaving stops nothing", arguments: ["before the head", "in the body"])
  func leaving(when: String) throws {
    let gate = Gate()
    let body = Pattern(for: "/l").bytes(count: 3 << 20)
    let stage = try Stage { _, connection in
      if when == "before the head" { try gate.wait() }
      try connection.send("HTTP/1.1 200 OK\r\n\(Self.kept)\r\nContent-Length: \(body.count)\r\n\r\n")
      try connection.send(Array(body.prefix(1 << 20)))
      if when == "in the body" { try gate.wait() }
      try connection.send(Array(body.dropFirst(1 << 20)))
    }
    let leader = try stage.daemon.connect()
    try leader.request("GET", "/l")
    #expect(eventually { stage.origin.requests.count == 1 })
    let followers = try (0..<5).map { _ in
      let client = try stage.daemon.connect()
      try client.request("GET", "/l")
      return client
    }
    #expect(try stage.hasJoined(5))
    leader.socket.reset()
    gate.open()
    for follower in followers { #expect(isSame(try follower.response().body, body)) }
    #expect(stage.origin.requests.count == 1)
  }

  @Test(
    "an answer that may not be shared sends the others on at once and together, and its key queues no more",
    arguments: ["Cache-Control: private", "Cache-Control: no-store", "Set-Cookie: a=b", "X-Plain: yes"])
  func notShared(field: String) throws {
    let gates = (0..<2).map { _ in Gate() }
    let stage = try Stage { request, connection in
      try gates[request.number == 1 ? 0 : 1].wait()
      try connection.answer(200, [field], "own of \(request["X-User"] ?? "")")
    }
    let clients = try stage.crowd(20, "/own") { ["X-User: \($0)"] }
    gates[0].open()
    // All nineteen are at the origin before any of them is answered.
    #expect(eventually { stage.origin.count("/own") == 20 })
    // And so are those who come now: nobody waits for anybody.
    let more = try (20..<25).map { number in
      let client = try stage.daemon.connect()
      try client.request("GET", "/own", ["X-User: \(number)"])
      return client
    }
    #expect(eventually { stage.origin.count("/own") == 25 })
    gates[1].open()
    for (number, client) in (clients + more).enumerated() {
      let response = try client.response()
      #expect(response.text == "own of \(number)" && !response.cacheStatus.contains("collapsed"))
    }
    let figures = try ["released", "hit-for-miss-keys", "not-shared"].map(stage.flight)
    #expect(figures == [19, 1, 5])
  }

  @Test("those whom the answer's Vary does not select go on by themselves")
  func vary() throws {
    let gate = Gate()
    let stage = try Stage { request, connection in
      if request.number == 1 { try gate.wait() }
      let language = request["Accept-Language"] ?? ""
      try connection.answer(200, [Self.kept, "Vary: Accept-Language"], "in \(language)")
    }
    let clients = try stage.crowd(20, "/v") { ["Accept-Language: \($0 % 2 == 0 ? "de" : "en")"] }
    gate.open()
    let leads = stage.origin.requests[0]["Accept-Language"] == "de" ? 0 : 1
    for (number, client) in clients.enumerated() {
      let response = try client.response()
      #expect(response.text == "in \(number % 2 == 0 ? "de" : "en")")
      if number % 2 != leads { #expect(!response.cacheStatus.contains("collapsed")) }
    }
    #expect(try stage.flight("not-selected") == 10)
  }

  @Test("a request after an unsafe one to the same target does not get what was asked for before")
  func invalidation() throws {
    let gate = Gate()
    let version = Shared(1)
    let stage = try Stage { request, connection in
      if request.method == "POST" {
        version.increment()
        return try connection.answer(204)
      }
      let text = "version \(version.value)"
      if request.number == 1 { try gate.wait() }
      try connection.answer(200, [Self.kept], text)
    }
    let early = try stage.crowd(3, "/p")
    let poster = try stage.daemon.connect()
    try poster.request("POST", "/p", ["Content-Length: 0"])
    #expect(try poster.response(to: "POST").status == 204)
    #expect(try stage.get("/p").text == "version 2")
    gate.open()
    for client in early { #expect(try client.response().text == "version 1") }
    #expect(try stage.get("/p").text == "version 2")
    #expect(try stage.flight("in-the-air") == 0)
  }
}

extension Stage {
  /// A figure of /stats' `flights`.
  func flight(_ name: String) throws -> Int {
    try #require(try daemon.figures("flights")[name], "there is no such figure: \(name)")
  }

  /// Waits until so many requests have joined a fetch, at its start or later.
  func hasJoined(_ count: Int) throws -> Bool {
    try eventually { try flight("followers") + flight("joined-late") == count }
  }

  /// Sends a request on so many connections, and waits until one is at the origin and all others wait for it.
  func crowd(_ count: Int, _ target: String, _ fields: (Int) -> [String] = { _ in [] }) throws -> [Client] {
    let before = try flight("followers")
    let clients = try (0..<count).map { number in
      let client = try daemon.connect()
      try client.request("GET", target, fields(number))
      return client
    }
    #expect(try eventually { try flight("followers") - before == count - 1 })
    #expect(eventually { origin.count(target) == 1 })
    return clients
  }
}
