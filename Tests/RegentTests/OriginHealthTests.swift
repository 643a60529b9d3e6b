// What the loops share of an origin: sliding counts, the retry budget and the circuit breaker as pure machines under random
// events, and the three together under a hand-driven clock.

import RegentConfig
import RegentLoop
import TestKit
import Testing

@testable import Regent

private let second: Int64 = 1_000_000_000

@Suite("Sliding counts")
struct SlidingCountsTests {
  @Test("are those of a plain list of events in the tenths of the window", arguments: 0..<50 as Range<UInt64>)
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let width: Int64 = 7
    var counts = SlidingCounts(window: width * 10)
    var events: [(number: Int64, isMarked: Bool)] = []
    var now: Int64 = 0
    for _ in 0..<400 {
      now += Int64.random(in: 0...(Int.random(in: 0..<20, using: &random) == 0 ? 200 : 5), using: &random)
      let isMarked = Bool.random(using: &random)
      counts.add(all: 1, marked: isMarked ? 1 : 0, now: now)
      events.append((now / width, isMarked))
      events.removeAll { $0.number <= now / width - 10 }
      #expect(counts.all == events.count && counts.marked == events.count { $0.isMarked }, "seed \(seed)")
    }
  }

  @Test("take no harm from clocks that go back or leap")
  func clocks() {
    var counts = SlidingCounts(window: 0)
    for now in [5, 3, Int64.min, 0, Int64.max, -1, 7] { counts.add(all: 1, marked: 1, now: now) }
    #expect(counts.all >= 1 && counts.all == counts.marked)
  }
}

@Suite("A retry budget")
struct RetryBudgetTests {
  @Test(
    "lets an origin that always fails be sent at most a tenth more, and a few (TRUST D7)",
    arguments: [1, 10, 100, 1000, 5000])
  func amplification(requests: Int) {
    // All within one window, each failing three times over.
    var budget = RetryBudget(percent: 10)
    var sent = 0
    for number in 0..<requests {
      let now = Int64(number) * RetryBudget.window / Int64(requests + 1)
      budget.requestSent(now: now)
      sent += 1
      for _ in 0..<3 where budget.repetitionWanted(now: now) { sent += 1 }
      #expect(sent * 10 <= (number + 1) * 11 + RetryBudget.floor * 10)
    }
    #expect(requests < 100 || sent * 10 >= requests * 10 + requests / 2)
    #expect(requests > 2 || sent == requests + 3)
  }

  @Test("holds in every window, whatever comes when", arguments: 0..<100 as Range<UInt64>)
  func windows(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let percent = Int.random(in: 0...100, using: &random)
    var budget = RetryBudget(percent: percent)
    var (requests, repetitions): ([Int64], [Int64]) = ([], [])
    var now: Int64 = 0
    for _ in 0..<2000 {
      now += Int64.random(in: 0...(second / 5), using: &random)
      if Bool.random(using: &random) {
        budget.requestSent(now: now)
        requests.append(now)
      }
      guard budget.repetitionWanted(now: now) else { continue }
      repetitions.append(now)
      // The window moves in tenths: whatever lies within nine of them is surely counted, whatever in ten surely allowed.
      let recent = repetitions.count { $0 > now - RetryBudget.window * 9 / 10 }
      let base = requests.count { $0 > now - RetryBudget.window }
      #expect(recent <= max(RetryBudget.floor, base * percent / 100), "seed \(seed)")
    }
    #expect(percent > 0 || repetitions.isEmpty)
    #expect(percent == 0 || repetitions.count >= RetryBudget.floor)
  }
}

@Suite("A circuit breaker")
struct CircuitBreakerTests {
  private let rules = CircuitBreaker.Rules(
    failurePercent: 50, requests: 4, window: 10 * second, open: 5 * second)

  private func fail(_ breaker: inout CircuitBreaker, _ times: Int, now: Int64) {
    for _ in 0..<times {
      guard case .admitted(let ticket) = breaker.requestArrived(now: now).admission else { continue }
      _ = breaker.requestFailed(ticket, now: now)
    }
  }

  @Test("opens at the share of failures of enough requests, and not before")
  func opening() {
    var breaker = CircuitBreaker(rules)
    fail(&breaker, 3, now: 0)
    #expect(breaker.state == .closed)
    for _ in 0..<3 {
      guard case .admitted(let ticket) = breaker.requestArrived(now: 1).admission else { continue }
      _ = breaker.requestSucceeded(ticket, now: 1)
    }
    #expect(breaker.state == .closed)
    fail(&breaker, 1, now: 2)
    #expect(breaker.state == .open(until: 2 + 5 * second))
    #expect(breaker.requestArrived(now: 3).admission == .refused(until: 2 + 5 * second))
  }

