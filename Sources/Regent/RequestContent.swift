// A client's content as it arrives: received into blocks that go on as they are, decoded, at the pace of whoever reads
// it, and with a least rate. While nobody sends, it holds no block.

import RegentConfig
import RegentHTTP
import RegentLoop

/// The content of the request that a connection is serving.
// The class is confined to the connection's loop, on which the task that reads it runs.
final class RequestContent {
  let framing: BodyFraming
  /// The content bytes read so far.
  private(set) var count = 0
  private unowned let connection: ClientConnection
  private var decoder: BodyDecoder
  private var expectsContinue: Bool
  private let started: Int64
  private var isAbandoned = false
  private var blockSize = 16 << 10

  /// How much unread content is taken after the answer, so that the connection can go on.
  static let drained = 64 << 10

  /// The largest block that content is received into.
  static let largestBlock = 256 << 10

  /// `invited`: the client does not wait for a word before it sends.
  init(_ framing: BodyFraming, invited: Bool, of connection: ClientConnection) {
    self.framing = framing
    decoder = BodyDecoder(framing)
    expectsContinue = !invited
    self.connection = connection
    started = connection.stream.loop.clock.now
  }

  var isComplete: Bool { decoder.isComplete }

  /// The next content bytes; nil at the end.
  func next() async throws -> Slice? {
    while !decoder.isComplete {
      if isAbandoned { throw Failure.requestTimedOut }
      if let content = try decodeInput() { return content }
      if decoder.isComplete { break }
      try await invite()
      if let content = try await receive() { return content }
    }
    return nil
  }

  /// Wakes whoever waits for more of it.
  func abandon() {
    guard !decoder.isComplete else { return }
    isAbandoned = true
    connection.stream.interruptReading()
  }

  /// Takes what is here already of content that nobody read.
  func takeRest() {
    guard !decoder.isComplete, count <= Self.drained else { return }
    // Malformed content is not complete, and ends the connection as such.
    _ = try? decodeInput()
  }

  /// What came together with something else, such as the head.
  private func decodeInput() throws(ParseError) -> Slice? {
    guard !connection.input.isEmpty else { return nil }
    return try content(of: Block(connection.takeInput()))
  }

  /// The content in what was received; what lies behind its end is the next request's.
  private func content(of block: Block) throws(ParseError) -> Slice? {
    var ranges: [Range<Int>] = []
    var end = 0
    try block.withBytes { bytes throws(ParseError) in
      reading: while true {
        switch try decoder.next(bytes, at: &end) {
        case .content(let range): ranges.append(range)
        case .trailers: break
        case .needMore, .end: break reading
        }
      }
    }
    if end < block.count { connection.keep(Slice(block, end..<block.count)) }
    count += ranges.reduce(0) { $0 + $1.count }
    guard let first = ranges.first else { return nil }
    return ranges.count == 1 ? Slice(block, first) : Self.joined(ranges, of: block)
  }

  /// Content without the framing between its pieces.
  private static func joined(_ ranges: [Range<Int>], of block: Block) -> Slice {
    let joined = Block(capacity: ranges.reduce(0) { $0 + $1.count })
    block.withBytes { bytes in
      for range in ranges { joined.append(bytes.extracting(range)) }
    }
    return Slice(joined)
  }

  /// RFC 9110 section 10.1.1: the client waits for a word before it sends its content.
  private func invite() async throws {
    guard expectsContinue else { return }
    expectsContinue = false
    try await connection.invite()
  }

  private func receive() async throws -> Slice? {
    let stream = connection.stream
    // Of known length, no byte of the next request is received here.
    let block = Block(capacity: min(blockSize, decoder.remaining ?? blockSize))
    switch stream.receive(into: block) {
    case .bytes:
      if block.room == 0 { blockSize = min(blockSize * 2, Self.largestBlock) }
      return try content(of: block)
    case .wouldBlock: return try await wait(stream)
    case .end: throw Failure.requestTimedOut
    case .failed(let error): throw error
    }
  }

  private func wait(_ stream: ByteStream) async throws -> Slice? {
    stream.setDeadline(deadline)
    try await stream.readable()
    stream.setDeadline(nil)
    return nil
  }

  /// When a client that sends at the least rate would have sent the next byte.
  private var deadline: Int64 {
    let timeouts = connection.server.timeouts
    let rate = Int64(max(1, timeouts.bodyRate.bytes))
    let earned = Int64(clamping: count) / rate &* 1_000_000_000
    return started &+ timeouts.bodyGrace.nanoseconds &+ earned
  }
}

/// The content as providers see it: reachable on the connection's loop only.
final class LoopBoundContent: RequestBody {
  let framing: BodyFraming
  private let content: LoopBound<RequestContent>

  init(_ content: RequestContent, on loop: EventLoop) {
    framing = content.framing
    self.content = LoopBound(content, loop)
  }

  var isComplete: Bool { content.value.isComplete }

  func next() async throws -> Slice? { try await content.value.next() }

  func abandon() { content.value.abandon() }
}
