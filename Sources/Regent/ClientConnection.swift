// One client's connection: heads in, answers out, in order. While it is idle it holds no task and no buffer; a task
// starts when a head is complete and ends when the client has asked for nothing more for a moment.
// The steps of an exchange: receive, route, respond (the chain), write, count.

import RegentConfig
import RegentHTTP
import RegentLoop
import RegentStorage

final class ClientConnection: StreamDelegate {
  enum State { case idle, receivingHead, serving, warm, lingering, closed }

  let stream: ByteStream
  let loop: EventLoop
  let server: LoopServer
  var state = State.idle
  /// What was received and not yet used; empty while idle. Changed as a whole, by ``keep(_:)`` and ``use(first:)``.
  private(set) var input: [UInt8] = []
  /// The parser of a head that is not complete yet; kept apart, because most connections never need one.
  private var unfinished: Unfinished?
  private var lingered = 0
  private var holdsHead = false
  /// The content of the request that is being served.
  var content: RequestContent?
  /// Interim responses that could not leave yet: they go before the next answer. Set as a whole: so the compiler checks
  /// none of its uses.
  var interim: [UInt8] = []
  /// Whether bytes that come first are still to be written: nothing may overtake them.
  var holdsAnswers = false
  /// Whether it was let in beyond the limit on connections: then it gets one answer, and only from the admin pages.
  let isSurplus: Bool

  /// How long, and for how many bytes, a client's unread input is taken after the last answer, so that it is not lost.
  static let lingerTime = Duration.seconds(2)
  static let lingerBytes = 1 << 20

  init(_ stream: ByteStream, server: LoopServer, isSurplus: Bool) {
    self.stream = stream
    loop = stream.loop
    self.server = server
    self.isSurplus = isSurplus
  }

  /// Waits for so long while the client is being served; false, and at once, where it leaves.
  func stays(for duration: Duration) async -> Bool { await stream.peerStays(for: duration) }

  func start() {
    stream.delegate = self
    stream.setDeadline(in: isSurplus ? .seconds(1) : server.timeouts.idle)
    stream.resumeReading()
  }

  func close() {
    guard state != .closed else { return }
    state = .closed
    releaseHead()
    input = []
    stream.close()
    server.closed(self)
  }

  // MARK: Receiving

  func streamBecameReadable() {
    switch state {
    case .idle, .receivingHead: receiveHead()
    case .serving, .warm: stream.pauseReading()
    case .lingering: linger()
    case .closed: break
    }
  }

  func streamDeadlinePassed() {
    switch state {
    case .receivingHead: refuse(status: 408, "The request's head did not arrive in time.")
    case .idle, .lingering: close()
    case .serving, .warm, .closed: break
    }
  }

  private func receiveHead() {
    switch stream.receive() {
    case .bytes(let count): received(count)
    case .wouldBlock: break
    case .end, .failed: close()
    }
  }

  private func received(_ count: Int) {
    do throws(ParseError) {
      if let request = try next(received: count) { begin(request) } else { awaitRest() }
    } catch {
      refuse(error)
    }
  }

  private final class Unfinished {
    var parser: RequestParser

    init(_ parser: RequestParser) { self.parser = parser }
  }

  /// The request that is complete with what was just received. Parses it where it lies, and copies what is left.
  func next(received count: Int) throws(ParseError) -> Request? {
    let scratch = loop.scratch
    guard input.isEmpty else {
      keep(0..<count)
      return try nextPipelined()
    }
    if !isSurplus, let request = server.recentRequest(from: self) { return begun(request) }
    var parser = RequestParser(limits: server.limits)
    let head = try scratch.withBytes { bytes throws(ParseError) in
      try parser.parse(bytes, recent: &server.sections) { scratch.copy(first: $0) }
    }
    guard let head else {
      keep(0..<count)
      unfinished = Unfinished(parser)
      return nil
    }
    if parser.consumed < count { keep(parser.consumed..<count) }
    return route(head)
  }

  /// Keeps a part of what was just received for later.
  func keep(_ range: Range<Int>) {
    var bytes: [UInt8] = []
    swap(&bytes, &input)
    loop.scratch.copy(range, onto: &bytes)
    input = bytes
  }

