// One address of an origin as one loop meets it: the connections to it, and who waits for one. Which connection a
// request gets is the pool's to say; a connection comes back only if both messages on it ended exactly.

import RegentConfig
import RegentHTTP
import RegentLoop

/// The connections to one address on one loop.
final class OriginServer {
  let identity: OriginIdentity
  private let loop: EventLoop
  private let connector: OriginConnector
  private let timeouts: Configuration.Timeouts
  /// How long a connection may be unused, in nanoseconds.
  private let idleTime: Int64
  private let limits: MessageLimits
  let meters: LoopMeters
  /// Its place among its origin's addresses; nil for the only one.
  private let share: OriginShare?
  private var pool: ConnectionPool<OriginConnection>
  private var waiters: [ConnectionPool<OriginConnection>.Waiter: CheckedContinuation<Grant, Never>] = [:]

  /// What a request that waited got.
  private enum Grant: Sendable {
    case connection(LoopBound<OriginConnection>)
    /// The right to open one.
    case place
    case nothing
  }

  init(
    _ identity: OriginIdentity, on loop: EventLoop, resolver: Resolver, configuration: Configuration,
    meters: LoopMeters, share: OriginShare? = nil
  ) {
    self.identity = identity
    self.share = share
    self.loop = loop
    connector = OriginConnector(
      identity, on: loop, resolver: resolver, timeouts: configuration.timeouts,
      limits: MessageLimits(configuration.limits))
    timeouts = configuration.timeouts
    idleTime = timeouts.originIdle.nanoseconds
    limits = MessageLimits(configuration.limits)
    self.meters = meters
    pool = ConnectionPool(
      limit: configuration.limits.originConnections, idleLimit: configuration.limits.originIdle,
      waitingLimit: configuration.limits.originWaiting)
  }

  /// The unused connection that was used last; nil where one must be opened, or waited for.
  func unused() -> OriginConnection? {
    while let connection = pool.unusedAsked() {
      if takeIntoUse(connection) { return connection }
    }
    return nil
  }

  /// A connection to send one request on: the one that was used last, or a new one.
  ///
  /// - Parameter deadline: The loop's monotonic time at which whatever it takes is given up.
  func connection(fresh: Bool = false, until deadline: Int64) async throws(Failure) -> OriginConnection {
    while true {
      switch pool.connectionAsked(fresh: fresh) {
      case .use(let connection): if takeIntoUse(connection) { return connection }
      case .open(let oldest):
        if let oldest { closeIdle(oldest) }
        return try await connect(until: deadline)
      case .wait(let waiter): return try await connection(waiting: waiter, until: deadline)
      case .refuse:
        meters.originRefused.add(1)
        throw .overloaded
      }
    }
  }

  /// Takes an unused connection into use; false where it ended, or where the origin sent something unasked, which would
  /// be taken for the next answer (RFC 9112 section 9.2, TRUST A9).
  private func takeIntoUse(_ connection: OriginConnection) -> Bool {
    meters.originIdle.add(-1)
    connection.stream.delegate = nil
    connection.stream.setDeadline(nil)
    if connection.stream.wasQuiet { return true }
    if connection.stream.hasArrived { meters.note(.extraBytes) }
    discard(connection)
    return false
  }

  /// Takes a connection back whose answer came to its end. `reusable`: both messages ended exactly.
  func giveBack(_ connection: OriginConnection, reusable: Bool) {
    share?.requestEnded(isWhole: true)
    // By now the origin has sent what the next handshake can be spared with.
    if !connection.wasUsed, connection.stream.isOpen { connector.remember(connection.stream) }
    guard reusable, connection.stream.isOpen else { return discard(connection) }
    connection.wasUsed = true
    switch pool.connectionReturned(connection) {
    case .keep(let oldest):
      connection.stream.delegate = connection
      connection.stream.setDeadline(loop.clock.time(after: idleTime))
      connection.stream.resumeReading()
      meters.originIdle.add(1)
      if let oldest { closeIdle(oldest) }
    case .hand(let waiter): grant(.connection(LoopBound(connection, loop)), to: waiter)
    case .replace(let waiter):
      close(connection)
      grant(.place, to: waiter)
    case .close: close(connection)
    }
  }

