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
  /// How many slices a write takes.
  private static let mostSlices = 60
  /// How much may gather before it is sent.
  private static let gathered = 64 << 10
  /// How much of a file is sent before other connections have their turn.
  private static let turn = 4 << 20
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
      if !answered.rest.isNothing { try await send(answered.rest, of: request, &writer, &timing) }
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

  /// What is still to be sent of a response whose head is in the buffer.
  private enum Rest {
    case nothing
    case slice(Slice)
    /// Nil where the beginning of a body that arrives was dropped already.
    case stream(BodyReader?, chunked: Bool)
    case pieces(OpenPieces?)
    case file(DiskBodyReader, total: Int)
    case tunnel(Tunnel)

    var isNothing: Bool { if case .nothing = self { true } else { false } }
  }

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
    case .file(let record): return .file(record.makeReader(), total: record.bodyCount)
    case .composed(let pieces): return .pieces(OpenPieces(pieces))
    }
  }

  private func send(
    _ rest: Rest, of request: Request, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws {
    switch rest {
    case .nothing, .tunnel: return
    case .slice(let slice) where slice.count < Transfer.large:
      countSent(slice.count, timing)
      try await flush(&writer, &timing, [slice])
    case .slice(let slice):
      timing.transfer = Transfer(.download, request, total: slice.count, on: loop)
      try await send(slice, &writer, &timing)
    case .stream(let reader, let chunked):
      timing.transfer = Transfer(.download, request, total: reader?.stream.expected, on: loop)
      try await send(reader, chunked, &writer, &timing)
    case .pieces(let pieces):
      timing.transfer = Transfer(.download, request, total: pieces?.count, on: loop)
      try await send(pieces, &writer, &timing)
    case .file(let reader, let total):
      if total >= Transfer.large { timing.transfer = Transfer(.download, request, total: total, on: loop) }
      try await send(reader, of: request, total: total, &writer, &timing)
    }
    timing.transfer?.end()
    timing.transfer = nil
  }

  /// Sends a large slice in steps, so that somebody can see how far it is.
  private func send(_ slice: Slice, _ writer: inout MessageWriter, _ timing: inout Timing) async throws {
    for start in stride(from: slice.range.lowerBound, to: slice.range.upperBound, by: Transfer.large) {
      let end = min(start + Transfer.large, slice.range.upperBound)
      countSent(end - start, timing)
      try await flush(&writer, &timing, [Slice(slice.block, start..<end)])
    }
  }

  /// Sends a body as it arrives. An early end throws, so that the connection breaks instead of ending cleanly.
  private func send(
    _ reader: BodyReader?, _ chunked: Bool, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws {
    guard let reader else { throw BodyFailure.aborted }
    defer { reader.leave() }
    while let slices = try await nextSlices(reader, &writer, &timing) {
      let count = slices.reduce(0) { $0 + $1.count }
      countSent(count, timing)
      if chunked {
        writer.chunkHeader(count)
        try await flush(&writer, &timing, slices)
        writer.chunkEnd()
      } else {
        try await flush(&writer, &timing, slices)
      }
    }
    if chunked { writer.lastChunk() }
  }

  /// The next bytes of a body; what is written already leaves before there is a wait.
  private func nextSlices(
    _ reader: BodyReader, upTo limit: Int = 4 << 20, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws -> [Slice]? {
    switch try reader.available(upTo: limit, maxSlices: Self.mostSlices) {
    case .slices(let slices): return slices
    case .end: return nil
    case .none:
      try await flush(&writer, &timing)
      timing.transfer?.waits()
      return try await reader.next(upTo: limit, maxSlices: Self.mostSlices)
    }
  }

  /// Sends a body that is put together from others.
  private func send(
    _ body: OpenPieces?, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws {
    guard let body else { throw BodyFailure.aborted }
    var slices: [Slice] = []
    for piece in body.pieces {
      switch piece {
      case .slice(let slice): slices.append(slice)
      case .file(let reader):
        try await send(slices, &writer, &timing)
        slices = []
        try await send(reader, &writer, &timing)
      case .reader(let reader, let range):
        try await send(slices, &writer, &timing)
        slices = []
        try await send(range, of: reader, &writer, &timing)
      }
      guard slices.count == Self.mostSlices else { continue }
      try await send(slices, &writer, &timing)
      slices = []
    }
    try await send(slices, &writer, &timing)
  }

  /// Sends some offsets of a body; what lies before them is passed over as it arrives.
  private func send(
    _ range: Range<Int>, of reader: BodyReader, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws {
    while reader.position < range.upperBound {
      let isWanted = reader.position >= range.lowerBound
      let left = (isWanted ? range.upperBound : range.lowerBound) - reader.position
      guard let slices = try await nextSlices(reader, upTo: min(left, 4 << 20), &writer, &timing) else {
        throw BodyFailure.aborted
      }
      if isWanted { try await send(slices, &writer, &timing) }
    }
  }

  /// Sends what a reader has of a body on the disk. A short one that comes with its request is listed as a transfer once it waits.
  private func send(
    _ reader: DiskBodyReader, of request: Request? = nil, total: Int? = nil, _ writer: inout MessageWriter,
    _ timing: inout Timing
  ) async throws {
    var turn = 0
    while let bytes = try await stream.sendsFiles ? reader.nextOrFile() : reader.next().map(DiskBytes.slice) {
      switch bytes {
      case .slice(let slice):
        // It was read, or is encrypted: that is slow enough.
        timing.transfer = timing.transfer ?? request.map { Transfer(.download, $0, total: total, on: loop) }
        countSent(slice.count, timing)
        try await flush(&writer, &timing, [slice])
      case .file(let part):
        try await flush(&writer, &timing, isFollowed: true)
        // What was looked at too long ago is looked at again, and read by the pool if it would have to be waited for.
        var sent = stream.writeAtOnce(part)
        if sent < part.count {
          timing.transfer = timing.transfer ?? request.map { Transfer(.download, $0, total: total, on: loop) }
          timing.transfer?.waits()
          sent = try await stream.write(part, from: sent, stall: server.timeouts.writeStall)
        }
        countSent(sent, timing)
        timing.transfer?.moved(sent)
        reader.sent(sent, of: part)
        turn += sent
      }
      guard turn >= Self.turn else { continue }
      turn = 0
      await loop.yieldTurn()
    }
  }

  /// Sends slices behind what is written already; short ones are written too, and leave with what follows.
  private func send(
    _ slices: [Slice], _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws {
    let count = slices.reduce(0) { $0 + $1.count }
    guard count > 0 else { return }
    countSent(count, timing)
    guard writer.bytes.count + count > Self.copiedBody else {
      for slice in slices { slice.copy(onto: &writer.bytes) }
      return
    }
    try await flush(&writer, &timing, slices)
  }

  /// Sends what is written, without waiting: nearly always the kernel takes everything. Nil where it did, else how much.
  private func sendAtOnce(_ writer: inout MessageWriter, _ timing: inout Timing) -> Int? {
    if !writer.bytes.isEmpty {
      var done = 0
      if case .bytes(let count) = stream.send(writer.bytes, then: [], skipping: 0) { done = count }
      if done < writer.bytes.count { return done }
      writer.bytes.removeAll(keepingCapacity: true)
    }
    record(&timing)
    return nil
  }

  private func flush(
    _ writer: inout MessageWriter, _ timing: inout Timing, _ slices: [Slice] = [], from sent: Int? = nil,
    isFollowed: Bool = false
  ) async throws {
    if !writer.bytes.isEmpty || !slices.isEmpty {
      let total = slices.reduce(writer.bytes.count) { $0 + $1.count }
      var done = sent ?? 0
      if sent == nil,
        case .bytes(let count) = stream.send(writer.bytes, then: slices, skipping: 0, isFollowed: isFollowed)
      {
        done = count
      }
      if done < total {
        timing.transfer?.waits()
        try await stream.write(writer.bytes, then: slices, from: done, stall: server.timeouts.writeStall)
      }
      writer.bytes.removeAll(keepingCapacity: true)
      timing.transfer?.moved(slices.reduce(0) { $0 + $1.count })
    }
    record(&timing)
  }

  private func record(_ timing: inout Timing) {
    guard !timing.isEmpty else { return }
    loop.refreshClock()
    timing.record(server.meters, now: loop.clock.now)
  }
}
