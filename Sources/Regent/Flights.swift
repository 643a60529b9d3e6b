// Which fetches are in the air: at most one for each key, over all loops. What a flight is, and who gets what, is the pure
// machine's (Flight.swift); here it has its place in a table, its lock, and the tasks that wait.

import RegentConfig
import RegentLoop
import RegentStorage

/// How long, and how many, may wait.
struct FlightRules: Sendable, Equatable {
  /// How long followers wait for the first leader's head before one of them leads, too.
  var lease = Duration.seconds(5)
  /// The most that wait in one flight; further ones go on alone.
  var followers = 10_000
  /// How long a key is remembered whose response was not to be shared.
  var unshared = Duration.seconds(120)
}

extension FlightRules {
  init(_ configured: Configuration.Flights) {
    (lease, followers, unshared) = (configured.lease, configured.followers, configured.hitForMiss)
  }
}

/// The right, and the duty, to fetch for all who wait: each ticket is ended exactly once.
struct FlightTicket: Sendable {
  let key: RecordKey
  fileprivate let number: UInt64
}

/// What became of a request that waited.
enum FlightOutcome: Sendable {
  /// There is a response, and a reader of its body where that is a stream.
  case landed(SharedResponse, BodyReader?)
  /// It leads now.
  case elected(FlightTicket)
  /// It goes on by itself.
  case released
  /// Who led has failed, and nobody is elected any more.
  case failed(Failure)
  /// The flight was over before it could wait.
  case missed
}

/// What a request finds.
enum FlightBeginning: Sendable {
  /// It fetches for itself: the key's responses are not shared.
  case unshared
  /// It fetches, and others may join.
  case leads(FlightTicket)
  /// A flight has just ended that may have brought what the cache did not have a moment before.
  case lookAgain
  /// Somebody fetches; the head is not here yet.
  case inTheAir
  /// A response arrives; the ticket says which.
  case arriving(SharedResponse, FlightTicket)
}

/// All flights.
final class Flights: Sendable {
  struct Waiter: Sendable {
    let request: Request
    let task: Parked<FlightOutcome>
  }

  fileprivate struct Entry {
    let number: UInt64
    /// What had been removed under the key when the first leader asked: a later request must not join.
    let mark: RemovalMark?
    var flight = Flight<Waiter>()
    var shared: SharedResponse?
  }

  struct Shard {
    fileprivate var flights: [RecordKey: Entry] = [:]
    /// Flights whose key was invalidated since: they have followers still, and nobody joins them.
    fileprivate var outdated: [UInt64: Entry] = [:]
    fileprivate var lastNumber: UInt64 = 0
    fileprivate var unshared = KeyNotes(places: Flights.rememberedKeys / Flights.shardCount)
    fileprivate var ended = KeyNotes(places: 64)
    var counts = FlightCounts()
  }

  static let shardCount = 16
  /// The most keys that are remembered because their responses are not shared.
  static let rememberedKeys = 16_384
  /// How long after a flight's end a request that missed the cache before it looks again, in nanoseconds.
  static let afterglow: Int64 = 1_000_000_000

  let rules: FlightRules
  // Each guards the flights of some keys, for a few operations on tables; no task is resumed under it.
  private let shards = InlineArray<16, Lock<Shard>> { _ in Lock(Shard()) }

  init(_ rules: FlightRules = FlightRules()) { self.rules = rules }

  private static func place(_ key: RecordKey) -> Int { Int(truncatingIfNeeded: key.hash >> 60) }

  private func change<Result: Sendable>(_ key: RecordKey, _ body: (inout Shard) -> Result) -> Result {
    shards[Self.place(key)].withLock { body(&$0) }
  }

  // MARK: Requests' events

  /// A cache let a request pass.
  ///
  /// - Parameter hasLookedAgain: Whether it has followed ``FlightBeginning/lookAgain`` before.
  func begin(_ request: Request, hasLookedAgain: Bool) -> FlightBeginning {
    change(request.key) { shard in
      if let entry = shard.flights[request.key], !entry.isOutdated(for: request) {
        guard let shared = entry.shared else { return .inTheAir }
        return .arriving(shared, FlightTicket(key: request.key, number: entry.number))
      }
      if shard.unshared.holds(request.key, now: request.now) {
        shard.counts.unshared += 1
        return .unshared
      }
      if !hasLookedAgain, shard.ended.holds(request.key, now: request.now) {
        shard.counts.lookedAgain += 1
        return .lookAgain
      }
      return .leads(shard.lead(request))
    }
  }

