// One connection to an origin: sends one request, reads one response, and knows whether it may be used again.

import RegentConfig
import RegentHTTP
import RegentLoop
import RegentStorage

final class OriginConnection: StreamDelegate {
  let stream: ByteStream
  /// Whether it carried an exchange before: then it may have died unnoticed.
  var wasUsed = false
  /// Whether the origin got the whole request; the connection is of no more use where it did not.
  var sentWhole = true
  /// What the request's content waits for, if it does.
  var expectation: Expectation?
  private unowned let server: OriginServer
  private var parser: ResponseParser
  /// What was received of the response and not yet used. Set as a whole: so the compiler checks none of its uses.
  private var input: [UInt8] = []
  /// The content that came with its head, whole and with nothing behind it, in place of the input.
  private var whole: Slice?
  /// The block of the last small body.
  private var spare: Block?

  /// RFC 9110 section 15.2 lets an origin send any number of interim responses; more than this is abuse.
  static let interimBound = 8

  init(_ stream: ByteStream, server: OriginServer, limits: MessageLimits) {
    self.stream = stream
    self.server = server
    parser = ResponseParser(limits: limits)
  }

  /// Whom it leads to.
  var identity: OriginIdentity { server.identity }

  func close() { server.drop(self) }

  /// Leaves its origin for good: the stream, and what was received behind the head, are the caller's.
  func leave() -> (stream: ByteStream, early: [UInt8]) {
    server.release(self)
    let early = input
    input = []
    return (stream, early)
  }

  // MARK: While idle

  /// An idle origin has nothing to say: an end, or bytes that nobody asked for.
  func streamBecameReadable() {
    if stream.hasArrived { noteExtraBytes() }
    server.idleEnded(self)
  }
  func streamDeadlinePassed() { server.idleEnded(self) }

  // MARK: The response's head

  /// The final response's head. Interim ones go on to the client.
  // Inlined, as the upstream provider's `fetch`.
  @inline(__always)
  func head(for request: Request) async throws(Failure) -> ResponseHead {
    var interim = 0
    while true {
      while let head = try arrivedHead() { if try ends(head, request, &interim) { return head } }
      try await awaitBytes()
      let head: ResponseHead?
      do throws(Failure) { head = try receiveHead() } catch {
        // Who sends interim responses has seen the request: it is not to be asked again as if nobody had.
        throw interim > 0 && error == .closedBeforeResponse
          ? .malformedResponse("It ended after an interim response.", fault: .cutHead) : error
      }
      if let head, try ends(head, request, &interim) { return head }
    }
  }

  /// Whether a head is the one that is waited for; an interim one is passed on.
  private func ends(_ head: ResponseHead, _ request: Request, _ interim: inout Int) throws(Failure) -> Bool {
    if head.status >= 200 {
      stream.setDeadline(nil)
      server.answered()
      return true
    }
    interim += 1
    if head.status == 101 {
      guard let offered = request.upgrade, let chosen = Upgrade.accepted(head, offered: offered) else {
        throw .malformedResponse("101 without an upgrade was sent.", fault: .unasked101)
      }
      guard !Upgrade.isWebSocket(chosen) || WebSocketKey.isAnswered(by: head.fields, to: request.fields)
      else {
        throw .malformedResponse(
          "The Sec-WebSocket-Accept of its 101 does not answer the request's key.", fault: .wrongAccept)
      }
      stream.setDeadline(nil)
      return true
    }
    if interim > Self.interimBound {
      throw .malformedResponse("Too many interim responses came.", fault: .manyInterim)
    }
    if head.status == 100 { expectation?.granted() }
    request.relay(head)
    return false
  }

  private static let cutHead = Failure.malformedResponse("The head ended early.", fault: .cutHead)

  /// The next head, interim or final.
  func nextHead() async throws(Failure) -> ResponseHead {
    if let head = try arrivedHead() { return head }
    while true {
      try await awaitBytes()
      if let head = try receiveHead() { return head }
    }
  }

  /// A head that is here already.
  private func arrivedHead() throws(Failure) -> ResponseHead? { input.isEmpty ? nil : try parse() }

  @inline(__always)
  private func awaitBytes() async throws(Failure) {
    do throws(StreamError) { try await stream.readable() } catch {
      // A stream that this side closed says nothing of the origin.
      if error != .closed { server.failed() }
      throw Failure(awaiting: error)
    }
  }