  /// Keeps bytes that were received elsewhere for later.
  func keep(_ slice: Slice) {
    var bytes = takeInput()
    slice.copy(onto: &bytes)
    input = bytes
  }

  /// Lets go of the first bytes of the input, which were used.
  func use(first count: Int) {
    var bytes: [UInt8] = []
    swap(&bytes, &input)
    bytes.removeFirst(count)
    input = bytes
  }

  /// The input, which is somebody else's from now on.
  func takeInput() -> [UInt8] {
    var bytes: [UInt8] = []
    swap(&bytes, &input)
    return bytes
  }

  /// The next request that the client sent without waiting, if its head is here.
  func nextPipelined() throws(ParseError) -> Request? {
    guard !input.isEmpty else { return nil }
    let unfinished = unfinished ?? Unfinished(RequestParser(limits: server.limits))
    guard let head = try parse(input, unfinished) else {
      self.unfinished = unfinished
      return nil
    }
    self.unfinished = nil
    use(first: unfinished.parser.consumed)
    return route(head)
  }

  private func parse(_ bytes: [UInt8], _ unfinished: Unfinished) throws(ParseError) -> RequestHead? {
    try unfinished.parser.parse(bytes.span)
  }

  /// A request without content takes the place of the one before.
  private func begun(_ request: Request) -> Request {
    content = nil
    return request
  }

  private func route(_ head: consuming RequestHead) -> Request {
    switch head.framing {
    case .none, .length(0): content = nil
    case let framing: content = RequestContent(framing, invited: !head.expectsContinue, of: self)
    }
    return server.request(consume head, from: self)
  }

  /// The head's deadline is absolute: it is set once, at the head's first byte.
  private func awaitRest() {
    holdsHead = true
    server.holdHead(self, bytes: input.capacity)
    guard state == .idle else { return }
    state = .receivingHead
    if !isSurplus { stream.setDeadline(in: server.timeouts.head) }
  }

  private func begin(_ request: Request) {
    state = .serving
    releaseHead()
    stream.setDeadline(nil)
    let connection = LoopBound(self, loop)
    Task(executorPreference: loop) { await connection.value.serve(request) }
  }

  private func releaseHead() {
    guard holdsHead else { return }
    holdsHead = false
    server.heads.release(self)
  }

  /// Ends the connection because unfinished heads hold too much memory, and this one's is among the oldest.
  func shed() {
    server.meters.shed.add(1)
    refuse(status: 408, "Too many requests are waiting for the rest of their heads.")
  }

  /// Waits for the next request, holding nothing.
  func rest() {
    if input.isEmpty, server.isDraining { return close() }
    state = .idle
    if input.isEmpty {
      input = []
      stream.setDeadline(in: server.timeouts.idle)
    } else {
      awaitRest()
    }
    stream.resumeReading()
  }

  // MARK: Refusing and ending

  func refuse(_ error: ParseError) {
    server.meters.badRequests.add(1)
    server.log.refused(error)
    refuse(status: error.status, error.rule.sentence)
  }

  private func refuse(status: Int, _ sentence: String) {
    var writer = MessageWriter(reusing: loop.takeBuffer())
    let text = "\(status) \(StatusLines.reason(status)): \(sentence)\n"
    let response = Response(status: status, text: text)
    server.writer.write(
      response, ending: .length(text.utf8.count), keepAlive: false, version: .http11,
      now: loop.clock.wall,
      to: &writer)
    writer.bytes.append(contentsOf: text.utf8)
    _ = stream.send(writer.bytes, then: [], skipping: 0)
    loop.giveBack(writer.takeBytes())
    endOrderly()
  }

  /// Ends the connection so that the client can still read what was sent: closing over unread input would reset it.
  func endOrderly() {
    guard state != .closed else { return }
    state = .lingering
    releaseHead()
    input = []
    unfinished = nil
    stream.shutdownWriting()
    stream.setDeadline(in: Self.lingerTime)
    stream.resumeReading()
  }

  /// Ends the connection so that the client knows its answer is not whole.
  func abort() {
    if state != .closed { stream.resetOnClose() }
    close()
  }

  private func linger() {
    switch stream.receive() {
    case .bytes(let count):
      lingered += count
      if lingered > Self.lingerBytes { close() }
    case .wouldBlock: break
    case .end, .failed: close()
    }
  }
}
