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
  private let timeouts: Configuration.Timeouts
  private let via: [UInt8]
  private let bodyWindow = 512 << 10

  init(_ configuration: Configuration, group: LoopGroup, resolver: Resolver, meters: [LoopMeters]) {
    let identities = configuration.domains.map { $0.upstream.map(OriginIdentity.init) }
    self.identities = identities
    timeouts = configuration.timeouts
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

  private func ask(
    _ connection: OriginConnection, _ request: Request, _ identity: OriginIdentity
  ) async throws(Failure) -> ResponseHead {
    let loop = connection.stream.loop
    var writer = MessageWriter(reusing: loop.takeBuffer())
    defer { loop.giveBack(writer.takeBytes()) }
    writer.head(asking: identity, request, via: via)
    do throws(StreamError) {
      try await connection.stream.write(writer.bytes, stall: timeouts.writeStall)
    } catch {
      // It may have answered and closed before it read everything: its answer decides.
      guard case .system = error else { throw Failure(awaiting: error) }
      connection.sentWhole = false
    }
    guard let body = request.body else {
      connection.stream.setDeadline(in: timeouts.firstByte)
      return try await connection.head(for: request)
    }
    return try await upload(body, request, connection)
  }

  /// Sends the content while the answer is awaited already: an early one ends the sending.
  private func upload(
    _ body: any RequestBody, _ request: Request, _ connection: OriginConnection
  ) async throws(Failure) -> ResponseHead {
    let loop = connection.stream.loop
    let bound = LoopBound(connection, loop)
    let stall = timeouts.writeStall
    let patience = timeouts.firstByte
    connection.sentWhole = false
    let sending = Task(executorPreference: loop) { () -> Failure? in
      let connection = bound.value
      var upload = Upload(body, connection.stream, stall: stall)
      let failure = await upload.run()
      connection.sentWhole = upload.isWhole
      if failure != nil { connection.stream.interruptReading() }
      connection.stream.setDeadline(in: patience)
      return failure
    }
    do throws(Failure) {
      let head = try await connection.head(for: request)
      body.abandon()
      // Also the last bytes, which are read from the client already: an origin that has answered may never take them.
      connection.stream.interruptWriting()
      _ = await sending.value
      connection.stream.setDeadline(nil)
      return head
    } catch {
      body.abandon()
      connection.stream.interruptWriting()
      if let failure = await sending.value, error == .closedBeforeResponse { throw failure }
      throw error
    }
  }

  // MARK: Answering

  private func respond(
    _ request: Request, _ connection: OriginConnection, _ head: ResponseHead, requestTime: Int64,
    responseTime: Int64
  ) throws(Failure) -> Response? {
    do throws(Failure) {
      let framing = try Self.framing(head, request.method)
      let body = try self.body(connection, head, framing)
      return Received(head, requestTime: requestTime, responseTime: responseTime).response(to: request, body)
    } catch {
      connection.close()
      throw error
    }
  }

  private static func framing(_ head: ResponseHead, _ method: Method) throws(Failure) -> BodyFraming {
    do throws(ParseError) { return try head.framing(answering: method) } catch {
      throw .malformedResponse(error.description)
    }
  }

  private func body(
    _ connection: OriginConnection, _ head: ResponseHead, _ framing: BodyFraming
  ) throws(Failure) -> ResponseBody {
    let keepAlive = head.keepAlive && connection.sentWhole
    if let (body, reusable) = try connection.wholeBody(framing, keepAlive: keepAlive) {
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

extension MessageWriter {
  /// The head that asks an origin for a request's answer.
  mutating func head(asking identity: OriginIdentity, _ request: Request, via: [UInt8]) {
    let fields =
      request.isForCache
      ? request.head.fields.withoutUnkeyed(keyed: request.keyedFields) : request.head.fields
    requestLine(request.method, identity: identity, request: request)
    field(.host, bytes: identity.authority)
    forwarded(fields, except: RequestFields.kept(from: request))
    if request.asksToConfirm {
      var conditions = Fields()
      request.addConditions(to: &conditions)
      for line in conditions.lines { self.line(line, of: conditions) }
    }
    if let missing = request.missing {
      field(.range, bytes: missing.gap.range)
      if let validator = missing.validator { field(.ifRange, bytes: validator.value) }
    }
    switch request.body?.framing {
    case .length(let length)?: field(.contentLength, decimal: length)
    case .chunked?: field(.transferEncoding, "chunked")
    case nil, .some(.none), .untilClose?:
      if request.head.framing == .length(0) { field(.contentLength, decimal: 0) }
    }
    field(.via, bytes: via)
    endHead()
  }

  mutating func requestLine(_ method: Method, identity: OriginIdentity, request: Request) {
    let asked = request.head.target
    // RFC 9112 section 3.2.4: OPTIONS for an origin as a whole, in either form, is asked with an asterisk.
    let isServerWide = asked.pathIsRoot && asked.query == nil && request.method == .options
    if asked.form == .asterisk || isServerWide { return requestLine(request.method, target: [0x2A]) }
    var target = identity.basePath
    target.append(contentsOf: request.pathBytes)
    if let query = request.queryBytes {
      target.append(0x3F)
      target.append(contentsOf: query)
    }
    requestLine(method, target: target[...])
  }

  /// A field whose value is Regent's own and was checked when it was made.
  mutating func field(_ name: FieldName, bytes value: [UInt8]) {
    guard let value = FieldValue(validating: value) else { return }
    field(name, value)
  }
}
