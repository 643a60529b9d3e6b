// A client's content as it arrives: decoded, at the pace of whoever reads it, and with a least rate.

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

  /// How much unread content is taken after the answer, so that the connection can go on.
  static let drained = 64 << 10

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
  func next() async throws -> [UInt8]? {
    while true {
      if let content = try decode() { return content }
      if decoder.isComplete { return nil }
      if isAbandoned { throw Failure.requestTimedOut }
      try await invite()
      try await receive()
    }
  }

  /// Wakes whoever waits for more of it.
  func abandon() {
    guard !decoder.isComplete else { return }
    isAbandoned = true
    connection.stream.interruptReading()
  }

  /// Takes what is here already of content that nobody read.
  func takeRest() {
    guard !decoder.isComplete else { return }
    while let content = try? decode() {
      if count > Self.drained { return }
      _ = content
    }
  }

  private func decode() throws(ParseError) -> [UInt8]? {
    guard !connection.input.isEmpty else { return nil }
    var content: [UInt8] = []
    connection.use(first: try decode(connection.input, into: &content))
    count += content.count
    return content.isEmpty ? nil : content
  }

  /// Decodes what is the message's; how many bytes that were.
  private func decode(_ input: [UInt8], into content: inout [UInt8]) throws(ParseError) -> Int {
    var offset = 0
    while case .content(let range) = try decoder.next(input.span, at: &offset) {
      content.append(contentsOf: input[range])
    }
    return offset
  }

  /// RFC 9110 section 10.1.1: the client waits for a word before it sends its content.
  private func invite() async throws {
    guard expectsContinue else { return }
    expectsContinue = false
    try await connection.invite()
  }

  private func receive() async throws {
    let stream = connection.stream
    while true {
      switch stream.receive() {
      case .bytes(let received): return connection.keep(0..<received)
      case .wouldBlock:
        stream.setDeadline(deadline)
        try await stream.readable()
        stream.setDeadline(nil)
      case .end: throw Failure.requestTimedOut
      case .failed(let error): throw error
      }
    }
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
struct LoopBoundContent: RequestBody {
  let framing: BodyFraming
  private let content: LoopBound<RequestContent>

  init(_ content: RequestContent, on loop: EventLoop) {
    framing = content.framing
    self.content = LoopBound(content, loop)
  }

  var isComplete: Bool { content.value.isComplete }

  func next() async throws -> [UInt8]? { try await content.value.next() }

  func abandon() { content.value.abandon() }
}