  /// Receives what there is; the head that is complete with it.
  private func receiveHead() throws(Failure) -> ResponseHead? {
    switch stream.receive() {
    case .bytes(let count): return try parse(received: count)
    case .wouldBlock: return nil
    case .end:
      noteFailure()
      throw input.isEmpty ? .closedBeforeResponse : Self.cutHead
    case .failed(let error):
      noteFailure()
      if case .tls = error { throw Failure(awaiting: error) }
      throw input.isEmpty ? Failure(awaiting: error) : Self.cutHead
    }
  }

  /// It ended before it answered. That a connection which was used before may do.
  private func noteFailure() {
    if !wasUsed || !input.isEmpty { server.failed() }
  }

  /// Parses what was just received where it lies, and copies only what is left of it.
  private func parse(received count: Int) throws(Failure) -> ResponseHead? {
    guard input.isEmpty else {
      keep(0..<count)
      return try parse()
    }
    let head: ResponseHead?
    do throws(ParseError) {
      head = try stream.loop.scratch.withBytes { bytes throws(ParseError) in try parser.parse(bytes) }
    } catch {
      throw Failure(error)
    }
    keep(of: head, (head == nil ? 0 : parser.consumed)..<count)
    return head
  }

  /// Keeps what came behind a head: where that is just its content, in the block in which it goes on.
  private func keep(of head: ResponseHead?, _ rest: Range<Int>) {
    guard !rest.isEmpty else { return }
    guard let head, head.status >= 200, head.contentLength == rest.count else { return keep(rest) }
    let block = block(for: rest.count)
    stream.loop.scratch.withBytes { _ = block.append($0.extracting(rest)) }
    whole = Slice(block)
  }

  private func keep(_ range: Range<Int>) {
    var bytes: [UInt8] = []
    swap(&bytes, &input)
    stream.loop.scratch.copy(range, onto: &bytes)
    input = bytes
  }

  private func parse() throws(Failure) -> ResponseHead? {
    do throws(ParseError) {
      guard let head = try parse(input) else { return nil }
      input = Array(input[parser.consumed...])
      return head
    } catch {
      throw Failure(error)
    }
  }

  private func parse(_ bytes: [UInt8]) throws(ParseError) -> ResponseHead? { try parser.parse(bytes.span) }

  // MARK: The response's body

  /// The body if all of it is here already, and whether the connection may be used again; nil if more is to come.
  func wholeBody(_ framing: BodyFraming, keepAlive: Bool) throws(Failure) -> (
    body: ResponseBody, reusable: Bool
  )? {
    if let whole {
      self.whole = nil
      // A response without content has something unasked behind it then.
      return framing == .none ? (.empty, false) : (.whole(whole), keepAlive)
    }
    let bytes = input
    switch framing {
    case .none, .length(0): return (.empty, keepAlive && bytes.isEmpty)
    case .length(let length) where bytes.count >= length:
      let block = block(for: length)
      block.append(bytes.span.extracting(0..<length))
      input = []
      return (.whole(Slice(block)), keepAlive && bytes.count == length)
    case .length, .untilClose, .chunked: return nil
    }
  }

  /// A block for a small body: the last one's, if nobody refers to it any more.
  private func block(for length: Int) -> Block {
    guard length <= Self.smallBody else { return Block(capacity: length) }
    var last = spare
    spare = nil
    if last?.reuse() == true, let last {
      spare = last
      return last
    }
    let made = Block(capacity: Self.smallBody)
    spare = made
    return made
  }

  private static let smallBody = 4 << 10

  /// Reads the rest of the response into `writer`; then the connection goes back to its origin, or is closed.
  func fill(
    _ writer: BodyWriter, _ framing: BodyFraming, keepAlive: Bool, _ timeouts: Configuration.Timeouts,
    _ digests: DigestCheck?, _ answer: OriginHealth.Answer
  ) async {
    var filler = BodyFiller(stream, framing, timeouts: timeouts, digests)
    let outcome = await filler.fill(writer, from: input)
    input = []
    switch outcome {
    case .success(let isExact):
      if digests?.isMet() == false { writer.refute() } else { writer.finish() }
      // No more of a body was received than was to come: what may be behind it is still with the kernel.
      let isExtra = framing != .untilClose && (!isExact || stream.hasArrived)
      if isExtra { server.meters.note(.extraBytes) }
      let reusable = isExact && !isExtra
      server.giveBack(self, reusable: reusable && keepAlive)
    case .failure(let failure):
      server.meters.note(OriginFault(failure, after: filler.broken))
      if filler.isOrigins(failure), writer.isWanted {
        server.broke()
        answer.broke(now: stream.loop.clock.now)
      }
      writer.fail(failure)
      server.drop(self)
    }
  }

  func noteExtraBytes() { server.meters.note(.extraBytes) }

  func giveBack(reusable: Bool) { server.giveBack(self, reusable: reusable) }
}
