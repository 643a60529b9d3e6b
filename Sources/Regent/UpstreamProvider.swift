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
  private let paths: LoopLocal<[UpstreamPath?]>
  /// What the loops share of each domain's origin.
  let targets: [Target?]
  let timeouts: Configuration.Timeouts
  /// Two of them in nanoseconds, because every request needs them.
  let firstByteTime: Int64
  let requestTime: Int64
  let via: PreparedLine
  let tunnelLimit: Int
  private let log: ServerLog?
  private let bodyWindow = 512 << 10

  /// `policies` are the user's own, by the names of domains.
  init(
    _ configuration: Configuration, instance: InstanceName, group: LoopGroup, resolver: Resolver,
    meters: [LoopMeters], policies: [String: any RetryPolicy] = [:], log: ServerLog? = nil
  ) {
    let targets = Target.all(of: configuration, policies, log)
    self.targets = targets
    self.log = log
    timeouts = configuration.timeouts
    firstByteTime = timeouts.firstByte.nanoseconds
    requestTime = timeouts.request.nanoseconds
    via = PreparedLine(.via, instance.via)
    tunnelLimit = configuration.limits.tunnels
    paths = LoopLocal(group) { loop in
      zip(configuration.domains, targets).enumerated().map { number, domain in
        guard let target = domain.1,
          let origin = Origin(
            domain.0, number: number, on: loop, resolver: resolver, configuration: configuration,
            table: target.addresses, meters: meters[loop.index])
        else { return nil }
        return UpstreamPath(target: target, origin: origin, loop: loop)
      }
    }
  }

  public func perform(_ request: Request) async throws -> Response {
    let number = request.domain.number
    guard number < targets.count, targets[number] != nil else { throw Unhandled() }
    if request.directives.onlyIfCached { throw Failure.onlyIfCached }
    guard let path = paths.value[number] else { throw Unhandled() }
    try admit(request)
    let kept = request.hasBody ? path.target.retrying.kept(of: request) : nil
    defer { kept?.letGo() }
    var request = kept.map { request.sending(ReplayableContent($0, on: path.loop)) } ?? request
    var isSecond = false
    while true {
      if let response = try await fetch(request, path, kept),
        !isSecond || response.status != 304 || request.asksConditionally
      {
        return response
      }
      guard !isSecond else {
        throw Failure.malformedResponse("Its 304 confirms a response that is not the stored one.")
      }
      // Its 304 is about another response than the stored one (RFC 9111 section 4.3.4), or its part does not belong to
      // the stored ones (section 3.4): ask as if nothing were stored.
      request = request.withoutCandidate()
      isSecond = true
    }
  }

  /// Closes the calling loop's connections that nobody uses: without this they and their loop would hold each other.
  func closeIdle() {
    for path in paths.value { path?.origin.closeIdle() }
  }

  // MARK: Answering

  func respond(
    _ request: Request, _ connection: OriginConnection, _ head: ResponseHead, requestTime: Int64,
    responseTime: Int64, _ answer: OriginHealth.Answer
  ) throws(Failure) -> Response? {
    do throws(Failure) {
      if head.status == 101 { return try tunnel(request, connection, head) }
      try Self.checkAsked(head, request)
      let framing = try Self.framing(head, request.method)
      let digests = ExpectedDigest.mayBe(in: head.fields) ? DigestCheck.of(head, framing) : nil
      let body = try self.body(connection, head, framing)
      let received = Received(
        head, requestTime: requestTime, responseTime: responseTime, digests: digests)
      let response = received.response(to: request, body)
      if let digests, digests.isRefuted { noteRefuted(request) }
      if case .stream(let stream) = body { fill(stream, connection, head, framing, digests, request, answer) }
      return response
    } catch {
      request.meters.note(error.fault)
      connection.close()
      throw error
    }
  }

  static func framing(_ head: ResponseHead, _ method: Method) throws(Failure) -> BodyFraming {
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
    return .stream(BodyStream(expected: expected, window: bodyWindow))
  }

  /// Has a body filled as it arrives.
  private func fill(
    _ stream: BodyStream, _ connection: OriginConnection, _ head: ResponseHead, _ framing: BodyFraming,
    _ digests: DigestCheck?, _ request: Request, _ answer: OriginHealth.Answer
  ) {
    let writer = stream.makeWriter()
    let keepAlive = head.keepAlive && connection.sentWhole
    let loop = connection.stream.loop
    let bound = LoopBound(connection, loop)
    let timeouts = timeouts
    guard let digests, digests.isWanted else {
      Task(executorPreference: loop) {
        await bound.value.fill(writer, framing, keepAlive: keepAlive, timeouts, nil, answer)
      }
      return
    }
    let check = LoopBound(digests, loop)
    Task(executorPreference: loop) { [self] in
      await bound.value.fill(writer, framing, keepAlive: keepAlive, timeouts, check.value, answer)
      guard check.value.isRefuted else { return }
      noteRefuted(request)
      // Its head, and with it Cache-Status, had left before that was known.
      request.meters.domains[request.domain.number].refused.add(.digestMismatch)
    }
  }

  private func noteRefuted(_ request: Request) {
    request.meters.note(.digestMismatch)
    log?.refuted(domain: request.domain.name)
  }
}
