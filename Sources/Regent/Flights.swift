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
  /// How long a reader of a body that is not kept may take less than a window while others wait.
  var patience = Duration.seconds(30)
}

extension FlightRules {
  init(_ configured: Configuration) {
    let flights = configured.flights
    (lease, followers, unshared) = (flights.lease, flights.followers, flights.hitForMiss)
    patience = configured.timeouts.writeStall
  }
}

/// The right, and the duty, to fetch for all who wait: each ticket is ended exactly once.
struct FlightTicket: Sendable {
  let key: RecordKey
  let number: UInt64
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

  struct Shard {
    fileprivate var flights = FlightList()
    fileprivate var lastNumber: UInt64 = 0
    fileprivate var unshared = KeyNotes(places: Flights.rememberedKeys / Flights.shardCount)
    fileprivate var ended = KeyNotes(places: 16)
    var counts = FlightCounts()
  }

  static let shardCount = 64
  /// The most keys that are remembered because their responses are not shared.
  static let rememberedKeys = 16_384
  /// How long after a flight's end a request that missed the cache before it looks again, in nanoseconds.
  static let afterglow: Int64 = 1_000_000_000

  let rules: FlightRules
  private let unshared: Int64
  // Each guards the flights of some keys, for a few operations on tables; no task is resumed under it.
  private let shards = InlineArray<64, Lock<Shard>> { _ in Lock(Shard()) }

  init(_ rules: FlightRules = FlightRules()) {
    self.rules = rules
    unshared = rules.unshared.nanoseconds
  }

  private static func place(_ key: RecordKey) -> Int { Int(truncatingIfNeeded: key.hash >> 58) }

  private func change<Result: Sendable>(_ key: RecordKey, _ body: (inout Shard) -> Result) -> Result {
    shards[Self.place(key)].withLock { body(&$0) }
  }

  // MARK: Requests' events

  /// A cache let a request pass.
  ///
  /// - Parameter hasLookedAgain: Whether it has followed ``FlightBeginning/lookAgain`` before.
  func begin(_ request: Request, hasLookedAgain: Bool) -> FlightBeginning {
    change(request.key) { shard in
      if let found = shard.found(by: request) { return found }
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
      if let index = shard.flights.index(of: request.key), shard.flights[index].number != ticket.number,
        let found = shard.found(by: request)
      {
        return found
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
  func endedAlone(_ ticket: FlightTicket, isShareable: Bool, isRemembered: Bool, now: Int64) -> Bool {
    change(ticket.key) { shard in
      guard let index = shard.flights.index(of: ticket) else { return true }
      guard shard.flights[index].flight.isLonely else { return false }
      shard.remove(at: index, now: now)
      if isShareable { shard.unshared.forget(ticket.key) }
      if isRemembered { note(&shard, ticket.key, now) }
      return true
    }
  }

  private func note(_ shard: inout Shard, _ key: RecordKey, _ now: Int64) {
    shard.unshared.note(key, until: now &+ unshared)
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
    change(ticket.key) { $0.ended(ticket, now: now) }
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
        figures.inTheAir += shard.flights.count
        figures.waiting += shard.flights.waiting
        figures.rememberedKeys += shard.unshared.count(now: now)
        figures.counts.add(shard.counts)
      }
    }
    return figures
  }
}

// One method for each event; each changes the list and hands out whom to wake.
extension Flights.Shard {
  /// What a request finds in the air; nil where there is nothing that it may join.
  fileprivate func found(by request: Request) -> FlightBeginning? {
    guard let index = flights.index(of: request.key), !flights[index].isOutdated(for: request) else {
      return nil
    }
    guard let shared = flights[index].shared else { return .inTheAir }
    return .arriving(shared, FlightTicket(key: request.key, number: flights[index].number))
  }

  fileprivate mutating func lead(_ request: Request) -> FlightTicket {
    lastNumber &+= 1
    counts.led += 1
    // Who follows that one still does; nobody joins it any more.
    if let index = flights.index(of: request.key) { flights[index].isOpen = false }
    flights.append(FlightEntry(key: request.key, number: lastNumber, mark: request.marks.nearest))
    return FlightTicket(key: request.key, number: lastNumber)
  }

  fileprivate enum Joined {
    /// With a ticket: it is the first, and sees to the lease.
    case waits(FlightTicket?)
    case no(FlightOutcome)
  }

  fileprivate mutating func join(_ waiter: Flights.Waiter, limit: Int) -> Joined {
    guard let index = flights.index(of: waiter.request.key), flights[index].shared == nil,
      !flights[index].isOutdated(for: waiter.request)
    else { return .no(.missed) }
    let ticket = FlightTicket(key: waiter.request.key, number: flights[index].number)
    switch flights[index].flight.joined(waiter, limit: limit) {
    case .first:
      counts.followed += 1
      return .waits(ticket)
    case .further:
      counts.followed += 1
      return .waits(nil)
    case .overflowed:
      counts.overflowed += 1
      return .no(.released)
    }
  }

  fileprivate mutating func leaseExpired(_ ticket: FlightTicket) -> Flights.Waiter? {
    guard let index = flights.index(of: ticket), let elected = flights[index].flight.leaseExpired() else {
      return nil
    }
    counts.leaseExpired += 1
    counts.elected += 1
    return elected
  }

  fileprivate mutating func landed(
    _ ticket: FlightTicket, _ shared: SharedResponse, isArriving: Bool, now: Int64
  ) -> [Flights.Waiter] {
    unshared.forget(ticket.key)
    guard let index = flights.index(of: ticket) else { return [] }
    if flights[index].shared == nil { flights[index].shared = shared }
    let followers = flights[index].flight.landed()
    if !isArriving || !flights[index].isOpen { remove(at: index, now: now) }
    return followers
  }

  fileprivate mutating func refused(_ ticket: FlightTicket, now: Int64) -> [Flights.Waiter] {
    guard let index = flights.index(of: ticket) else { return [] }
    let followers = flights[index].flight.refused()
    remove(at: index, now: now)
    counts.released += followers.count
    return followers
  }

  fileprivate mutating func failed(_ ticket: FlightTicket, _ failure: Failure, now: Int64)
    -> Flight<Flights.Waiter>.Failed
  {
    guard let index = flights.index(of: ticket) else { return .init() }
    let outcome = flights[index].flight.leaderFailed(isFinal: failure.isDemand) {
      $0.request.hasStale(after: failure)
    }
    if outcome.elected != nil { counts.elected += 1 }
    counts.failed += outcome.failed.count
    counts.stale += outcome.content.count
    if outcome.isOver { flights.remove(at: index) }
    return outcome
  }

  fileprivate mutating func ended(_ ticket: FlightTicket, now: Int64) {
    if let index = flights.index(of: ticket) { remove(at: index, now: now) }
  }

  /// A flight is over that brought something.
  fileprivate mutating func remove(at index: Int, now: Int64) {
    ended.note(flights[index].key, until: now &+ Flights.afterglow)
    flights.remove(at: index)
  }
}

extension Request {
  /// Whether a stale response may answer after this failure.
  fileprivate func hasStale(after failure: Failure) -> Bool {
    guard let candidate, let origin = failure.originFailure else { return false }
    return candidate.mayAnswer(after: origin, self)
  }
}
