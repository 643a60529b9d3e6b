// What is known of names: their addresses for a while, and for a shorter while that they have none. A pure machine: one
// method for each event, which returns what is to be done. Those who ask for one name at once share one look-up.

/// The names that were looked up lately.
struct NameTable {
  struct Name: Hashable, Sendable {
    let host: String
    let port: UInt16
  }

  /// The number of somebody who waits for an answer.
  typealias Waiter = UInt64
  typealias Answer = Result<[SocketAddress], StreamError>

  enum Asked: Equatable {
    case known(Answer)
    /// Wait; somebody looks it up already.
    case wait(Waiter)
    /// Look it up, and wait.
    case lookUp(Waiter)
  }

  private enum Entry {
    case known(Answer, until: Int64)
    case asking([Waiter])
  }

  /// How long addresses are used, and how long a name is taken to have none; in nanoseconds.
  let lifetime: Int64
  let missingLifetime: Int64
  /// The most names that are remembered.
  let bound: Int
  private var entries: [Name: Entry] = [:]
  private var lastWaiter: Waiter = 0

  var count: Int { entries.count }

  init(lifetime: Duration, missingLifetime: Duration, bound: Int) {
    self.lifetime = lifetime.nanoseconds
    self.missingLifetime = missingLifetime.nanoseconds
    self.bound = bound
  }

  /// Somebody wants a name's addresses.
  mutating func asked(_ name: Name, now: Int64) -> Asked {
    switch entries[name] {
    case .known(let answer, let until) where now < until: return .known(answer)
    case .asking(let waiters):
      lastWaiter += 1
      entries[name] = .asking(waiters + [lastWaiter])
      return .wait(lastWaiter)
    case .known, nil:
      if entries[name] == nil { makeRoom() }
      lastWaiter += 1
      entries[name] = .asking([lastWaiter])
      return .lookUp(lastWaiter)
    }
  }

  /// A look-up came to its end. Gives those who wait for it.
  mutating func answered(_ name: Name, _ answer: Answer, now: Int64) -> [Waiter] {
    guard case .asking(let waiters) = entries[name] else { return [] }
    let lifetime =
      switch answer {
      case .success: lifetime
      case .failure: missingLifetime
      }
    let (until, overflow) = now.addingReportingOverflow(lifetime)
    entries[name] = nil
    makeRoom()
    // Where more names than that are being looked up, the answer serves those alone who wait for it.
    guard entries.count < bound else { return waiters }
    entries[name] = .known(answer, until: overflow ? .max : until)
    return waiters
  }

  /// Somebody waits no longer; the look-up goes on.
  mutating func waiterLeft(_ waiter: Waiter, for name: Name) {
    guard case .asking(let waiters) = entries[name] else { return }
    entries[name] = .asking(waiters.filter { $0 != waiter })
  }

  /// Forgets what ends first, until there is room for one more; names that are being looked up stay.
  private mutating func makeRoom() {
    while entries.count >= bound {
      var first: (name: Name, until: Int64)?
      for (name, entry) in entries {
        guard case .known(_, let until) = entry, until <= first?.until ?? .max else { continue }
        first = (name, until)
      }
      guard let first else { return }
      entries[first.name] = nil
    }
  }
}
