// A storm of faulty exchanges mixed with good ones, from one seed: every good one is byte-exact, none is stuck beyond its
// deadline, and nothing is left behind.

import Foundation
import TestKit
import Testing

extension UnderLoad {
  @Suite("A storm of faults")
  struct StormTests {
    /// 2,000 each day; 20,000 where REGENT_CROWD says "full".
    private static let exchanges =
      ProcessInfo.processInfo.environment["REGENT_CROWD"] == "full" ? 20_000 : 2000
    private static let clients = 12
    /// What the slowest fault may take: the daemon's patience, and what a loaded machine adds.
    private static let deadline = Duration.seconds(12)

    /// What came of it.
    private struct Tally {
      var good = 0
      var faulty = 0
      var wrong: [String] = []
      var slowest = Duration.zero
    }

    @Test("every good exchange is byte-exact, none is stuck, no descriptor and no memory is lost")
    func storm() throws {
      let seed = SeededGenerator.anySeed()
      print("seed of the storm (REGENT_SEED): \(seed)")
      let origin = try FaultyOrigin(seed: seed)
      let daemon = try Daemon.start(upstream: origin.url, memory: "16 MiB", set: FaultyOrigin.settings)
      for number in 0..<40 { _ = try daemon.get("/good/warm/\(number)") }
      let quiet = (descriptors: daemon.descriptors, memory: daemon.resident)
      let tally = Shared(Tally())
      try concurrently(Self.clients) { number in
        var generator = SeededGenerator(seed: seed &+ UInt64(number))
        for _ in 0..<Self.exchanges / Self.clients { try Self.exchange(daemon, tally, &generator) }
      }
      let result = tally.value
      let growth = daemon.resident - quiet.memory
      print(
        "storm: \(result.good) good, \(result.faulty) faulty, slowest \(result.slowest), \(growth >> 10) KiB more resident"
      )
      #expect(result.wrong.isEmpty, "seed \(seed): \(result.wrong.prefix(5))")
      #expect(result.slowest < Self.deadline, "seed \(seed)")
      #expect(result.good > Self.exchanges / 3 && result.faulty > Self.exchanges / 3)
      #expect(growth < (daemon.isSanitized ? 512 : 48) << 20, "seed \(seed): \(growth)")
      origin.mend()
      #expect(isSame(try daemon.get("/good/after").body, FaultyOrigin.content(of: "/good/after")))
      // A few idle connections to the origin may be more than there were.
      #expect(
        eventually { daemon.descriptors <= quiet.descriptors + Self.clients },
        "seed \(seed): \(daemon.descriptors) where \(quiet.descriptors) were")
      let transfers = try #require(try daemon.stats()["transfers"] as? [Any])
      #expect(transfers.isEmpty && daemon.isRunning)
      #expect(daemon.stop() == .status(0))
    }

    /// One exchange, good or faulty, on a connection of its own or with others before it.
    private static func exchange(
      _ daemon: Daemon, _ tally: Shared<Tally>, _ generator: inout SeededGenerator
    ) throws {
      let client = try daemon.connect()
      // Slow faults are the storm's, too, but rare: each holds its client for a second.
      let isRare = Int.random(in: 0..<20, using: &generator) == 0
      let fault = Fault.allCases.filter { $0.isSlow == isRare }.randomElement(using: &generator) ?? .garbage
      let number = Int.random(in: 0..<300, using: &generator)
      let start = ContinuousClock.now
      var isGood = Bool.random(using: &generator)
      if isGood {
        try good(client, number, tally, &generator)
      } else {
        let target = "/fault/\(fault.rawValue)/\(number)"
        isGood = false
        check(fault, target, Result { try ask(client, target) }, tally)
      }
      let life = ContinuousClock.now - start
      tally.update {
        if isGood { $0.good += 1 } else { $0.faulty += 1 }
        $0.slowest = max($0.slowest, life)
      }
    }

    private static func ask(_ client: Client, _ target: String) throws -> Response {
      try client.request("GET", target)
      return try client.response()
    }

    private static func good(
      _ client: Client, _ number: Int, _ tally: Shared<Tally>, _ generator: inout SeededGenerator
    ) throws {
      let target = "/good/\(Bool.random(using: &generator) ? "kept" : "fresh")/\(number)"
      let isUpload = Int.random(in: 0..<4, using: &generator) == 0
      let expected = FaultyOrigin.content(of: target)
      if isUpload {
        try client.request("POST", target, ["Content-Length: \(expected.count)"])
        try client.socket.send(expected)
      } else {
        try client.request("GET", target)
      }
      let answer = try client.response()
      if answer.status != 200 || !isSame(answer.body, expected) {
        tally.update {
          $0.wrong.append("\(target): \(answer.status), \(answer.body.count) bytes of \(expected.count)")
        }
      }
    }

    private static func check(
      _ fault: Fault, _ target: String, _ result: Result<Response, any Error>, _ tally: Shared<Tally>
    ) {
      var isRight = false
      switch (fault.outcome, result) {
      case (.refused(let status), .success(let answer)): isRight = answer.status == status
      case (.cut, .failure(let error)): isRight = error as? SocketError != .timeout
      case (.good, .success(let answer)): isRight = isSame(answer.body, FaultyOrigin.content(of: target))
      default: break
      }
      if !isRight { tally.update { $0.wrong.append("\(target): \(result)".prefix(300).description) } }
    }
  }
}
