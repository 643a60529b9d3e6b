// How an origin is, as all loops know it: its circuit breaker and its retry budget behind one lock, which is taken once for
// each request, at its end. While the breaker is closed, admission reads one atomic number.

import RegentConfig
import RegentHTTP
import RegentLoop
import Synchronization

/// The health of one origin.
final class OriginHealth: Sendable {
  typealias Ticket = CircuitBreaker.Ticket

  /// How an admitted request ended, as far as it says something about the origin.
  enum Outcome: Equatable {
    case good
    case bad(OriginTrouble)
    /// Nothing was learnt: the client broke off, or Regent itself could not go on.
    case unknown
  }

  /// An answer whose body may still break off: its request's ticket, and when the head was there.
  struct Answer: Sendable {
    let health: OriginHealth
    let ticket: Ticket
    let status: Int
    let began: Int64

    func broke(now: Int64) { health.broke(self, now: now) }
  }

  private struct State {
    var breaker: CircuitBreaker
    var budget: RetryBudget
    var trouble: OriginTrouble?
    var figures = Figures()
  }

  /// What /stats shows.
  struct Figures: Sendable {
    var failures = 0
    var openings = 0
    /// Requests that were not sent because the breaker was open.
    var refusals = 0
    var retries = 0
    var budgetRefusals = 0
    var isClosed = true
    var isOpen = false
  }

  private let name: String
  private let isOn: Bool
  private let log: ServerLog?
  // Shared by all loops: outcomes and admissions while it is not closed.
  private let state: Lock<State>
  /// The breaker's round while it is closed, else -1. Written under the lock.
  private let closedRound: Atomic<Int>

  init(_ name: String, breaking: Breaking, retryBudget: Int, log: ServerLog? = nil) {
    self.name = name
    self.log = log
    isOn = breaking.isOn
    let breaker = CircuitBreaker(CircuitBreaker.Rules(breaking))
    state = Lock(State(breaker: breaker, budget: RetryBudget(percent: retryBudget)))
    closedRound = Atomic(breaker.round)
  }

  /// Lets a request go to the origin; its end must be told to ``ended(_:_:_:now:)``.
  func admit(now: Int64) throws(Failure) -> Ticket {
    let round = closedRound.load(ordering: .relaxed)
    if round >= 0 { return Ticket(round: round, isProbe: false) }
    let (admission, transition, trouble) = state.withLock { state in
      let step = state.breaker.requestArrived(now: now)
      if case .refused = step.admission { state.figures.refusals += 1 }
      publish(state.breaker)
      return (step.admission, step.transition, state.trouble)
    }
    if let transition { tell(transition, trouble) }
    switch admission {
    case .admitted(let ticket): return ticket
    case .refused(let until):
      throw .circuitOpen(seconds: Self.wholeSeconds(until &- now), because: trouble?.sentence ?? "")
    }
  }

  /// An admitted request has ended.
  ///
  /// - Parameter attempt: From 0: what was sent again does not earn further repetitions.
  func ended(_ ticket: Ticket, _ outcome: Outcome, _ attempt: Int, now: Int64) {
    let transition = state.withLock { state in
      if attempt == 0 { state.budget.requestSent(now: now) }
      let transition: CircuitBreaker.Transition?
      switch outcome {
      case .good: transition = isOn ? state.breaker.requestSucceeded(ticket, now: now) : nil
      case .bad(let trouble):
        state.figures.failures += 1
        state.trouble = trouble
        transition = isOn ? state.breaker.requestFailed(ticket, now: now) : nil
      case .unknown:
        state.breaker.requestAbandoned(ticket)
        transition = nil
      }
      if transition != nil { publish(state.breaker) }
      if transition == .opened { state.figures.openings += 1 }
      return transition
    }
    if let transition { tell(transition, state.withLock { $0.trouble }) }
  }

  /// An answer broke off within its body. One that says that it is a failure has counted as one already.
  private func broke(_ answer: Answer, now: Int64) {
    guard Outcome(status: answer.status) == .good else { return }
    let trouble = OriginTrouble.failure(.responseCut)
    let transition = state.withLock { state in
      state.figures.failures += 1
      state.trouble = trouble
      guard isOn else { return CircuitBreaker.Transition?.none }
      let transition = state.breaker.answerBroke(answer.ticket, succeeded: answer.began, now: now)
      if transition != nil { publish(state.breaker) }
      if transition == .opened { state.figures.openings += 1 }
      return transition
    }
    if let transition { tell(transition, trouble) }
  }

  /// Whether a request may be sent again, as far as the origin's budget goes.
  func takeRepetition(now: Int64) -> Bool {
    state.withLock { state in
      guard state.budget.repetitionWanted(now: now) else { return false }
      state.figures.retries += 1
      return true
    }
  }

  /// Whether requests go to the origin as they come.
  var isClosed: Bool { closedRound.load(ordering: .relaxed) >= 0 }

  var figures: Figures {
    state.withLock { state in
      var figures = state.figures
      figures.budgetRefusals = state.budget.refusals
      figures.isClosed = state.breaker.state == .closed
      if case .open = state.breaker.state { figures.isOpen = true }
      return figures
    }
  }

  private func publish(_ breaker: CircuitBreaker) {
    closedRound.store(breaker.state == .closed ? breaker.round : -1, ordering: .relaxed)
  }

  private func tell(_ transition: CircuitBreaker.Transition, _ trouble: OriginTrouble?) {
    log?.changed(transition, of: name, because: trouble?.sentence ?? "")
  }

  private static func wholeSeconds(_ nanoseconds: Int64) -> Int {
    Int(max(1, nanoseconds / 1_000_000_000 + (nanoseconds % 1_000_000_000 > 0 ? 1 : 0)))
  }
}

extension OriginHealth.Outcome {
  /// What an answer's status says: that a gateway of the origin cannot reach it is the origin's failure; that a request
  /// is wrong, comes too often or makes its program fail is not.
  init(status: Int) {
    switch status {
    case 502, 503, 504: self = .bad(.answer(status: status, after: nil))
    default: self = .good
    }
  }

  /// What it says that there was no answer.
  init(_ failure: Failure) {
    self = failure.isOutage ? .bad(.failure(failure)) : .unknown
  }
}

extension Failure {
  /// Whether it says that the origin is down. A certificate that is refused and an answer that is none are better told
  /// each time than hidden behind an open breaker.
  fileprivate var isOutage: Bool {
    switch self {
    case .nameNotFound, .nameTimedOut: true
    default: condition != nil
    }
  }
}

extension OriginTrouble {
  /// What happened, in one sentence.
  var sentence: String {
    switch self {
    case .failure(let failure): failure.sentence
    case .answer(let status, _): "The origin answered \(status)."
    }
  }
}
