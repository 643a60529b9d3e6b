// Clients that leave while their requests wait to be sent once more: nobody waits on for them, unless a store or others
// want the answer.

import Foundation
import Testing

@Suite("A client that leaves while its request waits to be repeated")
struct LeavingTests {
  /// One repetition, after so long.
  private static func delay(_ time: String) -> [String] {
    [
      Setting.retry("linear"), Setting.domain("retry-base", time), Setting.domain("retry-max-delay", time),
      Setting.domain("retry-attempts", "2"), Setting.domain("retry-budget", "100"),
    ]
  }

  /// Fails the first request for each target but those that begin with "/more".
  private static func stage(_ time: String, workers: Int = 2) throws -> Stage {
    try Stage(set: delay(time), workers: workers) { request, connection in
      try connection.readBody()
      if request.number > 1 || request.target.hasPrefix("/more") {
        return try connection.answer(200, [FlightTests.kept], "good")
      }
      try connection.answer(503)
    }
  }

  private func figures(_ daemon: Daemon) throws -> (left: Int, open: Int) {
    let stats = try daemon.stats()
    let reasons = (stats["origins"] as? [String: Any])?["not-retried"] as? [String: Int]
    return (reasons?["left"] ?? 0, (stats["connections"] as? [String: Int])?["open"] ?? -1)
  }

  @Test(
    "ends it at once, however it leaves, and leaves nothing behind",
    arguments: ["closes", "resets", "closes behind more", "resets behind more", "ends its side"])
  func atOnce(how: String) throws {
    let stage = try Self.stage("100s")
    for (number, method) in ["DELETE", "PUT", "HEAD", "GET"].enumerated() {
      let client = try stage.daemon.connect()
      let content = method == "PUT" ? ["Content-Length: 2"] : []
      try client.request(method, "/\(method)", content + ["Cache-Control: no-store"])
      if method == "PUT" { try client.send("hi") }
      #expect(eventually { stage.origin.count("/\(method)") == 1 })
      if how.hasSuffix("more") { try client.send("GET /more HTTP/1.1\r\nHost: localhost\r\n\r\n") }
      switch how.prefix(4) {
      case "clos": client.socket.close()
      case "rese": client.socket.reset()
      default: client.socket.endSending()
      }
      let before = ContinuousClock.now
      #expect(try eventually { try figures(stage.daemon).left == number + 1 }, "\(method)")
      #expect(ContinuousClock.now - before < .seconds(10))
      if how == "ends its side" { #expect(try client.response(to: method).status == 408) }
      #expect(stage.origin.count("/\(method)") == 1)
    }
    #expect(try eventually { try figures(stage.daemon).open == 1 })
  }

  @Test("holds for clients that are gone before the origin has failed")
  func before() throws {
    let gate = Gate()
    let stage = try Stage(set: Self.delay("100s")) { _, connection in
      try gate.wait()
      try connection.answer(503)
    }
    let client = try stage.daemon.connect()
    try client.request("DELETE", "/gone")
    #expect(eventually { stage.origin.count("/gone") == 1 })
    client.socket.close()
    gate.open()
    #expect(try eventually { try figures(stage.daemon).left == 1 })
  }

  @Test("does not hold for one that stays, whatever it sends meanwhile")
  func stays() throws {
    let stage = try Self.stage("500ms")
    let client = try stage.daemon.connect()
    try client.request("DELETE", "/a")
    #expect(eventually { stage.origin.count("/a") == 1 })
    for number in 0..<5 { try client.request("DELETE", "/more\(number)") }
    #expect(try client.response().text == "good")
    for _ in 0..<5 { #expect(try client.response().text == "good") }
    #expect(try figures(stage.daemon).left == 0)
  }

  @Test("does not hold where others follow, or a store wants the answer")
  func followed() throws {
    let stage = try Self.stage("1s")
    let clients = try (0..<3).map { _ in try stage.daemon.connect() }
    try clients[0].request("GET", "/f")
    #expect(eventually { stage.origin.count("/f") == 1 })
    for client in clients.dropFirst() { try client.request("GET", "/f") }
    #expect(try eventually { try stage.flight("followers") == 2 })
    clients[0].socket.reset()
    clients[1].socket.close()
    #expect(try clients[2].response().text == "good")
    #expect(stage.origin.count("/f") == 2)
    #expect(try figures(stage.daemon).left == 0)
    #expect(try stage.get("/f").isHit)
  }
}
