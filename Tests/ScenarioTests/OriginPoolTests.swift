// The bounds on connections to one origin: so many, so many that wait, so long; and in the order of asking.

import Testing

@Suite("The connections to an origin")
struct OriginPoolTests {
  /// An origin that answers only when the test lets it.
  private final class Gate: Sendable {
    private let isOpen = Shared(false)
    func open() { isOpen.update { $0 = true } }
    func pass() { _ = eventually { isOpen.value } }
  }

  @Test("no more are opened than may be; who waits is served, and who is one too many gets 503 at once")
  func limits() throws {
    let gate = Gate()
    let stage = try Stage(
      set: ["limits.origin-connections=2", "limits.origin-waiting=1", "timeouts.origin-wait=60s"], workers: 1
    ) { request, connection in
      gate.pass()
      try connection.answer(200, ["Cache-Control: no-store"], request.target)
    }
    let clients = try (0..<3).map { number in
      let client = try stage.daemon.connect()
      try client.request("GET", "/\(number)")
      #expect(eventually { (try? stage.daemon.figures("origins")["waiting"]) == max(0, number - 1) })
      #expect(eventually { stage.origin.requests.count == min(number + 1, 2) })
      return client
    }
    let refused = try stage.get("/refused")
    #expect(refused.status == 503 && refused["Retry-After"] != nil, "\(refused.head.raw)")
    #expect(refused["Proxy-Status"]?.contains("connection_limit_reached") == true)
    gate.open()
    for (number, client) in clients.enumerated() { #expect(try client.response().text == "/\(number)") }
    #expect(stage.origin.connections == 2)
    let figures = try stage.daemon.figures("origins")
    #expect(figures["refused"] == 1 && figures["waiting"] == 0 && figures["opened"] == 2, "\(figures)")
    #expect(figures["idle"] == 2 && figures["connections"] == 2, "\(figures)")
  }

  @Test("whoever waits for too long gets 503")
  func patience() throws {
    let gate = Gate()
    let stage = try Stage(set: ["limits.origin-connections=1", "timeouts.origin-wait=50ms"], workers: 1) {
      _, connection in
      gate.pass()
      try connection.answer(200, ["Cache-Control: no-store"])
    }
    let first = try stage.daemon.connect()
    try first.request("GET", "/first")
    #expect(eventually { stage.origin.requests.count == 1 })
    #expect(try stage.get("/second").status == 503)
    gate.open()
    #expect(try first.response().status == 200)
    #expect(try stage.get("/third").status == 200)
  }

  @Test("of unused connections only so many are kept")
  func idle() throws {
    let gate = Gate()
    let stage = try Stage(set: ["limits.origin-idle=1"], workers: 1) { _, connection in
      gate.pass()
      try connection.answer(200, ["Cache-Control: no-store"])
    }
    let clients = try (0..<3).map { number in
      let client = try stage.daemon.connect()
      try client.request("GET", "/\(number)")
      return client
    }
    #expect(eventually { stage.origin.requests.count == 3 })
    gate.open()
    for client in clients { #expect(try client.response().status == 200) }
    #expect(eventually { (try? stage.daemon.figures("origins")["connections"]) == 1 })
    #expect(try stage.daemon.figures("origins")["idle"] == 1)
  }

  @Test("a name with two families is reached at the one that answers, and is looked up once")
  func families() throws {
    // The kit's origins listen at 127.0.0.1 alone; localhost is ::1 first where the system has both.
    let stage = try Stage { _, connection in try connection.answer(200, ["Cache-Control: no-store"]) }
    let daemon = try Daemon.start(
      upstream: "http://localhost:\(stage.origin.port)", set: ["timeouts.names=1h"])
    for _ in 0..<3 { #expect(try daemon.get("/a", ["Connection: close"]).status == 200) }
    #expect(try daemon.figures("origins")["name-look-ups"] == 1)
    #expect(try daemon.figures("origins")["names"] == 1)
  }
}
