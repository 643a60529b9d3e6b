// The last in most chains: asks the origin. Sends what was parsed, written anew; reads the answer as it comes; turns a
// 304 to its own question into the stored response that it confirms.

import RegentCaching
import RegentConfig
import RegentHTTP
import RegentLoop
import RegentStorage

/// Fetches from the domains' origins over HTTP/1.1 and TLS.
public final class UpstreamProvider: Provider {
  public let name = "upstream"
  private let origins: LoopLocal<[Origin?]>
  private let identities: [OriginIdentity?]
  let timeouts: Configuration.Timeouts
  let via: [UInt8]
  let tunnelLimit: Int
  private let bodyWindow = 512 << 10

  init(_ configuration: Configuration, group: LoopGroup, resolver: Resolver, meters: [LoopMeters]) {
    let identities = configuration.domains.map { $0.upstream.map(OriginIdentity.init) }
    self.identities = identities
    timeouts = configuration.timeouts
    tunnelLimit = configuration.limits.tunnels
    via = Array("1.1 \(configuration.server.name)".utf8)
    origins = LoopLocal(group) { loop in
      identities.map { identity in
        identity.map {
          Origin($0, on: loop, resolver: resolver, configuration: configuration, meters: meters[loop.index])
        }
      }
    }
  }

  public func perform(_ request: Request) async throws -> Response {
    guard request.domain.number < identities.count, let identity = identities[request.domain.number] else {
      throw Unhandled()
    }
    if request.directives.onlyIfCached { throw Failure.onlyIfCached }
    guard let origin = origins.value[request.domain.number] else { throw Unhandled() }
    try admit(request)
    if let response = try await fetch(request, identity, origin) { return response }
    // Its 304 is about another response than the stored one (RFC 9111 section 4.3.4), or its part does not belong to
    // the stored ones (section 3.4): ask as if nothing were stored.
    let whole = request.withoutCandidate()
    if let response = try await fetch(whole, identity, origin),
      response.status != 304 || whole.asksConditionally
    {
      return response
    }
    throw Failure.malformedResponse("Its 304 confirms a response that is not the stored one.")
  }

  /// The origin's response; nil where it confirms a stored one that it does not know.
  private func fetch(
    _ request: Request, _ identity: OriginIdentity, _ origin: Origin
  ) async throws(Failure) -> Response? {
    let started = EventLoop.current?.clock.wall ?? request.wall
    let (connection, head) = try await exchange(request, identity, origin)
    let ended = EventLoop.current?.clock.wall ?? started
    return try respond(request, connection, head, requestTime: started, responseTime: ended)
  }

  /// Closes the calling loop's connections that nobody uses: without this they and their loop would hold each other.
  func closeIdle() {
    for origin in origins.value { origin?.closeIdle() }
  }

  // MARK: Asking

  private func exchange(
    _ request: Request, _ identity: OriginIdentity, _ origin: Origin
  ) async throws(Failure) -> (OriginConnection, ResponseHead) {
    request.meters.originRequests.add(1)
    let connection = try await origin.connection()
    do throws(Failure) {
      return (connection, try await ask(connection, request, identity))
    } catch {
      let mayRepeat = connection.wasUsed && request.body == nil && request.method.isIdempotent
      connection.close()
      // The origin closed the idle connection as it was reused: nobody saw the request (RFC 9112 section 9.3.1).
      guard error == .closedBeforeResponse, mayRepeat else { throw error }
    }
    request.meters.originRetries.add(1)
    let fresh = try await origin.connection(fresh: true)
    do throws(Failure) {
      return (fresh, try await ask(fresh, request, identity))
    } catch {
      fresh.close()
      throw error
    }
  }

  // MARK: Answering

  private func respond(
    _ request: Request, _ connection: OriginConnection, _ head: ResponseHead, requestTime: Int64,
    responseTime: Int64
  ) throws(Failure) -> Response? {
    do throws(Failure) {
      if head.status == 101 { return try tunnel(request, connection, head) }
      try Self.checkAsked(head, request)
      let framing = try Self.framing(head, request.method)
      let body = try self.body(connection, head, framing)
      return Received(head, requestTime: requestTime, responseTime: responseTime).response(to: request, body)
    } catch {
      request.meters.note(error.fault)
      connection.close()
      throw error
    }
  }

  private static func framing(_ head: ResponseHead, _ method: Method) throws(Failure) -> BodyFraming {
    do throws(ParseError) { return try head.framing(answering: method) } catch {
      throw Failure(error)
    }
  }

  private func body(
    _ connection: OriginConnection, _ head: ResponseHead, _ framing: BodyFraming
  ) throws(Failure) -> ResponseBody {
    let keepAlive = head.keepAlive && connection.sentWhole
    if let (body, reusable) = try connection.wholeBody(framing, keepAlive: keepAlive) {
      if keepAlive, !reusable { connection.noteExtraBytes() }
      connection.giveBack(reusable: reusable)
      return body
    }
    var expected: Int?
    if case .length(let length) = framing { expected = length }
    let stream = BodyStream(expected: expected, window: bodyWindow)
    let writer = stream.makeWriter()
    let loop = connection.stream.loop
    let bound = LoopBound(connection, loop)
    let timeouts = timeouts
    Task(executorPreference: loop) { await bound.value.fill(writer, framing, keepAlive: keepAlive, timeouts) }
    return .stream(stream)
  }
}
