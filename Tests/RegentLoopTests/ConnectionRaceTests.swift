// Happy Eyeballs: the machine on a scripted network with a clock moved by hand, and the real thing on loopback.

import Glibc
import TestKit
import Testing

@testable import RegentLoop

@Suite("A race among addresses (RFC 8305)", .timeLimit(.minutes(10)))
struct ConnectionRaceTests {
  /// What becomes of an attempt, and how many milliseconds after it began; nil: nothing is ever heard of it.
  typealias Script = [(result: Bool, after: Int)?]

  struct Outcome {
    /// When each address was first tried; nil: never.
    var begun: [Int?]
    var winner: Int?
    var time: Int?
    var abandoned: [Int] = []
    var failed = false
  }

  /// Plays a race on a network that does what the script says.
  private func play(_ script: Script) -> Outcome {
    var race = ConnectionRace(count: script.count)
    var outcome = Outcome(begun: Array(repeating: nil, count: script.count))
    var events: [(time: Int, address: Int, result: Bool)] = []
    var alarm: Int?
    var now = 0
    func perform(_ actions: [ConnectionRace.Action]) {
      for action in actions {
        switch action {
        case .attempt(let index):
          #expect(outcome.begun[index] == nil, "tried twice")
          outcome.begun[index] = now
          if let line = script[index] { events.append((now + line.after, index, line.result)) }
        case .arm: alarm = now + 250
        case .win(let index):
          #expect(outcome.winner == nil && !outcome.failed)
          (outcome.winner, outcome.time) = (index, now)
        case .abandon(let index): outcome.abandoned.append(index)
        case .fail:
          #expect(outcome.winner == nil && !outcome.failed)
          (outcome.failed, outcome.time) = (true, now)
        }
      }
    }
    perform(race.started())
    while true {
      let next = events.min { $0.time < $1.time }
      if let alarmed = alarm, alarmed <= next?.time ?? .max {
        now = alarmed
        alarm = nil
        perform(race.timerFired())
      } else if let event = next {
        now = event.time
        events.removeAll { $0.address == event.address }
        perform(event.result ? race.attemptSucceeded(event.address) : race.attemptFailed(event.address))
      } else {
        return outcome
      }
    }
  }

  @Test("an address that answers within its head start is the only one that is tried")
  func first() {
    let outcome = play([(true, 249), (true, 1)])
    #expect(outcome.winner == 0 && outcome.begun == [0, nil] && outcome.time == 249)
  }

  @Test("a silent address costs a quarter of a second, and is let go")
  func silent() {
    let outcome = play([nil, (true, 10), (true, 1)])
    #expect(outcome.winner == 1 && outcome.begun == [0, 250, nil] && outcome.time == 260)
    #expect(outcome.abandoned == [0])
  }

  @Test("a refusal lets the next one begin at once")
  func refusal() {
    let outcome = play([(false, 3), (false, 4), (true, 5)])
    #expect(outcome.winner == 2 && outcome.begun == [0, 3, 7] && outcome.time == 12)
    #expect(outcome.abandoned.isEmpty)
  }

  @Test("a slow first address may still win while the second is tried")
  func slow() {
    let outcome = play([(true, 300), (true, 200)])
    #expect(outcome.winner == 0 && outcome.time == 300 && outcome.abandoned.contains(1))
  }

  @Test("all refuse: it fails with the last")
  func allFail() {
    let outcome = play([(false, 400), (false, 1), (false, 1)])
    #expect(outcome.failed && outcome.begun == [0, 250, 251] && outcome.time == 400)
  }

  @Test("random networks: the winner is the first to answer, all others are let go", arguments: 0..<200)
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let script: Script = (0..<Int.random(in: 1...6, using: &random)).map { _ in
      let after = Int.random(in: 1...900, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: return nil
      case 1: return (true, after)
      default: return (false, after)
      }
    }
    let outcome = play(script)
    let answers = script.indices.compactMap { index -> (Int, Int)? in
      guard let begun = outcome.begun[index], let line = script[index], line.result else { return nil }
      return (begun + line.after, index)
    }
    #expect(outcome.time == answers.map(\.0).min() || outcome.winner == nil, "seed \(seed)")
    if let winner = outcome.winner {
      let time = outcome.time ?? 0
      for index in script.indices where index != winner {
        guard let begun = outcome.begun[index] else { continue }
        let hadFailed = script[index].map { !$0.result && begun + $0.after <= time } ?? false
        #expect(hadFailed || outcome.abandoned.contains(index), "seed \(seed): \(index) was forgotten")
      }
    } else {
      #expect(answers.isEmpty, "seed \(seed)")
      #expect(outcome.failed == script.allSatisfy { $0 != nil }, "seed \(seed)")
    }
    let begun = outcome.begun.compactMap { $0 }
    #expect(zip(begun, begun.dropFirst()).allSatisfy { $0 <= $1 && $1 - $0 <= 250 }, "seed \(seed)")
  }

  @Test("the families take turns, beginning with the one that the system prefers")
  func families() {
    let found = ["6a", "6b", "6c", "4a", "4b"]
    #expect(ConnectionRace.order(found) { $0.first == "6" ? 6 : 4 } == ["6a", "4a", "6b", "4b", "6c"])
    #expect(ConnectionRace.order(["4a", "6a"]) { $0.first == "6" ? 6 : 4 } == ["4a", "6a"])
    #expect(ConnectionRace.order([String]()) { _ in 4 }.isEmpty)
  }

  // MARK: On loopback

  /// A port at which nobody listens: a listener had it and is gone.
  private static func deadAddress(_ loop: EventLoop) throws -> SocketAddress {
    let socket = try listening()[0]
    Listener(socket, on: loop) { $0.close() }.close()
    return socket.address
  }

  @Test("a connection is made to the first address that accepts")
  func real() async throws {
    try await onLoop { loop in
      let dead = [try Self.deadAddress(loop), try Self.deadAddress(loop)]
      let sockets = try listening()
      let acceptance = Acceptance()
      let listener = Listener(sockets[0], on: loop) { acceptance.accepted($0) }
      let stream = try await ByteStream.connect(
        toFirstOf: dead + [sockets[0].address], on: loop, timeout: .seconds(60))
      await acceptance.wait(for: 1)
      #expect(stream.isOpen && stream.peerAddress == "127.0.0.1")
      stream.close()
      acceptance.closeAll()
      listener.close()
    }
  }

  @Test("where all addresses refuse, the first one's refusal is the reason")
  func refused() async throws {
    let error = await #expect(throws: StreamError.self) {
      try await onLoop { loop in
        let dead = [try Self.deadAddress(loop), try Self.deadAddress(loop)]
        _ = try await ByteStream.connect(toFirstOf: dead, on: loop, timeout: .seconds(60))
      }
    }
    guard case .system(let reason)? = error else { throw error ?? .closed }
    #expect(reason.isRefusal)
  }
}
