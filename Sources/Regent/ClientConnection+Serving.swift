// Serving a client: each request through the chain, its answer into the buffer, and the buffer out in as few writes
// as there can be. Requests that were sent without waiting are answered in order and leave together.

import RegentCaching
import RegentConfig
import RegentHTTP
import RegentLoop
import RegentStorage

extension ClientConnection {
  /// Bodies up to this size are copied behind their head; larger ones are sent from where they lie.
  private static let copiedBody = 16 << 10
  /// How much may gather before it is sent.
  private static let gathered = 64 << 10

  /// Answers `first` and what the client sent behind it.
  func serve(_ first: RequestHead) async {
    var writer = MessageWriter(reusing: stream.loop.takeBuffer())
    var next: RequestHead? = first
    var timing = Timing(start: stream.loop.clock.now)
    do {
      while let head = next {
        let keepAlive = try await exchange(head, &writer, &timing)
        guard keepAlive, state == .serving else {
          try await flush(&writer, &timing)
          stream.loop.giveBack(writer.bytes)
          return endOrderly()
        }
        next = try nextPipelined()
        if next == nil || writer.bytes.count > Self.gathered { try await flush(&writer, &timing) }
        if next != nil, timing.isEmpty { timing = Timing(start: stream.loop.clock.now) }
      }
      stream.loop.giveBack(writer.bytes)
      rest()
    } catch let error as ParseError {
      // What was answered before the malformed request goes out first.
      if (try? await flush(&writer, &timing)) != nil { refuse(error) } else { abort() }
    } catch {
      abort()
    }
  }

