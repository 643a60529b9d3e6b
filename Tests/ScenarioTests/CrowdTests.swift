// Slow, many and idle connections beside good clients. In CI a scaled crowd with short deadlines; with REGENT_CROWD=full
// in the environment the crowd of the scorecard (TRUST.md D1, R14) with the daemon's own deadlines.

import Foundation
import Testing

extension UnderLoad {
  @Suite("Slow and many")
  struct CrowdTests {
    private static let isFull = ProcessInfo.processInfo.environment["REGENT_CROWD"] == "full"

    @Test("good clients stay well beside a crowd, and slow heads and bodies are closed at their deadline")
    func crowd() throws {
      let size = Self.isFull ? CrowdSize.full : CrowdSize.scaled
      let large = Pattern(for: "/large").bytes(count: 8 << 20)
      let stage = try Stage(set: size.settings, memory: "128 MiB") { request, connection in
        try connection.readBody()
        let body = request.target == "/large" ? large : Pattern(for: request.target).bytes(count: 1024)
        try connection.send(
          "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: \(body.count)\r\n\r\n")
        try connection.send(body)
      }
      for target in ["/good", "/large"] { _ = try stage.get(target) }
      let quiet = try GoodClient(stage.daemon).visit(times: 2000)
      let before = stage.daemon.resident

      let crowd = try Crowd(stage.daemon, size)
      let good = try GoodClient(stage.daemon)
      var loaded: [Duration] = []
      let areAllClosed = try eventually(within: Int(size.deadline.components.seconds) + patience) {
        loaded += try good.visit(times: 200)
        return crowd.areSlowOnesClosed
      }
      let growth = stage.daemon.resident - before
      try crowd.stopDripping()

      print(
        "crowd: \(size.heads) slow heads, \(size.bodies) slow bodies, \(size.readers) slow readers, \(size.idle) idle"
      )
      print(
        "crowd: p99 \(quiet.p99) quiet, \(loaded.p99) loaded (\(loaded.count) requests); \(growth >> 20) MiB more"
      )
      print("crowd: \(crowd.report)")
      #expect(areAllClosed, "\(crowd.report)")
      let areNearDeadline = crowd.headLives.allSatisfy(size.isNearDeadline)
      #expect(areNearDeadline, "\(crowd.report)")
      // A sanitizer keeps what is freed for a while.
      #expect(growth < (stage.daemon.isSanitized ? 1 << 30 : size.memory))
      #expect(loaded.p99 < (Self.isFull ? max(quiet.p99 * 2, .milliseconds(2)) : .milliseconds(500)))
      let unanswered = try crowd.idleOnesUnanswered()
      #expect(
        unanswered.isEmpty, "\(unanswered.count) idle connections, first number \(unanswered.first ?? -1)")
      #expect(try crowd.readersGet(large))
      #expect(try stage.daemon.get("/stats", host: "regent.localhost").status == 200)
    }

    @Test(
      "with all descriptors in use the daemon neither spins nor dies, and recovers when they are free again")
    func descriptors() throws {
      let origin = try Origin { request, connection in
        try connection.answer(200, ["Cache-Control: max-age=600"], "x")
      }
      let daemon = try Daemon.start(upstream: origin.url, descriptorLimit: 128)
      let first = try daemon.connect()
      _ = try first.get("/a")
      var crowd = try (0..<400).map { _ in try daemon.connect() }
      for client in crowd { try? client.request("GET", "/a") }
      let start = daemon.processorTime
      let begin = ContinuousClock.now
      _ = eventually(within: 2) { false }
      let share = (daemon.processorTime - start) / (ContinuousClock.now - begin)
      #expect(share < 0.5, "share of a core while out of descriptors: \(share)")
      #expect(try first.get("/stats", host: "regent.localhost").status == 200)
      crowd.removeAll()
      #expect(try daemon.get("/a").text == "x")
    }
  }
}

/// A client with a connection that stays, and the time that each of its requests took.
private struct GoodClient {
  private let client: Client

  init(_ daemon: Daemon) throws { client = try daemon.connect() }

  func visit(times: Int) throws -> [Duration] {
    let body = Pattern(for: "/good").bytes(count: 1024)
    return try (0..<times).map { _ in
      let start = ContinuousClock.now
      let response = try client.get("/good")
      guard response.isHit, isSame(response.body, body) else { throw WireError.malformed(response.head.raw) }
      return ContinuousClock.now - start
    }
  }
}

extension [Duration] {
  fileprivate var p99: Duration { sorted()[count * 99 / 100] }
}