  /// A request cannot use what arrives: it leads a flight in that one's place, unless another one has begun already.
  func replace(_ ticket: FlightTicket, _ request: Request) -> FlightBeginning {
    change(request.key) { shard in
      if let entry = shard.flights[request.key], entry.number != ticket.number,
        !entry.isOutdated(for: request)
      {
        guard let shared = entry.shared else { return .inTheAir }
        return .arriving(shared, FlightTicket(key: request.key, number: entry.number))
      }
      return .leads(shard.lead(request))
    }
  }

  /// Waits for the head of the flight that is in the air.
  func follow(_ request: Request) async -> FlightOutcome {
    await Parked.wait { task in
      let joined = change(request.key) {
        $0.join(Waiter(request: request, task: task), limit: rules.followers)
      }
      switch joined {
      case .waits(let ticket):
        if let ticket { keepLease(of: ticket) }
      case .no(let outcome): task.resume(outcome)
      }
    }
  }

  /// Elects another leader when the first one's lease has passed.
  private func keepLease(of ticket: FlightTicket) {
    guard let loop = EventLoop.current else { return }
    Task(executorPreference: loop) { [self] in
      await loop.sleep(for: rules.lease)
      let elected = change(ticket.key) { $0.leaseExpired(ticket) }
      elected?.task.resume(.elected(ticket))
    }
  }

  // MARK: Leaders' events

  /// A leader's response may be shared. Where its body still arrives, others may join until ``ended(_:now:)``.
  func landed(_ ticket: FlightTicket, _ shared: SharedResponse, isArriving: Bool, now: Int64) {
    let followers = change(ticket.key) { $0.landed(ticket, shared, isArriving: isArriving, now: now) }
    for follower in followers { follower.task.resume(.landed(shared, shared.seat())) }
  }

  /// A leader's response is here as a whole. True where nobody waits for it: then the flight is over.
  func endedAlone(_ ticket: FlightTicket, isShareable: Bool, now: Int64) -> Bool {
    change(ticket.key) { shard in
      guard let entry = shard.entry(ticket) else { return true }
      guard entry.flight.waiting.isEmpty, entry.flight.leading == 1 else { return false }
      shard.remove(ticket, now: now)
      if isShareable { shard.unshared.forget(ticket.key) } else { note(&shard, ticket.key, now) }
      return true
    }
  }

  private func note(_ shard: inout Shard, _ key: RecordKey, _ now: Int64) {
    shard.unshared.note(key, until: now &+ rules.unshared.nanoseconds)
  }

  /// A leader's response may not be shared: all who wait go on at once, and the key is remembered.
  func refused(_ ticket: FlightTicket, isRemembered: Bool, now: Int64) {
    let followers = change(ticket.key) { shard in
      if isRemembered { note(&shard, ticket.key, now) }
      return shard.refused(ticket, now: now)
    }
    for follower in followers { follower.task.resume(.released) }
  }

  /// A leader has no response that is worth sharing.
  func failed(_ ticket: FlightTicket, _ failure: Failure, now: Int64) {
    let outcome = change(ticket.key) { $0.failed(ticket, failure, now: now) }
    outcome.elected?.task.resume(.elected(ticket))
    for follower in outcome.content + outcome.failed { follower.task.resume(.failed(failure)) }
  }

  /// The body has ended, in whatever way: nobody joins any more.
  func ended(_ ticket: FlightTicket, now: Int64) {
    change(ticket.key) { $0.remove(ticket, now: now) }
  }

  /// A key whose responses were not shared has one that may be.
  func becameShareable(_ key: RecordKey) {
    change(key) { $0.unshared.forget(key) }
  }

  func count(_ key: RecordKey, _ event: (inout FlightCounts) -> Void) {
    change(key) { event(&$0.counts) }
  }

  // MARK: Figures

  /// What happened so far, and what is in the air.
  func figures(now: Int64) -> FlightFigures {
    var figures = FlightFigures()
    for place in shards.indices {
      shards[place].withLock { shard in
        figures.inTheAir += shard.flights.count + shard.outdated.count
        figures.waiting += shard.flights.values.reduce(0) { $0 + $1.flight.waiting.count }
        figures.waiting += shard.outdated.values.reduce(0) { $0 + $1.flight.waiting.count }
        figures.rememberedKeys += shard.unshared.count(now: now)
        figures.counts.add(shard.counts)
      }
    }
    return figures
  }
}