  /// Closes a connection that is in use.
  func drop(_ connection: OriginConnection) {
    guard connection.stream.isOpen else { return }
    share?.requestEnded(isWhole: false)
    discard(connection)
  }

  /// Lets go of a connection that became something else: it is none of those any more that requests share.
  func release(_ connection: OriginConnection) {
    share?.requestEnded(isWhole: false)
    meters.originConnections.add(-1)
    if let waiter = pool.connectionClosed() { grant(.place, to: waiter) }
  }

  /// The address answered.
  func answered() { share?.answered() }

  /// The address broke off before it answered.
  func failed() { share?.failed() }

  /// The address broke off within an answer.
  func broke() { share?.broke() }

  private func discard(_ connection: OriginConnection) {
    guard connection.stream.isOpen else { return }
    close(connection)
    if let waiter = pool.connectionClosed() { grant(.place, to: waiter) }
  }

  /// Closes an unused connection, which ended or was unused for too long.
  func idleEnded(_ connection: OriginConnection) {
    guard pool.idleConnectionEnded(connection) else { return discard(connection) }
    closeIdle(connection)
  }

  /// Closes the connections that nobody uses, for the daemon's end.
  func closeIdle() {
    for connection in pool.idle { idleEnded(connection) }
  }

  private func closeIdle(_ connection: OriginConnection) {
    meters.originIdle.add(-1)
    close(connection)
  }

  private func close(_ connection: OriginConnection) {
    connection.stream.close()
    meters.originConnections.add(-1)
  }

  // MARK: Waiting

  private func connection(
    waiting waiter: ConnectionPool<OriginConnection>.Waiter, until deadline: Int64
  ) async throws(Failure) -> OriginConnection {
    switch await turn(of: waiter, until: deadline) {
    case .connection(let bound):
      let connection = bound.value
      connection.stream.setDeadline(nil)
      // Nobody listened to it on the way: the kernel is asked.
      if connection.stream.isQuiet { return connection }
      if connection.stream.hasArrived { meters.note(.extraBytes) }
      close(connection)
      return try await connect(until: deadline)
    case .place: return try await connect(until: deadline)
    case .nothing:
      meters.originRefused.add(1)
      throw .overloaded
    }
  }

  private func turn(
    of waiter: ConnectionPool<OriginConnection>.Waiter, until deadline: Int64
  ) async -> Grant {
    let bound = LoopBound(self, loop)
    let loop = loop
    let patience = loop.clock.time(in: timeouts.originWait, until: deadline)
    let timer = Task(executorPreference: loop) {
      await loop.sleep(for: patience)
      bound.value.patienceEnded(waiter)
    }
    defer { timer.cancel() }
    return await withCheckedContinuation { continuation in
      waiters[waiter] = continuation
      meters.originWaiting.add(1)
    }
  }

  private func patienceEnded(_ waiter: ConnectionPool<OriginConnection>.Waiter) {
    if pool.waiterLeft(waiter) { grant(.nothing, to: waiter) }
  }

  private func grant(_ grant: Grant, to waiter: ConnectionPool<OriginConnection>.Waiter) {
    meters.originWaiting.add(-1)
    waiters.removeValue(forKey: waiter)?.resume(returning: grant)
  }

  // MARK: Connecting

  /// Opens a connection in a place that the pool gave.
  private func connect(until deadline: Int64) async throws(Failure) -> OriginConnection {
    do throws(StreamError) {
      let stream = try await connector.connect(until: deadline)
      meters.originConnections.add(1)
      meters.originOpened.add(1)
      if stream.isResumed { meters.tlsResumed.add(1) }
      return OriginConnection(stream, server: self, limits: limits)
    } catch {
      if let waiter = pool.connectionClosed() { grant(.place, to: waiter) }
      share?.failed()
      let failure = Failure(connecting: error)
      meters.note(failure.fault)
      throw failure
    }
  }
}

extension MessageLimits {
  init(_ limits: Configuration.Limits) {
    self.init(head: limits.head.bytes, line: limits.line.bytes, fields: limits.fields)
  }
}