  @Test("forgets failures that are older than its window")
  func window() {
    var breaker = CircuitBreaker(rules)
    for number in 0..<20 { fail(&breaker, 1, now: Int64(number) * 4 * second) }
    #expect(breaker.state == .closed)
  }

  @Test("lets a few probes through when its time has passed; the first that ends decides")
  func probes() {
    var breaker = CircuitBreaker(rules)
    fail(&breaker, 4, now: 0)
    let later = 5 * second
    let first = breaker.requestArrived(now: later)
    #expect(first.transition == .halfOpened)
    #expect(first.admission == .admitted(.init(round: 2, isProbe: true)))
    for _ in 1..<CircuitBreaker.mostProbes {
      #expect(breaker.requestArrived(now: later).admission == .admitted(.init(round: 2, isProbe: true)))
    }
    #expect(breaker.requestArrived(now: later).admission == .refused(until: later))
    // One whose client left says nothing, and makes room.
    breaker.requestAbandoned(.init(round: 2, isProbe: true))
    #expect(breaker.requestArrived(now: later).admission == .admitted(.init(round: 2, isProbe: true)))
    #expect(breaker.requestSucceeded(.init(round: 2, isProbe: true), now: later) == .closed)
    #expect(breaker.requestFailed(.init(round: 2, isProbe: true), now: later) == nil)
    #expect(breaker.state == .closed)
  }

  @Test("counts an answer that breaks off as the failure of the request that seemed to succeed")
  func broken() {
    var breaker = CircuitBreaker(rules)
    func succeed(now: Int64) -> CircuitBreaker.Ticket? {
      guard case .admitted(let ticket) = breaker.requestArrived(now: now).admission else { return nil }
      _ = breaker.requestSucceeded(ticket, now: now)
      return ticket
    }
    let tickets = (0..<4).compactMap { _ in succeed(now: 0) }
    #expect(breaker.answerBroke(tickets[0], succeeded: 0, now: second) == nil)
    // Two of four, not two of six.
    #expect(breaker.answerBroke(tickets[1], succeeded: 0, now: second) == .opened)
    #expect(breaker.answerBroke(tickets[2], succeeded: 0, now: second) == nil)
    // A probe's head closes it; the probe's broken body is the first failure then, and no success beside it.
    guard case .admitted(let probe) = breaker.requestArrived(now: 6 * second).admission else {
      return #expect(Bool(false), "no probe was admitted")
    }
    #expect(breaker.requestSucceeded(probe, now: 6 * second) == .closed)
    #expect(breaker.answerBroke(tickets[3], succeeded: 0, now: 6 * second) == nil)
    #expect(breaker.answerBroke(probe, succeeded: 6 * second, now: 7 * second) == nil)
    fail(&breaker, 2, now: 7 * second)
    #expect(breaker.state == .closed)
    fail(&breaker, 1, now: 7 * second)
    #expect(breaker.state != .closed)
  }

  @Test("counts an answer that breaks off long after its head as a request of its own")
  func brokenLate() {
    var breaker = CircuitBreaker(rules)
    let tickets = (0..<4).compactMap { _ -> CircuitBreaker.Ticket? in
      guard case .admitted(let ticket) = breaker.requestArrived(now: 0).admission else { return nil }
      _ = breaker.requestSucceeded(ticket, now: 0)
      return ticket
    }
    for (number, ticket) in tickets.enumerated() {
      let transition = breaker.answerBroke(ticket, succeeded: 0, now: 100 * second)
      #expect(transition == (number == 3 ? .opened : nil))
    }
  }

  @Test(
    "stays open twice as long each time that a probe fails, eight times at most, and begins anew when it was well"
  )
  func growth() {
    var breaker = CircuitBreaker(rules)
    var now: Int64 = 0
    fail(&breaker, 4, now: now)
    for factor: Int64 in [1, 2, 4, 8, 8, 8] {
      #expect(breaker.state == .open(until: now + factor * 5 * second))
      now += factor * 5 * second
      #expect(breaker.requestArrived(now: now - 1).admission == .refused(until: now))
      fail(&breaker, 1, now: now)
    }
    now += 8 * 5 * second
    guard case .admitted(let ticket) = breaker.requestArrived(now: now).admission else {
      Issue.record("no probe")
      return
    }
    _ = breaker.requestSucceeded(ticket, now: now)
    now += rules.window + 1
    fail(&breaker, 4, now: now)
    #expect(breaker.state == .open(until: now + 5 * second))
  }

