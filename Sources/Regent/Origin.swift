// An origin as one loop meets it: who it is, the connections to it, and who waits for one.
// A connection comes back only if both messages on it ended exactly; anything else closes it.

import RegentConfig
import RegentHTTP
import RegentLoop

/// What identifies an origin and how it is reached. Connections are shared by requests of one identity only.
struct OriginIdentity: Sendable {
  let host: String
  let port: UInt16
  let isTLS: Bool
  /// The Host field's value.
  let authority: [UInt8]
  let basePath: [UInt8]

  init(_ url: UpstreamURL) {
    host = url.host
    port = url.port
    isTLS = url.scheme == .https
    authority = Array(url.authority.utf8)
    basePath = Array(url.basePath.utf8)
  }
}

/// An origin's connections on one loop.
final class Origin {
  let identity: OriginIdentity
  private let loop: EventLoop
  private let resolver: Resolver
  private let timeouts: Configuration.Timeouts
  private let limit: Int
  private let limits: MessageLimits
  let meters: LoopMeters
  private var idle: [OriginConnection] = []
  private var open = 0
  private var waiting: [Waiter] = []
  private var addresses: (found: [SocketAddress], until: Int64) = ([], .min)
  private var tls: TLSContext?

  private final class Waiter {
    var continuation: CheckedContinuation<Bool, Never>?
  }

  /// How long an answer of the resolver is used.
  static let addressLifetime = Duration.seconds(10)
  static let waitingBound = 1024

  init(
    _ identity: OriginIdentity, on loop: EventLoop, resolver: Resolver, configuration: Configuration,
    meters: LoopMeters
  ) {
    self.identity = identity
    self.loop = loop
    self.resolver = resolver
    timeouts = configuration.timeouts
    limit = configuration.limits.originConnections
    limits = MessageLimits(configuration.limits)
    self.meters = meters
  }

  /// A connection to send one request on: the one that was used last, or a new one.
  func connection(fresh: Bool = false) async throws(Failure) -> OriginConnection {
    while true {
      if !fresh, let connection = takeIdle() { return connection }
      if open < limit { return try await connect() }
      if fresh, let connection = idle.popLast() { drop(connection) } else { try await wait() }
    }
  }

  private func takeIdle() -> OriginConnection? {
    while let connection = idle.popLast() {
      connection.stream.delegate = nil
      connection.stream.setDeadline(nil)
      // What the origin sent unasked would be taken for the next answer (RFC 9112 section 9.2, TRUST A9).
      if connection.stream.isQuiet { return connection }
      if connection.stream.hasArrived { meters.note(.extraBytes) }
      drop(connection)
    }
    return nil
  }

  /// Takes a connection back. `reusable`: both messages ended exactly.
  func giveBack(_ connection: OriginConnection, reusable: Bool) {
    guard reusable, connection.stream.isOpen else { return drop(connection) }
    connection.wasUsed = true
    connection.stream.delegate = connection
    connection.stream.setDeadline(in: timeouts.originIdle)
    connection.stream.resumeReading()
    idle.append(connection)
    wakeNext()
  }

  func drop(_ connection: OriginConnection) {
    idle.removeAll { $0 === connection }
    guard connection.stream.isOpen else { return }
    connection.stream.close()
    open -= 1
    meters.originConnections.set(meters.originConnections.count - 1)
    wakeNext()
  }

  /// Lets go of a connection that became something else: it is none of those any more that requests share.
  func release(_ connection: OriginConnection) {
    open -= 1
    meters.originConnections.add(-1)
    wakeNext()
  }

  /// Closes the connections that nobody uses, for the daemon's end.
  func closeIdle() {
    for connection in idle { drop(connection) }
  }

  private func wakeNext() {
    while !waiting.isEmpty {
      let waiter = waiting.removeFirst()
      guard let continuation = waiter.continuation else { continue }
      waiter.continuation = nil
      return continuation.resume(returning: true)
    }
  }

  private func wait() async throws(Failure) {
    guard waiting.count < Self.waitingBound else { throw .overloaded }
    let waiter = Waiter()
    let bound = LoopBound(waiter, loop)
    let loop = loop
    let patience = timeouts.connect
    let timer = Task(executorPreference: loop) {
      await loop.sleep(for: patience)
      let waiter = bound.value
      waiter.continuation?.resume(returning: false)
      waiter.continuation = nil
    }
    let isTurn = await withCheckedContinuation { continuation in
      waiter.continuation = continuation
      waiting.append(waiter)
    }
    timer.cancel()
    waiting.removeAll { $0 === waiter }
    if !isTurn { throw .overloaded }
  }

  // MARK: Connecting

  private func connect() async throws(Failure) -> OriginConnection {
    open += 1
    do throws(StreamError) {
      let stream = try await connectedStream()
      meters.originConnections.add(1)
      return OriginConnection(stream, origin: self, limits: limits)
    } catch {
      open -= 1
      wakeNext()
      let failure = Failure(connecting: error)
      meters.note(failure.fault)
      throw failure
    }
  }

  private func connectedStream() async throws(StreamError) -> ByteStream {
    var failure = StreamError.nameNotFound("no address")
    for address in try await resolved() {
      do throws(StreamError) {
        let stream = try await ByteStream.connect(to: address, on: loop, timeout: timeouts.connect)
        if identity.isTLS { try await startTLS(stream) }
        return stream
      } catch {
        failure = error
        if case .tls = error { break }  // another address of the same name has the same certificate
      }
    }
    throw failure
  }

  private func startTLS(_ stream: ByteStream) async throws(StreamError) {
    do throws(StreamError) {
      let context = try tlsContext()
      stream.setDeadline(in: timeouts.connect)
      try await stream.startTLS(context, host: identity.host)
      stream.setDeadline(nil)
    } catch {
      stream.close()
      throw error
    }
  }

  private func tlsContext() throws(StreamError) -> TLSContext {
    if let tls { return tls }
    do throws(TLSFailure) {
      let made = try TLSContext()
      tls = made
      return made
    } catch {
      throw .tls(error)
    }
  }

  /// Keeps what the TLS session learnt for the next handshake.
  func remember(_ connection: OriginConnection) {
    if let tls { connection.stream.rememberSession(in: tls) }
  }

  private func resolved() async throws(StreamError) -> [SocketAddress] {
    if loop.clock.now < addresses.until { return addresses.found }
    let found = try await resolver.resolve(host: identity.host, port: identity.port)
    addresses = (found, loop.clock.now &+ Self.addressLifetime.nanoseconds)
    return found
  }
}

extension MessageLimits {
  init(_ limits: Configuration.Limits) {
    self.init(head: limits.head.bytes, line: limits.line.bytes, fields: limits.fields)
  }
}
