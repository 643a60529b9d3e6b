// The server as one loop has it: its listeners, its connections, its counters, and the way from a head to a request.

import RegentCaching
import RegentConfig
import RegentHTTP
import RegentLoop
import RegentStorage

final class LoopServer {
  let loop: EventLoop
  let chain: Chain
  let meters: LoopMeters
  let writer: ResponseWriter
  let limits: MessageLimits
  let timeouts: Configuration.Timeouts
  let log: ServerLog
  private(set) var isDraining = false
  let heads: UnfinishedHeads
  private let routing: Routing
  private let connectionLimit: Int
  private var listeners: [Listener] = []
  private var connections: [ObjectIdentifier: ClientConnection] = [:]
  private var surplus = 0
  private var recent = RecentHeads()
  /// For answers with several ranges.
  var boundaries = Boundaries()
  var sections = RecentSections()
  private var lastHost: Routing.Host

  /// How many connections beyond the limit each loop lets in, so that the admin pages can still be asked why.
  static let surplusLimit = 8

  init(_ parts: DaemonParts, on loop: EventLoop) {
    self.loop = loop
    chain = parts.chain
    meters = parts.meters[loop.index]
    writer = ResponseWriter(name: parts.configuration.server.name)
    limits = MessageLimits(parts.configuration.limits)
    heads = UnfinishedHeads(bound: parts.configuration.limits.unfinishedHeads.bytes)
    timeouts = parts.configuration.timeouts
    log = parts.log
    routing = parts.routing
    lastHost = parts.routing.host([])
    connectionLimit = max(1, parts.connectionLimit / parts.meters.count)
  }

  // MARK: Connections

  func listen(_ sockets: [ListeningSocket]) {
    for socket in sockets {
      listeners.append(Listener(socket, on: loop) { [unowned self] stream in accepted(stream) })
    }
  }

  private func accepted(_ stream: ByteStream) {
    meters.accepted.add(1)
    meters.exhausted.set(listeners.reduce(0) { $0 + $1.exhaustions })
    let isSurplus = connections.count - surplus >= connectionLimit
    if isSurplus, surplus >= Self.surplusLimit {
      meters.refused.add(1)
      stream.close()
      return
    }
    if isSurplus { surplus += 1 }
    let connection = ClientConnection(stream, server: self, isSurplus: isSurplus)
    connections[ObjectIdentifier(connection)] = connection
    meters.connections.set(connections.count)
    connection.start()
  }

  func closed(_ connection: ClientConnection) {
    guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
    if connection.isSurplus { surplus -= 1 }
    meters.connections.set(connections.count)
  }

  /// A connection waits for the rest of a head; the oldest such ones go where all together hold too much.
  func holdHead(_ connection: ClientConnection, bytes: Int) {
    for oldest in heads.hold(bytes, connection) { oldest.shed() }
  }

  /// Stops accepting, ends idle connections, and lets the others finish.
  func drain() {
    isDraining = true
    for listener in listeners { listener.close() }
    listeners = []
    for connection in connections.values where [.idle, .receivingHead, .warm].contains(connection.state) {
      connection.close()
    }
  }

  /// Ends what is left.
  func closeAll() {
    for connection in Array(connections.values) { connection.abort() }
  }

  var isEmpty: Bool { connections.isEmpty }

  // MARK: From a head to a request

  /// The request that a head makes. One that no domain may be asked carries its refusal.
  func request(_ head: consuming RequestHead, from connection: ClientConnection) -> Request {
    let routed = route(head, isSurplus: connection.isSurplus)
    // A domain's own rules may make another key of the same bytes tomorrow.
    if !connection.isSurplus, !routed.domain.hasKeyRules { recent.note(routed) }
    return request(routed, connection, connection.content)
  }

  /// The request that was just received, if it is one whole head that came before just so.
  func recentRequest(from connection: ClientConnection) -> Request? {
    recent.find(loop.scratch).map { request($0, connection, nil) }
  }

  private func request(
    _ routed: RoutedHead, _ connection: ClientConnection, _ content: RequestContent?
  ) -> Request {
    let clock = loop.clock
    return Request(
      routed, directives: routed.directives, wall: clock.wall, now: clock.now,
      body: content.map { LoopBoundContent($0, on: loop) }, client: LoopBound(connection, loop),
      meters: meters)
  }

  private func route(_ head: consuming RequestHead, isSurplus: Bool) -> RoutedHead {
    if !lastHost.isNamed(by: head) { lastHost = routing.host(head.fields.bytes[head.host]) }
    let routed = routing.routed(consume head, at: lastHost)
    switch routed.refusal {
    case .misdirected?: meters.misdirected.add(1)
    case .loopDetected?: meters.loopsDetected.add(1)
    default: break
    }
    guard isSurplus, routed.refusal == nil, routed.domain.number != routing.adminDomain else { return routed }
    return routing.refused(routed.head, .connectionsExhausted)
  }
}