  @Test("that hears nothing of its probes sends others")
  func lostProbes() {
    var breaker = CircuitBreaker(rules)
    fail(&breaker, 4, now: 0)
    let later = 5 * second
    for _ in 0..<9 { _ = breaker.requestArrived(now: later) }
    #expect(
      breaker.requestArrived(now: later + rules.open - 1).admission == .refused(until: later + rules.open - 1)
    )
    let again = breaker.requestArrived(now: later + rules.open)
    #expect(again.admission == .admitted(.init(round: 2, isProbe: true)) && again.transition == nil)
  }

  /// What random events must never break.
  private struct Play {
    var random: SeededGenerator
    var breaker: CircuitBreaker
    var flying: [CircuitBreaker.Ticket] = []
    var now: Int64 = 0
    var hasOpened = false
    /// Outcomes of the closed state's own round, for the reachability of opening.
    var outcomes = 0

    mutating func step(failing: Int) {
      now += Int64.random(in: 0...second, using: &random)
      let before = (breaker.state, breaker.round)
      let transition: CircuitBreaker.Transition?
      if flying.isEmpty || Bool.random(using: &random) {
        transition = arrive(before.0)
      } else {
        transition = end(failing: failing)
      }
      #expect((transition != nil) == (breaker.round != before.1), "each transition is told, and only those")
      check(before.0, transition)
    }

    private mutating func arrive(_ before: CircuitBreaker.State) -> CircuitBreaker.Transition? {
      let (admission, transition) = breaker.requestArrived(now: now)
      switch admission {
      case .admitted(let ticket):
        flying.append(ticket)
        #expect(ticket.round == breaker.round && ticket.isProbe == (breaker.state != .closed))
        if case .open(let until) = before { #expect(now >= until, "nobody goes while it is open") }
      case .refused(let until):
        #expect(before != .closed, "a closed breaker refuses nobody")
        #expect(until >= now)
      }
      return transition
    }

    private mutating func end(failing: Int) -> CircuitBreaker.Transition? {
      let ticket = flying.remove(at: Int.random(in: 0..<flying.count, using: &random))
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<5:
        breaker.requestAbandoned(ticket)
        return nil
      case ..<(5 + failing): return breaker.requestFailed(ticket, now: now)
      default: return breaker.requestSucceeded(ticket, now: now)
      }
    }

    private mutating func check(_ before: CircuitBreaker.State, _ transition: CircuitBreaker.Transition?) {
      switch (transition, before, breaker.state) {
      case (.opened?, .closed, .open), (.opened?, .halfOpen, .open): hasOpened = true
      case (.halfOpened?, .open, .halfOpen), (.closed?, .halfOpen, .closed), (nil, _, _): break
      default: Issue.record("\(before) to \(breaker.state) by \(String(describing: transition))")
      }
      switch breaker.state {
      case .closed: break
      case .open(let until):
        #expect(until - now <= breaker.rules.open * 8)
      case .halfOpen(let probes, _): #expect(0...CircuitBreaker.mostProbes ~= probes)
      }
    }
  }

  @Test("keeps its invariants under random events", arguments: 0..<200 as Range<UInt64>)
  func invariants(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let rules = CircuitBreaker.Rules(
      failurePercent: Int.random(in: 1...100, using: &random),
      requests: Int.random(in: 1...30, using: &random),
      window: Int64.random(in: 1...60, using: &random) * second,
      open: Int64.random(in: 1...10, using: &random) * second)
    let failing = Int.random(in: 0...95, using: &random)
    var play = Play(random: random, breaker: CircuitBreaker(rules))
    for _ in 0..<1000 { play.step(failing: failing) }
    #expect(failing > 0 || !play.hasOpened, "seed \(seed)")
    // Sure to be reached only where a window of half a second for each outcome holds enough of them, nearly all failures.
    let isReachable =
      failing == 95 && Int64(rules.requests) * 4 * second < rules.window && rules.failurePercent < 90
    #expect(!isReachable || play.hasOpened, "seed \(seed)")
  }

  @Test(
    "with thresholds that are sure to be reached opens whatever the seed", arguments: 0..<20 as Range<UInt64>)
  func opens(seed: UInt64) {
    let rules = CircuitBreaker.Rules(failurePercent: 50, requests: 5, window: 60 * second, open: second)
    var play = Play(random: SeededGenerator(seed: seed), breaker: CircuitBreaker(rules))
    for _ in 0..<200 { play.step(failing: 95) }
    #expect(play.hasOpened, "seed \(seed)")
  }
}

