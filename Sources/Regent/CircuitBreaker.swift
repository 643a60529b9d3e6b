// When an origin is left alone: a pure machine. Closed, it counts outcomes over a sliding window; when too many of them
// are failures it opens, and nobody asks; after a while a few probes may, and the first of them that ends decides.
// Each time that a probe fails it stays open twice as long, up to a bound.

import RegentConfig
import RegentLoop

struct CircuitBreaker: Sendable {
  struct Rules: Sendable, Equatable {
    var failurePercent = 80
    var requests = 10
    /// In nanoseconds, as is `open`.
    var window: Int64 = 30_000_000_000
    var open: Int64 = 1_000_000_000
  }

  enum State: Sendable, Equatable {
    case closed
    case open(until: Int64)
    /// So many probes are on their way; if none ends until then, others take their places.
    case halfOpen(probes: Int, until: Int64)
  }

  /// What an admitted request shows when it ends. One of an earlier round says nothing any more.
  struct Ticket: Sendable, Equatable {
    let round: Int
    let isProbe: Bool
  }

  enum Admission: Sendable, Equatable {
    case admitted(Ticket)
    /// When others may be admitted; now, where that hangs on the probes that are on their way.
    case refused(until: Int64)
  }

  enum Transition: String, CaseIterable, Sendable { case opened, halfOpened, closed }

  static let mostProbes = 3
  /// How often the time that it stays open is doubled at most.
  static let mostDoublings = 3

  let rules: Rules
  private(set) var state = State.closed
  /// Counts the states so far.
  private(set) var round = 0
  private var recent: SlidingCounts
  /// How often it opened without staying closed for a window in between.
  private var openings = 0
  private var closedAt: Int64?

  init(_ rules: Rules) {
    self.rules = rules
    recent = SlidingCounts(window: rules.window)
  }

  // MARK: Events

  /// A request wants to go to the origin.
  mutating func requestArrived(now: Int64) -> (admission: Admission, transition: Transition?) {
    switch state {
    case .closed: return (.admitted(Ticket(round: round, isProbe: false)), nil)
    case .open(let until) where now < until: return (.refused(until: until), nil)
    case .open:
      enter(.halfOpen(probes: 1, until: later(now, by: rules.open)))
      return (.admitted(Ticket(round: round, isProbe: true)), .halfOpened)
    case .halfOpen(let probes, let until):
      if probes >= Self.mostProbes, now < until { return (.refused(until: now), nil) }
      state =
        now < until
        ? .halfOpen(probes: probes + 1, until: until)
        : .halfOpen(probes: 1, until: later(now, by: rules.open))
      return (.admitted(Ticket(round: round, isProbe: true)), nil)
    }
  }

  mutating func requestSucceeded(_ ticket: Ticket, now: Int64) -> Transition? {
    guard ticket.round == round else { return nil }
    switch state {
    case .closed:
      recent.add(all: 1, marked: 0, now: now)
      return nil
    case .open: return nil
    case .halfOpen:
      enter(.closed)
      recent = SlidingCounts(window: rules.window)
      closedAt = now
      return .closed
    }
  }

  mutating func requestFailed(_ ticket: Ticket, now: Int64) -> Transition? {
    guard ticket.round == round else { return nil }
    switch state {
    case .closed:
      recent.add(all: 1, marked: 1, now: now)
      return isTooMuch ? open(now) : nil
    case .open: return nil
    case .halfOpen: return open(now)
    }
  }

  /// The answer to a request that had succeeded broke off within its body: it failed after all.
  ///
  /// - Parameter succeeded: When that was said.
  mutating func answerBroke(_ ticket: Ticket, succeeded: Int64, now: Int64) -> Transition? {
    // The success of a probe closed the breaker, and began the round that this failure counts in.
    let began = ticket.isProbe ? ticket.round &+ 1 : ticket.round
    guard began == round, state == .closed else { return nil }
    recent.advance(to: now)
    let isCounted = !ticket.isProbe && recent.holds(succeeded)
    recent.add(all: isCounted ? 0 : 1, marked: 1, now: now)
    return isTooMuch ? open(now) : nil
  }

  /// A request ended without a word about the origin: its client left, say.
  mutating func requestAbandoned(_ ticket: Ticket) {
    guard ticket.round == round, ticket.isProbe, case .halfOpen(let probes, let until) = state else { return }
    state = .halfOpen(probes: max(0, probes - 1), until: until)
  }

  // MARK: States

  private var isTooMuch: Bool {
    guard recent.all >= rules.requests else { return false }
    let (marked, over) = recent.marked.multipliedReportingOverflow(by: 100)
    let (most, beyond) = recent.all.multipliedReportingOverflow(by: rules.failurePercent)
    return over || !beyond && marked >= most
  }

  private mutating func open(_ now: Int64) -> Transition {
    if let closedAt, now > later(closedAt, by: rules.window) { openings = 0 }
    let time = doubled(rules.open, times: min(openings, Self.mostDoublings))
    openings &+= 1
    closedAt = nil
    enter(.open(until: later(now, by: time)))
    return .opened
  }

  private mutating func enter(_ next: State) {
    state = next
    round &+= 1
  }

  private func later(_ time: Int64, by nanoseconds: Int64) -> Int64 {
    let (sum, overflow) = time.addingReportingOverflow(nanoseconds)
    return overflow ? .max : sum
  }
}

extension CircuitBreaker.Rules {
  init(_ entry: Breaking) {
    failurePercent = entry.failures
    requests = entry.requests
    window = entry.window.nanoseconds
    open = entry.open.nanoseconds
  }
}
