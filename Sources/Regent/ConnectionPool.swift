// Which connection to an origin a request gets: one that is unused, a new one, or one to wait for. A pure machine: one
// method for each event, which returns what is to be done. Who waits is served in the order of asking.

/// The connections to one origin on one loop, as counts and queues.
///
/// While somebody waits, no connection is unused and all that may be open are: so nobody can overtake.
struct ConnectionPool<Connection: AnyObject> {
  /// The number of a request that waits.
  typealias Waiter = UInt64

  /// What becomes of a request that asks for a connection.
  enum Asked {
    /// It takes this unused one.
    case use(Connection)
    /// It opens a new one, after this unused one is closed.
    case open(closing: Connection?)
    case wait(Waiter)
    /// Too many wait already.
    case refuse
  }

  /// What becomes of a connection that is handed back in good order.
  enum Returned {
    /// It stays, unused; this other one has been unused for longest and is closed.
    case keep(closing: Connection?)
    /// Whoever waits longest takes it.
    case hand(to: Waiter)
    /// It is closed: whoever waits longest opens a new one in its place.
    case replace(for: Waiter)
    /// It is closed: none is to be kept.
    case close
  }

  private struct Place {
    let waiter: Waiter
    let fresh: Bool
  }

  /// The most connections, used or not, the most unused ones, and the most requests that wait.
  let limit: Int
  let idleLimit: Int
  let waitingLimit: Int
  /// The unused ones, the one that was used last at the end.
  private(set) var idle: [Connection] = []
  /// How many are open or being opened.
  private(set) var open = 0
  private var places: [Place] = []
  private var lastWaiter: Waiter = 0

  var waiting: Int { places.count }

  init(limit: Int, idleLimit: Int, waitingLimit: Int) {
    precondition(limit > 0, "an origin that may have no connection cannot be asked")
    (self.limit, self.idleLimit, self.waitingLimit) = (limit, idleLimit, waitingLimit)
  }

  /// A request wants a connection; a `fresh` one must not have been used before.
  mutating func connectionAsked(fresh: Bool) -> Asked {
    if !fresh, let last = idle.popLast() { return .use(last) }
    if open < limit {
      open += 1
      return .open(closing: nil)
    }
    // It takes the place of the one that has been unused for longest.
    if fresh, !idle.isEmpty { return .open(closing: idle.removeFirst()) }
    guard places.count < waitingLimit else { return .refuse }
    lastWaiter += 1
    places.append(Place(waiter: lastWaiter, fresh: fresh))
    return .wait(lastWaiter)
  }

  /// A request takes an unused connection, if there is one.
  mutating func unusedAsked() -> Connection? { idle.popLast() }

  /// A connection is handed back, both of whose messages ended exactly.
  mutating func connectionReturned(_ connection: Connection) -> Returned {
    if !places.isEmpty {
      let first = places.removeFirst()
      return first.fresh ? .replace(for: first.waiter) : .hand(to: first.waiter)
    }
    guard idleLimit > 0 else {
      open -= 1
      return .close
    }
    idle.append(connection)
    return .keep(closing: idle.count > idleLimit ? retireOldest() : nil)
  }

  /// A connection that was in use is closed, or one could not be opened. Whoever waits longest opens one in its place.
  mutating func connectionClosed() -> Waiter? {
    guard places.isEmpty else { return places.removeFirst().waiter }
    open -= 1
    return nil
  }

  /// An unused connection ended. False if it is none of the unused ones.
  mutating func idleConnectionEnded(_ connection: Connection) -> Bool {
    guard let index = idle.lastIndex(where: { $0 === connection }) else { return false }
    idle.remove(at: index)
    open -= 1
    return true
  }

  /// A request has waited for long enough. False if it waits no longer.
  mutating func waiterLeft(_ waiter: Waiter) -> Bool {
    guard let index = places.firstIndex(where: { $0.waiter == waiter }) else { return false }
    places.remove(at: index)
    return true
  }

  private mutating func retireOldest() -> Connection {
    open -= 1
    return idle.removeFirst()
  }
}