@Suite("An origin's health")
struct OriginHealthTests {
  private func health(_ change: (inout Breaking) -> Void = { _ in }) -> OriginHealth {
    var breaking = Breaking()
    breaking.requests = 4
    breaking.open = .seconds(5)
    change(&breaking)
    return OriginHealth("http://origin.test", breaking: breaking, retryBudget: 10)
  }

  private func fail(_ health: OriginHealth, _ outcome: OriginHealth.Outcome, now: Int64) throws {
    health.ended(try health.admit(now: now), outcome, 0, now: now)
  }

  @Test("an origin that is down is left alone, and whoever asks is told for how long and why")
  func open() throws {
    let health = health()
    for _ in 0..<4 { try fail(health, .init(.connectionRefused), now: 0) }
    #expect(!health.isClosed)
    let expected = Failure.circuitOpen(seconds: 4, because: "The origin refused the connection.")
    #expect(throws: expected) { try health.admit(now: second + second / 2) }
    #expect(throws: Failure.circuitOpen(seconds: 1, because: expected.last)) {
      try health.admit(now: 5 * second - 1)
    }
    let probe = try health.admit(now: 5 * second)
    #expect(!health.isClosed && probe.isProbe)
    health.ended(probe, .good, 0, now: 5 * second)
    #expect(health.isClosed)
    #expect(health.figures.openings == 1 && health.figures.refusals == 2 && health.figures.failures == 4)
  }

  @Test(
    "what is no outage never opens it",
    arguments: [
      .good, .unknown, .init(status: 404), .init(status: 429), .init(status: 500), .init(.overloaded),
      .init(.requestTimedOut), .init(.malformedRequest("No.")), .init(.clientLeft),
      .init(.tls(.certificate("expired"))), .init(.malformedResponse("No.")),
    ] as [OriginHealth.Outcome])
  func noOutage(outcome: OriginHealth.Outcome) throws {
    let health = health()
    for now in 0..<100 { try fail(health, outcome, now: Int64(now)) }
    #expect(health.isClosed && health.figures.failures == 0)
  }

  @Test(
    "every outage does",
    arguments: [
      .init(status: 502), .init(status: 503), .init(status: 504), .init(.connectionRefused),
      .init(.connectionTimedOut), .init(.connectionFailed("no route")), .init(.nameNotFound("none")),
      .init(.tls(.timedOut)), .init(.closedBeforeResponse), .init(.responseTimedOut),
    ] as [OriginHealth.Outcome])
  func outage(outcome: OriginHealth.Outcome) throws {
    let health = health()
    for _ in 0..<4 { try fail(health, outcome, now: 0) }
    #expect(!health.isClosed)
    let off = self.health { $0.isOn = false }
    for now in 0..<100 { try fail(off, outcome, now: Int64(now)) }
    #expect(off.isClosed && off.figures.failures == 100)
  }

  @Test("an origin that always fails is sent at most a tenth more, by all loops together (TRUST D7)")
  func amplification() async throws {
    let health = health { $0.isOn = false }
    let all = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var sent = 0
          for number in 0..<500 {
            let now = Int64(number) * second / 100
            guard let ticket = try? health.admit(now: now) else { continue }
            health.ended(ticket, .init(status: 503), 0, now: now)
            var repetitions = 0
            while repetitions < 2, health.takeRepetition(now: now) {
              repetitions += 1
              health.ended(ticket, .init(status: 503), 1, now: now)
            }
            sent += 1 + repetitions
          }
          return sent
        }
      }
      return await group.reduce(0, +)
    }
    #expect(all <= 2200 + RetryBudget.floor && all >= 2100)
    #expect(health.figures.retries == all - 2000 && health.figures.budgetRefusals > 0)
  }
}

extension Failure {
  /// The sentence that an open breaker passes on.
  fileprivate var last: String {
    if case .circuitOpen(_, let cause) = self { cause } else { "" }
  }
}
