// Everything that can go away goes away, at random and under load: no crash, no hang, no leaked descriptor, and
// never a byte that does not belong where it arrives.

import TestKit
import Testing

extension UnderLoad {
  @Suite("Chaos")
  struct ChaosTests {
    private static let events = 200
    private static let clients = 6
    private static let sizes = [0, 1, 1000, 20_000, 300_000, 2_000_000]

    @Test(
      "an origin killed, clients reset and bodies cut 200 times under load: nothing leaks and no byte is wrong"
    )
    func chaos() throws {
      let seed = SeededGenerator.anySeed()
      print("seed of the chaos (REGENT_SEED): \(seed)")
      let nginx = try Nginx(settings: "location ~ ^/stored { add_header Cache-Control max-age=1; }")
      for kind in ["stored", "fresh"] {
        for (index, size) in Self.sizes.enumerated() {
          for copy in 0..<3 { try put(nginx, "\(kind)-\(index)-\(copy)", size) }
        }
      }
      let daemon = try Daemon.start(
        upstream: nginx.url, memory: "16 MiB",
        set: [
          Setting.domain("breaker", "false"), Setting.domain("retry-base", "1ms"),
          Setting.domain("retry-jitter", "1ms"),
        ])
      _ = try daemon.get("/stored-0-0")
      let quiet = daemon.descriptors

      let isOver = Shared(false)
      let tally = Shared(Tally())
      let load = (0..<Self.clients).map { number in
        Worker {
          var generator = SeededGenerator(seed: seed &+ UInt64(number))
          while !isOver.value { Self.visit(daemon, tally, &generator) }
        }
      }
      var generator = SeededGenerator(seed: seed)
      for _ in 0..<Self.events { try Self.disturb(nginx, daemon, &generator) }
      isOver.update { $0 = true }
      for worker in load { try worker.finish() }

      let result = tally.value
      print("chaos: \(result.whole) whole answers, \(result.failed) errors")
      #expect(result.wrong.isEmpty, "seed \(seed)")
      #expect(result.timeouts == 0, "seed \(seed)")
      #expect(result.whole > Self.events, "seed \(seed)")
      #expect(daemon.isRunning, "seed \(seed): \(daemon.log.suffix(2000))")
      #expect(try eventually { try daemon.get("/fresh-2-0").status == 200 })
      nginx.crash()
      // Pooled connections to an origin that is gone are closed as soon as their end is seen.
      #expect(
        eventually { daemon.descriptors <= quiet }, "\(daemon.descriptors) where \(quiet) were, seed \(seed)")
      #expect(daemon.stop() == .status(0))
    }

    /// What the clients saw.
    struct Tally {
      var whole = 0
      var failed = 0
      var timeouts = 0
      var wrong: [String] = []
    }

    private func put(_ nginx: Nginx, _ name: String, _ size: Int) throws {
      try nginx.put(name, Pattern(for: "/" + name).bytes(count: size))
    }

    /// A client with some requests on one connection, which it may give up in mid-body or by a reset.
    private static func visit(_ daemon: Daemon, _ tally: Shared<Tally>, _ generator: inout SeededGenerator) {
      do {
        let client = try daemon.connect()
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
          let index = Int.random(in: 0..<sizes.count, using: &generator)
          let kind = Bool.random(using: &generator) ? "stored" : "fresh"
          let target = "/\(kind)-\(index)-\(Int.random(in: 0..<3, using: &generator))"
          try client.request("GET", target)
          if Int.random(in: 0..<12, using: &generator) == 0 {
            _ = try client.socket.receive(upTo: 1 + Int.random(in: 0..<5000, using: &generator))
            return Bool.random(using: &generator) ? client.socket.reset() : client.socket.close()
          }
          try judge(client, target, sizes[index], tally)
        }
      } catch SocketError.timeout {
        tally.update { $0.timeouts += 1 }
      } catch {
        tally.update { $0.failed += 1 }
      }
    }

    private static func judge(_ client: Client, _ target: String, _ size: Int, _ tally: Shared<Tally>) throws
    {
      let pattern = Pattern(for: target)
      let offset = Shared(0)
      let wrong = Shared(false)
      let response = try client.response { piece in
        if !pattern.matches(piece, at: offset.value) { wrong.update { $0 = true } }
        offset.increment(by: piece.count)
      }
      tally.update { tally in
        if response.status != 200 {
          tally.failed += 1
          if ![502, 503, 504].contains(response.status) {
            tally.wrong.append("\(target): \(response.status)")
          }
        } else if wrong.value || offset.value != size {
          tally.wrong.append("\(target): \(offset.value) bytes of \(size)")
        } else {
          tally.whole += 1
        }
      }
    }

    /// One disturbance: mostly a client that misbehaves, often enough an origin that dies and comes back.
    private static func disturb(_ nginx: Nginx, _ daemon: Daemon, _ generator: inout SeededGenerator) throws {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        nginx.crash()
        _ = try? daemon.get("/fresh-1-0")
        try nginx.restart()
      case 1:
        let client = try daemon.connect()
        try client.send("GET /fresh-5-0 HTTP/1.1\r\nHo")
        client.socket.reset()
      case 2:
        let client = try daemon.connect()
        try client.request("GET", "/fresh-5-\(Int.random(in: 0..<3, using: &generator))")
        _ = try? client.socket.receive(upTo: Int.random(in: 1...100_000, using: &generator))
        client.socket.reset()
      default:
        let client = try daemon.connect()
        try client.send("POST /fresh-1-0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nabc")
        client.socket.close()
      }
    }
  }
}
