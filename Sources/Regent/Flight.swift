// One fetch that several requests wait for, as a pure machine: who fetches (leads), who waits (follows), and what becomes
// of each. No lock, no clock, no task: events come in, in the past tense, and what is to be done goes out.
//
// At most two lead in a flight's whole life: the first, and one who is elected when the first failed or let the lease pass
// without a head. So a dead origin is asked twice, however many wait, and a hanging leader holds nobody up for good.

/// A flight. `Follower` is whoever waits.
struct Flight<Follower> {
  /// The most that ever lead.
  static var mostLeaders: Int { 2 }

  private(set) var waiting: [Follower] = []
  /// How many fetch now, and how many did so in all.
  private(set) var leading = 1
  private(set) var led = 1
  /// Whether there is a head that others may use.
  private(set) var isLanded = false

  /// Whether one leads, and nobody waits.
  var isLonely: Bool { waiting.isEmpty && leading == 1 }

  enum Joined: Equatable { case first, further, overflowed }

  /// A request for the same came; without room among the waiting it goes on alone.
  mutating func joined(_ follower: Follower, limit: Int) -> Joined {
    precondition(!isLanded && leading > 0, "nobody waits for a flight that has ended")
    guard waiting.count < limit else { return .overflowed }
    waiting.append(follower)
    return waiting.count == 1 ? .first : .further
  }

  /// A head came that others may use: those that waited take it.
  mutating func landed() -> [Follower] {
    isLanded = true
    return takeAll()
  }

  /// A head came that others may not use: those that waited go on, all at once.
  mutating func refused() -> [Follower] { takeAll() }

  /// What a leader's failure brings about.
  struct Failed {
    /// Those who need not wait any longer, because a stale response answers them.
    var content: [Follower] = []
    /// The next leader.
    var elected: Follower?
    /// Those whose outcome is the failure.
    var failed: [Follower] = []
    /// Whether nobody fetches any more.
    var isOver = false
  }

  /// One who led has failed. `isContent` says of a follower that it has something stale which may answer now.
  ///
  /// - Parameter isFinal: Whether nobody is to ask once more.
  mutating func leaderFailed(isFinal: Bool = false, isContent: (Follower) -> Bool) -> Failed {
    leading -= 1
    var outcome = Failed()
    guard !isLanded else { return outcome }
    outcome.content = waiting.filter(isContent)
    if !outcome.content.isEmpty { waiting.removeAll(where: isContent) }
    if leading == 0 {
      outcome.elected = isFinal ? nil : elect()
      if outcome.elected == nil {
        outcome.failed = takeAll()
        outcome.isOver = true
      }
    }
    return outcome
  }

  /// The lease passed without a head: one of those that wait leads, too.
  mutating func leaseExpired() -> Follower? { isLanded ? nil : elect() }

  private mutating func elect() -> Follower? {
    guard led < Self.mostLeaders, !waiting.isEmpty else { return nil }
    led += 1
    leading += 1
    return waiting.removeFirst()
  }

  private mutating func takeAll() -> [Follower] {
    defer { waiting = [] }
    return waiting
  }
}

extension Flight: Sendable where Follower: Sendable {}
extension Flight.Failed: Sendable where Follower: Sendable {}
