// Serving a client: each request through the chain, its answer into the buffer, and the buffer out in as few writes
// as there can be. Requests that were sent without waiting are answered in order and leave together.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

extension ClientConnection {
  /// Bodies up to this size are copied behind their head; larger ones are sent from where they lie.
  static let copiedBody = 16 << 10
  /// How much may gather before it is sent.
  private static let gathered = 64 << 10
  /// How long, in nanoseconds, a task waits for the client's next request before it ends, and another one starts with the request.
  private static let warmth: Int64 = 20_000_000

  /// Answers `first` and what the client sends behind it.
  func serve(_ first: Request) async {
    var next: Request? = first
    while let request = next {
      do {
        switch try await answer(request) {
        case .goesOn: next = try await stayWarm()
        case .ends: return endOrderly()
        case .becomes(let tunnel): return await carry(tunnel)
        }
      } catch let error as ParseError {
        return refuse(error)
      } catch {
        return abort()
      }
    }
  }

  /// What becomes of the connection after an answer.
  private enum Sequel {
    case goesOn, ends
    case becomes(Tunnel)
  }

  /// Answers a request and those that the client sent without waiting.
  // Inlined: a frame of its own would cost, for a hit as for a miss.
  @inline(__always)
  private func answer(_ first: Request) async throws -> Sequel {
    var writer = MessageWriter()
    defer { loop.giveBack(writer.takeBytes()) }
    var timing = Timing(start: loop.clock.now)
    defer { timing.transfer?.end() }
    holdsAnswers = false
    var request = first
    while true {
      var word = Chain.Word.none
      let response: Response
      if let atOnce = server.chain.respondAtOnce(to: request, &word) {
        response = atOnce
      } else {
        response = await server.chain.respond(to: request, having: word)
      }
      // Not before there is an answer: whoever waits for an origin holds no buffer.
      if writer.bytes.capacity == 0 { writer = MessageWriter(reusing: loop.takeBuffer()) }
      let answered = queue(consume response, to: request, &writer, &timing)
      if case .tunnel(let tunnel) = answered.rest { return try await begin(tunnel, &writer, &timing) }
      if let rest = sendAtOnce(answered.rest, of: request, &writer, &timing) {
        try await send(rest, of: request, &writer, &timing)
      }
      guard answered.keepAlive, state == .serving else {
        try await flush(&writer, &timing)
        return .ends
      }
      let next: Request?
      do throws(ParseError) { next = try nextPipelined() } catch {
        // What was answered before the malformed request goes out first.
        try await flush(&writer, &timing)
        throw error
      }
      // Content that waits for an invitation would wait for the answers in front of it, too.
      if next == nil || content != nil || writer.bytes.count > Self.gathered {
        if let sent = sendAtOnce(&writer, &timing) { try await flush(&writer, &timing, from: sent) }
      }
      guard let next else { return .goesOn }
      holdsAnswers = !writer.bytes.isEmpty
      if timing.isEmpty { timing = Timing(start: loop.clock.now) }
      request = next
    }
  }

  /// Sends the 101. What the client sent behind its request has waited for that, and is the tunnel's.
  private func begin(
    _ tunnel: Tunnel, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws -> Sequel {
    do {
      try await flush(&writer, &timing)
      return .becomes(tunnel)
    } catch {
      tunnel.close()
      throw error
    }
  }

  private func carry(_ tunnel: Tunnel) async {
    let isOrderly = await tunnel.carry(stream, sent: takeInput())
    if isOrderly { close() } else { abort() }
  }

  /// The client's next request if it comes soon; nil where the connection rests, or has ended.
  // Inlined, as `answer`.
  @inline(__always)
  private func stayWarm() async throws -> Request? {
    guard input.isEmpty else {
      rest()
      return nil
    }
    state = .warm
    stream.setDeadline(loop.clock.now &+ Self.warmth)
    do throws(StreamError) {
      try await stream.readable()
    } catch {
      if error == .timedOut { rest() } else { close() }
      return nil
    }
    state = .serving
    stream.setDeadline(nil)
    switch stream.receive() {
    case .bytes(let count):
      if let request = try next(received: count) { return request }
      rest()
    case .wouldBlock: rest()
    case .end, .failed: close()
    }
    return nil
  }

  // MARK: Writing

  /// Writes a response into the buffer: all of it if it is small, else its head.
  private func queue(
    _ response: consuming Response, to request: Request, _ writer: inout MessageWriter,
    _ timing: inout Timing
  ) -> (rest: Rest, keepAlive: Bool) {
    content?.takeRest()
    let routed = request.routed
    let before = writer.bytes.count
    if routed.isConditional {
      if mayRepeat(routed), server.writer.writeAgain(notModified: response, to: routed, to: &writer) {
        count(response, request, bytesOut: writer.bytes.count - before)
        timing.add(request.domain.number)
        return (.nothing, true)
      }
      response = response.conditional(on: request).cut(for: request, &server.boundaries)
    }
    let ending = ResponseWriter.Ending.of(response, to: routed)
    let keepAlive =
      routed.head.keepAlive && ending != .close && content?.isComplete != false && !server.isDraining
      && !isSurplus
    if !interim.isEmpty { takeInterim(into: &writer) }
    server.writer.write(
      response, ending: ending, keepAlive: keepAlive, version: routed.head.version, for: routed,
      now: loop.clock.wall, to: &writer)
    let rest = queue(response, routed.head.method, ending, &writer)
    count(response, request, bytesOut: writer.bytes.count - before)
    timing.add(request.domain.number)
    return (rest, keepAlive)
  }

  /// Whether nothing about the connection asks for another head than the last answer's.
  private func mayRepeat(_ routed: RoutedHead) -> Bool {
    routed.head.keepAlive && routed.head.version == .http11 && content == nil && interim.isEmpty
      && !server.isDraining && !isSurplus
  }

  private func queue(
    _ response: Response, _ method: Method, _ ending: ResponseWriter.Ending, _ writer: inout MessageWriter
  ) -> Rest {
    if response.status == 101, let switching = response.switching { return .tunnel(switching.tunnel.value) }
    if method == .head || response.status == 204 || response.status == 304 { return .nothing }
    switch response.body {
    case .empty: return .nothing
    case .whole(let slice) where slice.count > Self.copiedBody: return .slice(slice)
    case .whole(let slice):
      slice.block.copy(slice.range, onto: &writer.bytes)
      return .nothing
    case .stream(let stream):
      return .stream(response.seat ?? stream.makeReader(), chunked: ending == .chunked)
    case .file(let record): return .file(record, sent: 0)
    case .composed(let pieces): return .pieces(OpenPieces(pieces))
    }
  }
}
