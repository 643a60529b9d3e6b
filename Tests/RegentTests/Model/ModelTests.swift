// The property test of the rules: long random sequences through the real chain and the real memory, judged answer by
// answer by the reference model. REGENT_SEED repeats a run, REGENT_STEPS makes it longer; both are printed.

import Glibc
import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage
import TestKit
import Testing

@testable import Regent

@Suite("Random sequences of requests, origins and clocks", .serialized)
struct ModelTests {
  /// One exchange is three steps: the clock's, the origin's, the client's.
  private static let steps = number("REGENT_STEPS") ?? 210_000
  private static let seed = SeededGenerator.givenSeed ?? 20_261_121

  @Test("get no answer that RFC 9111 forbids, and what is known to be fresh is not asked for again")
  func holds() async throws {
    let (seed, exchanges) = (Self.seed, Self.steps / 3)
    print("The model: REGENT_SEED=\(seed) REGENT_STEPS=\(Self.steps)")
    let totals = try await onLoop { _ in
      var totals = Tally()
      var index: UInt64 = 0
      while totals.exchanges < exchanges, totals.findings.count < 5 {
        totals.add(try await RandomRun(seed: seed &+ index &* 1_000_003).run(exchanges: 150))
        index += 1
      }
      return totals
    }
    print("The model: \(totals.summary)")
    for finding in totals.findings { Issue.record("\(finding)") }
    #expect(totals.findings.isEmpty)
    // So that it cannot pass by never caching: what plainly must be served from the store, and all that was.
    #expect(totals.owed * 20 > totals.exchanges && totals.stored * 4 > totals.exchanges)
    #expect(totals.confirmed * 100 > totals.exchanges && totals.stale * 100 > totals.exchanges)
  }

  private static func number(_ name: String) -> Int? {
    // Unsafe: the environment is read once, and nobody in the tests changes it.
    unsafe getenv(name).flatMap { unsafe Int(String(cString: $0)) }
  }
}

/// What came of some sequences.
struct Tally: Sendable {
  var exchanges = 0
  /// Answers from the store: all; those that the model demanded; those that were stale; those that a 304 confirmed.
  var stored = 0
  var owed = 0
  var stale = 0
  var confirmed = 0
  var notModified = 0
  /// Parts, and what parts became, that no single message of the origin was.
  var parts = 0
  var findings: [String] = []

  mutating func add(_ other: Tally) {
    exchanges += other.exchanges
    stored += other.stored
    owed += other.owed
    stale += other.stale
    confirmed += other.confirmed
    notModified += other.notModified
    parts += other.parts
    findings += other.findings
  }

  var summary: String {
    "\(exchanges * 3) steps, \(stored) answers from the store (\(owed) owed, \(stale) stale), "
      + "\(confirmed) confirmed, \(notModified) times 304, \(parts) parts"
  }
}