extension Flights.Entry {
  fileprivate func isOutdated(for request: Request) -> Bool {
    guard let mark, let asked = request.mark else { return false }
    return asked.isLater(than: mark)
  }
}

// One method for each event; each changes the tables and hands out whom to wake.
extension Flights.Shard {
  fileprivate mutating func lead(_ request: Request) -> FlightTicket {
    lastNumber += 1
    counts.led += 1
    if let old = flights[request.key], !old.flight.waiting.isEmpty { outdated[old.number] = old }
    flights[request.key] = Flights.Entry(number: lastNumber, mark: request.mark)
    return FlightTicket(key: request.key, number: lastNumber)
  }

  fileprivate func entry(_ ticket: FlightTicket) -> Flights.Entry? {
    if let entry = flights[ticket.key], entry.number == ticket.number { return entry }
    return outdated[ticket.number]
  }

  /// Changes the ticket's flight, unless that is over.
  private mutating func change<Result>(
    _ ticket: FlightTicket, _ body: (inout Flights.Entry) -> Result
  ) -> Result? {
    // Both were found a moment before, under the same lock.
    if flights[ticket.key]?.number == ticket.number { return body(&flights[ticket.key]!) }
    if outdated[ticket.number] != nil { return body(&outdated[ticket.number]!) }
    return nil
  }

  fileprivate enum Joined {
    /// With a ticket: it is the first, and sees to the lease.
    case waits(FlightTicket?)
    case no(FlightOutcome)
  }

  fileprivate mutating func join(_ waiter: Flights.Waiter, limit: Int) -> Joined {
    let key = waiter.request.key
    guard let entry = flights[key], entry.shared == nil, !entry.isOutdated(for: waiter.request) else {
      return .no(.missed)
    }
    let ticket = FlightTicket(key: key, number: entry.number)
    switch change(ticket, { $0.flight.joined(waiter, limit: limit) }) {
    case .first:
      counts.followed += 1
      return .waits(ticket)
    case .further:
      counts.followed += 1
      return .waits(nil)
    case .overflowed, nil:
      counts.overflowed += 1
      return .no(.released)
    }
  }

  fileprivate mutating func leaseExpired(_ ticket: FlightTicket) -> Flights.Waiter? {
    guard let elected = change(ticket, { $0.flight.leaseExpired() }) ?? nil else { return nil }
    counts.leaseExpired += 1
    counts.elected += 1
    return elected
  }

  fileprivate mutating func landed(
    _ ticket: FlightTicket, _ shared: SharedResponse, isArriving: Bool, now: Int64
  ) -> [Flights.Waiter] {
    unshared.forget(ticket.key)
    let followers = change(ticket) { entry in
      if entry.shared == nil { entry.shared = shared }
      return entry.flight.landed()
    }
    if !isArriving || outdated[ticket.number] != nil { remove(ticket, now: now) }
    return followers ?? []
  }

  fileprivate mutating func refused(_ ticket: FlightTicket, now: Int64) -> [Flights.Waiter] {
    let followers = change(ticket) { $0.flight.refused() } ?? []
    remove(ticket, now: now)
    counts.released += followers.count
    return followers
  }

  fileprivate mutating func failed(_ ticket: FlightTicket, _ failure: Failure, now: Int64)
    -> Flight<Flights.Waiter>.Failed
  {
    let outcome = change(ticket) { entry in
      entry.flight.leaderFailed { $0.request.hasStale(after: failure) }
    }
    guard let outcome else { return .init() }
    if outcome.elected != nil { counts.elected += 1 }
    counts.failed += outcome.failed.count
    counts.stale += outcome.content.count
    if outcome.isOver { remove(ticket, now: nil) }
    return outcome
  }

  /// - Parameter now: When it brought something; nil where it did not.
  fileprivate mutating func remove(_ ticket: FlightTicket, now: Int64?) {
    if flights[ticket.key]?.number == ticket.number { flights[ticket.key] = nil }
    outdated[ticket.number] = nil
    if let now { ended.note(ticket.key, until: now &+ Flights.afterglow) }
  }
}

extension Request {
  /// Whether a stale response may answer after this failure.
  fileprivate func hasStale(after failure: Failure) -> Bool {
    guard let candidate, let origin = failure.originFailure else { return false }
    return candidate.mayAnswer(after: origin, self)
  }
}
