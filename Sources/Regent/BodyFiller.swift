// From an origin's stream to a body: decodes the framing, proves the end, and waits where the body has no room.
// A body of known length is received straight into its blocks; a chunked one is copied once, out of its framing.

import RegentConfig
import RegentHTTP
import RegentLoop
import RegentStorage

struct BodyFiller {
  private let stream: ByteStream
  private let framing: BodyFraming
  private let timeouts: Configuration.Timeouts
  private let digests: DigestCheck?
  private var decoder: BodyDecoder
  private var blockSize = 16 << 10
  private var block: Block?
  /// What broke the stream, if something did.
  private(set) var broken: StreamError?

  /// How many bytes are taken in before the loop's other events have their turn.
  static let turn = 1 << 20
  private var turnStart: Int
  /// When the answer must have ended.
  private let deadline: Int64
  /// How long the origin was kept waiting for room at most.
  private var longestHold: Int64 = 0

  /// The largest block that a body is received into.
  static let largestBlock = 256 << 10

  init(
    _ stream: ByteStream, _ framing: BodyFraming, timeouts: Configuration.Timeouts,
    _ digests: DigestCheck? = nil
  ) {
    self.digests = digests
    self.stream = stream
    self.framing = framing
    self.timeouts = timeouts
    decoder = BodyDecoder(framing)
    turnStart = stream.received
    deadline = stream.loop.clock.time(in: timeouts.response)
  }

  /// Fills to the end. Success says whether nothing came after the end; a failure leaves the body without one.
  mutating func fill(_ writer: BodyWriter, from input: [UInt8]) async -> Result<Bool, BodyFailure> {
    do throws(BodyFailure) {
      var isExact = try await take(input, writer)
      while !decoder.isComplete {
        if stream.loop.clock.now >= deadline { throw .originTimedOut }
        stream.setDeadline(min(stream.loop.clock.time(in: timeouts.betweenBytes), deadline))
        isExact = framing == .chunked ? try await receiveChunks(writer) : try await receiveDirectly(writer)
        // A body that arrives faster than it is taken in must not keep the loop to itself.
        if stream.received - turnStart >= Self.turn {
          turnStart = stream.received
          await stream.loop.yieldTurn()
        }
      }
      stream.setDeadline(nil)
      return .success(isExact && framing != .untilClose)
    } catch {
      return .failure(error)
    }
  }

  /// Whether a failure is the origin's own. Who is kept waiting for longer than it may pause itself may leave, too; and a
  /// response that takes all its time is no outage.
  func isOrigins(_ failure: BodyFailure) -> Bool {
    guard longestHold < timeouts.betweenBytes.nanoseconds else { return false }
    return switch failure {
    case .originClosedEarly: true
    case .originTimedOut: stream.loop.clock.now < deadline
    case .malformed, .aborted, .cancelled, .outpaced: false
    }
  }

  /// Passes on the content in bytes that are here; true if nothing is left behind the message's end.
  private mutating func take(_ input: [UInt8], _ writer: BodyWriter) async throws(BodyFailure) -> Bool {
    guard !input.isEmpty else { return true }
    var slices: [Slice] = []
    let end = try decode(input.span, &slices)
    for slice in slices { try await append(slice, writer) }
    return end == input.count
  }

  private mutating func receiveChunks(_ writer: BodyWriter) async throws(BodyFailure) -> Bool {
    switch stream.receive() {
    case .bytes(let count):
      var slices: [Slice] = []
      let end = try stream.loop.scratch.withBytes { bytes throws(BodyFailure) in try decode(bytes, &slices) }
      for slice in slices { try await append(slice, writer) }
      return end == count
    case .wouldBlock: try await wait()
    case .end: try ended()
    case .failed(let error):
      broken = error
      throw BodyFailure(error)
    }
    return true
  }

  /// Decodes bytes and copies their content into blocks; the offset behind what belongs to the message.
  private mutating func decode(_ bytes: Span<UInt8>, _ slices: inout [Slice]) throws(BodyFailure) -> Int {
    var offset = 0
    do throws(ParseError) {
      while true {
        switch try decoder.next(bytes, at: &offset) {
        case .content(let range): copy(bytes.extracting(range), &slices)
        case .trailers(let range): digests?.update(trailers: bytes.extracting(range))
        case .needMore, .end: return offset
        }
      }
    } catch {
      throw .malformed
    }
  }

  private mutating func copy(_ content: Span<UInt8>, _ slices: inout [Slice]) {
    var done = 0
    while done < content.count {
      let target = block(for: content.count - done)
      let start = target.count
      done += target.append(content.extracting(done..<content.count))
      slices.append(Slice(target, start..<target.count))
    }
  }

  private mutating func receiveDirectly(_ writer: BodyWriter) async throws(BodyFailure) -> Bool {
    let target = block(for: decoder.remaining ?? Self.largestBlock)
    let start = target.count
    switch stream.receive(into: target) {
    case .bytes:
      let range = start..<target.count
      try target.withBytes { bytes throws(BodyFailure) in _ = try account(bytes.extracting(range)) }
      try await append(Slice(target, range), writer)
    case .wouldBlock: try await wait()
    case .end: try ended()
    case .failed(let error):
      broken = error
      throw BodyFailure(error)
    }
    return true
  }

  /// Tells the decoder of content that needs no decoding.
  private mutating func account(_ bytes: Span<UInt8>) throws(BodyFailure) -> Int {
    var offset = 0
    do throws(ParseError) {
      while offset < bytes.count {
        guard case .content = try decoder.next(bytes, at: &offset) else { break }
      }
      return offset
    } catch {
      throw .malformed
    }
  }

  /// A block with room: small at first, larger as the body proves long, and never longer than what is to come.
  private mutating func block(for wanted: Int) -> Block {
    if let block, block.room > 0 { return block }
    let size = max(1, min(wanted, blockSize))
    blockSize = min(blockSize * 2, Self.largestBlock)
    let fresh = Block(capacity: framing == .chunked ? max(size, min(blockSize, 4 << 10)) : size)
    block = fresh
    return fresh
  }

  private mutating func append(_ slice: Slice, _ writer: BodyWriter) async throws(BodyFailure) {
    digests?.update(slice)
    switch writer.tryAppend(slice) {
    case .accepted: return
    case .abandoned: throw .aborted
    case .full: break
    }
    stream.pauseReading()
    stream.setDeadline(nil)
    let held = stream.loop.clock.now
    let outcome = await writer.append(slice)
    longestHold = max(longestHold, stream.loop.clock.now &- held)
    guard outcome == .accepted else { throw .aborted }
  }

  private func wait() async throws(BodyFailure) {
    do { try await stream.readable() } catch { throw BodyFailure(error) }
  }

  private mutating func ended() throws(BodyFailure) {
    do { try decoder.inputEnded() } catch { throw .originClosedEarly }
  }
}

extension BodyFailure {
  init(_ error: StreamError) {
    self = error == .timedOut ? .originTimedOut : .originClosedEarly
  }
}