  /// One request and its answer; false where the connection must end after it.
  private func exchange(
    _ head: RequestHead, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws -> Bool {
    let content = head.framing == .none || head.framing == .length(0) ? nil : RequestContent(head, of: self)
    let response: Response
    let domain: Int
    switch server.route(head, content: content, isSurplus: isSurplus) {
    case .request(let request):
      domain = request.domain.number
      response = (await server.chain.respond(to: request)).conditional(on: request)
    case .answer(let answer):
      domain = server.adminDomain
      response = answer
    }
    content?.takeRest()
    let keepAlive =
      head.keepAlive && content?.isComplete != false && !server.isDraining && !isSurplus && state == .serving
    let sent = try await write(response, to: head, keepAlive: keepAlive, &writer, &timing)
    count(
      response, domain: domain, bytesIn: head.fields.bytes.count + (content?.count ?? 0), bytesOut: sent.count
    )
    timing.add(domain)
    return keepAlive && sent.isDelimited
  }

  // MARK: Writing

  private func write(
    _ response: Response, to head: RequestHead, keepAlive: Bool, _ writer: inout MessageWriter,
    _ timing: inout Timing
  ) async throws -> (count: Int, isDelimited: Bool) {
    let before = writer.bytes.count
    let ending = Self.ending(of: response, to: head)
    server.writer.write(
      response, ending: ending, keepAlive: keepAlive && ending != .close, version: head.version,
      now: stream.loop.clock.wall, to: &writer)
    guard head.method != .head, response.status != 204, response.status != 304 else {
      return (writer.bytes.count - before, true)
    }
    switch response.body {
    case .empty: break
    case .whole(let slice) where slice.count <= Self.copiedBody:
      slice.block.copy(slice.range, onto: &writer.bytes)
    case .whole(let slice):
      let count = writer.bytes.count - before + slice.count
      try await flush(&writer, &timing, [slice])
      return (count, true)
    case .stream(let stream):
      let count = writer.bytes.count - before
      return (count + (try await send(stream, ending, &writer, &timing)), ending != .close)
    }
    return (writer.bytes.count - before, true)
  }

  private static func ending(of response: Response, to head: RequestHead) -> ResponseWriter.Ending {
    if response.status == 204 || response.status == 304 || response.status < 200 { return .none }
    if let count = response.body.count, head.method != .head || count > 0 { return .length(count) }
    if head.method == .head {
      guard let value = response.fields.parsed.first(.contentLength), let count = Decimal.parse(value) else {
        return .none
      }
      return .length(count)
    }
    return head.version == .http11 ? .chunked : .close
  }

  /// Sends a body as it arrives. An early end throws, so that the connection breaks instead of ending cleanly.
  private func send(
    _ body: BodyStream, _ ending: ResponseWriter.Ending, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws -> Int {
    guard let reader = body.makeReader() else { throw BodyFailure.aborted }
    defer { reader.leave() }
    var total = 0
    while let slices = try await nextSlices(reader, &writer, &timing) {
      let count = slices.reduce(0) { $0 + $1.count }
      total += count
      if ending == .chunked {
        writer.chunkHeader(count)
        try await flush(&writer, &timing, slices)
        writer.chunkEnd()
      } else {
        try await flush(&writer, &timing, slices)
      }
    }
    if ending == .chunked { writer.lastChunk() }
    return total
  }

  /// The next bytes of a body; what is written already leaves before there is a wait.
  private func nextSlices(
    _ reader: BodyReader, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws -> [Slice]? {
    switch try reader.available(upTo: 4 << 20, maxSlices: 60) {
    case .slices(let slices): return slices
    case .end: return nil
    case .none:
      try await flush(&writer, &timing)
      return try await reader.next(upTo: 4 << 20, maxSlices: 60)
    }
  }

  private func flush(_ writer: inout MessageWriter, _ timing: inout Timing, _ slices: [Slice] = [])
    async throws
  {
    if !writer.bytes.isEmpty || !slices.isEmpty {
      try await stream.write(writer.bytes, then: slices, stall: server.timeouts.writeStall)
      writer.bytes.removeAll(keepingCapacity: true)
    }
    guard !timing.isEmpty else { return }
    stream.loop.refreshClock()
    timing.record(server.meters, now: stream.loop.clock.now)
  }

  // MARK: Counting

  private func count(_ response: Response, domain: Int, bytesIn: Int, bytesOut: Int) {
    let meters = server.meters.domains[domain]
    meters.requests.add(1)
    meters.bytesIn.add(bytesIn)
    meters.bytesOut.add(bytesOut)
    if case .stale = response.cacheStatus.detail { meters.stale.add(1) }
    switch response.cacheStatus.outcome {
    case .hit: meters.hits.add(1)
    case .forwarded: meters.misses.add(1)
    }
    if let failure = response.failure {
      meters.errors.add(1)
      server.log.failed(failure, domain: server.domains[domain].name)
    }
  }
}

/// When the requests whose answers wait in a buffer began.
struct Timing {
  private let start: Int64
  private var domain = 0
  private var pending = 0

  init(start: Int64) { self.start = start }

  var isEmpty: Bool { pending == 0 }

  mutating func add(_ domain: Int) {
    self.domain = domain
    pending += 1
  }

  mutating func record(_ meters: LoopMeters, now: Int64) {
    meters.domains[domain].latency.record(now - start, times: pending)
    pending = 0
  }
}

extension Response {
  private static let conditions = FieldNameSet([.ifNoneMatch, .ifModifiedSince])

  /// The response that the client's conditions make of this one (RFC 9110 section 13.2.2): 304 without content.
  func conditional(on request: Request) -> Response {
    guard status == 200, !request.head.fields.present.isDisjoint(with: Self.conditions),
      request.method == .get || request.method == .head, meets(request.head.fields)
    else { return self }
    var answer = self
    answer.status = 304
    answer.body = .empty
    return answer
  }

  private func meets(_ requestFields: Fields) -> Bool {
    let stored = metadata ?? StoredMetadata(status: 200, responseTime: 0, date: 0, lifetime: 0)
    if case .stored(_, let own) = fields {
      return own.withBytes { block in
        let none = 0..<0
        return Validation.answersNotModified(
          requestFields: requestFields, stored: stored,
          etag: block.extracting(StoredFields.value(of: .etag, in: block) ?? none),
          lastModified: block.extracting(StoredFields.value(of: .lastModified, in: block) ?? none))
      }
    }
    let parsed = fields.parsed
    let etag = Array(parsed.first(.etag) ?? [])
    let modified = Array(parsed.first(.lastModified) ?? [])
    return Validation.answersNotModified(
      requestFields: requestFields, stored: stored, etag: etag.span, lastModified: modified.span)
  }
}
