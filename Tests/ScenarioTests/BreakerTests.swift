// An origin that fails too often is left alone: nobody waits for it, what is stored answers, and it is found again.

import Foundation
import Testing

@Suite("An origin that is left alone")
struct BreakerTests {
  private static func settings(open: String) -> [String] {
    [
      Setting.retry("none"), Setting.domain("breaker-requests", "4"),
      Setting.domain("breaker-failures", "50"),
      Setting.domain("breaker-open", open),
    ]
  }

  private func health(_ daemon: Daemon) throws -> [String: Any] {
    let origins = try daemon.stats()["origins"] as? [String: Any]
    return (origins?["health"] as? [String: Any])?["default"] as? [String: Any] ?? [:]
  }

  @Test("answers 503 with Retry-After and stale responses, and is asked again when its time has passed")
  func outage() throws {
    let isDown = Shared(false)
    let stage = try Stage(set: Self.settings(open: "1s")) { request, connection in
      if isDown.value { return try connection.answer(503, ["Cache-Control: no-store"], "trouble") }
      let stored = ["Cache-Control: max-age=10, stale-if-error=600", "Age: 60"]
      try connection.answer(200, request.target == "/stored" ? stored : ["Cache-Control: no-store"], "good")
    }
    _ = try stage.get("/stored")
    isDown.update { $0 = true }
    var statuses: [Int] = []
    for number in 0..<20 { statuses.append(try stage.get("/\(number)").status) }
    #expect(statuses.allSatisfy { $0 == 503 })
    let asked = stage.origin.requests.count
    #expect(asked < 8, "\(asked)")
    let refusal = try stage.get("/more")
    #expect(refusal.status == 503 && ["1", "2"].contains(refusal["Retry-After"]), "\(refusal.head.raw)")
    #expect(refusal["Proxy-Status"]?.contains("error=destination_unavailable") == true)
    #expect(refusal.text.contains("The origin answered 503."), "\(refusal.text)")
    let stale = try stage.get("/stored")
    #expect(
      stale.status == 200 && stale.text == "good" && stale.cacheStatus.contains("stale"), "\(stale.head.raw)")
    #expect(stage.origin.requests.count == asked)
    #expect(try health(stage.daemon)["breaker"] as? String == "open")
    isDown.update { $0 = false }
    #expect(try eventually { try stage.get("/again").status == 200 })
    #expect(try stage.get("/again").status == 200)
    let found = try health(stage.daemon)
    #expect(found["breaker"] as? String == "closed" && found["openings"] as? Int ?? 0 >= 1)
    #expect(found["refusals"] as? Int ?? 0 >= 14)
    #expect(
      stage.daemon.log.contains("left alone") && stage.daemon.log.contains("answers again"),
      "\(stage.daemon.log)")
  }

  @Test("an origin that refuses connections is left alone too, and one that answers 404 or 500 is not")
  func kinds() throws {
    let daemon = try Daemon.start(
      upstream: "http://127.0.0.1:\(Daemon.freePort())", set: Self.settings(open: "1m"))
    let statuses = try (0..<10).map { _ in try daemon.get("/").status }
    #expect(statuses == Array(repeating: 502, count: 4) + Array(repeating: 503, count: 6))
    let stage = try Stage(set: Self.settings(open: "1m")) { request, connection in
      try connection.answer(request.number % 2 == 0 ? 404 : 500, ["Cache-Control: no-store"])
    }
    for _ in 0..<30 { #expect([404, 500].contains(try stage.get("/a").status)) }
    #expect(stage.origin.requests.count == 30)
  }

  @Test("a domain may do without")
  func off() throws {
    let stage = try Stage(set: Self.settings(open: "1m") + [Setting.domain("breaker", "false")]) {
      _, connection in
      try connection.answer(503, ["Cache-Control: no-store"])
    }
    for _ in 0..<30 { #expect(try stage.get("/a").status == 503) }
    #expect(stage.origin.requests.count == 30)
  }

  @Test(
    "an answer that breaks off within its body is a failure, by whatever it breaks off",
    arguments: ["closes", "resets", "chunked", "pauses"])
  func brokenBodies(how: String) throws {
    let stage = try Stage(set: Self.settings(open: "1m") + [Setting.betweenBytes("200ms")]) { _, connection in
      let framing = how == "chunked" ? "Transfer-Encoding: chunked" : "Content-Length: 100"
      try connection.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n\(framing)\r\n\r\n")
      try connection.send(how == "chunked" ? "64\r\nbeginning" : "beginning")
      switch how {
      case "resets": connection.reset()
      case "pauses": _ = try? connection.receive()
      default: connection.close()
      }
    }
    for _ in 0..<4 { #expect(throws: (any Error).self) { try stage.get("/a") } }
    let refusal = try stage.get("/a")
    #expect(refusal.status == 503 && stage.origin.requests.count == 4, "\(refusal.head.raw)")
    #expect(refusal.text.contains("The origin's response stopped before its end."), "\(refusal.text)")
    let health = try health(stage.daemon)
    #expect(health["breaker"] as? String == "open" && health["failures"] as? Int == 4)
  }

  @Test("a client that leaves in the middle of a body says nothing of the origin")
  func leaving() throws {
    let ended = Shared(0)
    let stage = try Stage(set: Self.settings(open: "1m")) { request, connection in
      guard request.target != "/good" else { return try connection.answer(200, [], "good") }
      try connection.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1000000000\r\n\r\n")
      let piece = [UInt8](repeating: 0x78, count: 100_000)
      // Until the daemon, whose client has gone, wants no more.
      do { while true { try connection.send(piece) } } catch {}
      ended.increment()
      connection.close()
    }
    for number in 0..<8 {
      let client = try stage.daemon.connect()
      try client.request("GET", "/\(number)")
      _ = try client.head()
      client.socket.reset()
    }
    #expect(eventually { ended.value == 8 })
    #expect(try stage.get("/good").text == "good")
    let health = try health(stage.daemon)
    #expect(health["breaker"] as? String == "closed" && health["failures"] as? Int == 0, "\(health)")
  }

  @Test("an origin that is kept waiting for longer than it may pause itself may leave")
  func keptWaiting() throws {
    let origin = Shared<Socket?>(nil)
    let stage = try Stage(set: Self.settings(open: "1m") + [Setting.betweenBytes("200ms")], workers: 1) {
      request, connection in
      guard request.target != "/good" else { return try connection.answer(200, [], "good") }
      origin.update { $0 = connection.socket }
      try connection.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1000000000\r\n\r\n")
      let piece = [UInt8](repeating: 0x78, count: 100_000)
      do { while true { try connection.send(piece) } } catch {}
      connection.close()
    }
    let client = try stage.daemon.connect(receiveBuffer: 4096)
    try client.request("GET", "/a")
    _ = try client.head()
    // It takes nothing for a second.
    let start = ContinuousClock.now
    #expect(eventually { ContinuousClock.now - start > .seconds(1) })
    origin.value?.hangUp()
    #expect(throws: (any Error).self) { while !(try client.receive().isEmpty) {} }
    #expect(try stage.get("/good").text == "good")
    let health = try health(stage.daemon)
    #expect(health["failures"] as? Int == 0, "\(health)")
    #expect(try stage.daemon.figures("origins", "faults") == ["body-cut": 1])
  }
}
