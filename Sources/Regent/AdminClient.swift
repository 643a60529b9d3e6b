// Asking a running daemon: one request to its admin pages, for the command line. A loop of its own, one connection,
// one answer, bounded in size and time.

public import RegentConfig
import RegentHTTP
import RegentLoop

/// A client of the admin pages.
public enum AdminClient {
  /// What the daemon answered.
  public struct Answer: Sendable {
    public let status: Int
    public let text: String
  }

  /// The longest answer in bytes, and how long it may take.
  private static let limit = 16 << 20
  private static let patience = Duration.seconds(10)

  /// Asks for a page, such as `/stats`; the fields are sent as they are.
  ///
  /// Throws a sentence for whoever asked, and an exit code of sysexits.h.
  public static func get(
    _ target: String, fields: [(name: String, value: String)] = [], at address: ListenAddress
  ) throws(DaemonError) -> Answer {
    let request = try head(target, fields)
    do throws(SystemError) {
      guard let peer = try address.socketAddresses().first else {
        throw SystemError.noSuchAddress("\(address)")
      }
      let group = try LoopGroup(count: 1)
      defer { group.stop() }
      return try exchange(request, peer, on: group.loops[0]).get()
    } catch {
      throw DaemonError(error)
    }
  }

  private static func head(
    _ target: String, _ fields: [(name: String, value: String)]
  ) throws(DaemonError) -> [UInt8] {
    var writer = MessageWriter()
    writer.requestLine(.get, target: Array(target.utf8)[...])
    for (name, value) in [("Host", "regent.localhost"), ("Connection", "close")] + fields {
      guard let value = FieldValue(validating: Array(value.utf8)) else {
        throw DaemonError(message: "the field \(name) cannot be sent", exitCode: DaemonError.usage)
      }
      let before = writer.bytes.count
      writer.field(named: Array(name.utf8)[...], value)
      guard writer.bytes.count > before else {
        throw DaemonError(message: "\(name) is no field name", exitCode: DaemonError.usage)
      }
    }
    writer.endHead()
    return writer.bytes
  }

  private static func exchange(
    _ request: [UInt8], _ peer: SocketAddress, on loop: EventLoop
  ) -> Result<Answer, SystemError> {
    let outcome = Lock<Result<Answer, SystemError>>(.failure(.noAnswer(peer.description)))
    let done = Latch(1)
    Task(executorPreference: loop) {
      let result = await ask(request, peer, on: loop)
      outcome.withLock { $0 = result }
      done.countDown()
    }
    done.wait()
    return outcome.withLock { $0 }
  }

  private static func ask(
    _ request: [UInt8], _ peer: SocketAddress, on loop: EventLoop
  ) async -> Result<Answer, SystemError> {
    do throws(StreamError) {
      let stream = try await ByteStream.connect(to: peer, on: loop, timeout: patience)
      defer { stream.close() }
      try await stream.write(request, stall: patience)
      stream.setDeadline(in: patience)
      let received = try await receiveAll(stream)
      return answer(received).map { .success($0) } ?? .failure(.noAnswer(peer.description))
    } catch {
      if case .system(let error) = error { return .failure(error) }
      return .failure(.noAnswer(peer.description))
    }
  }

  private static func receiveAll(_ stream: ByteStream) async throws(StreamError) -> [UInt8] {
    var received: [UInt8] = []
    while received.count < limit {
      switch stream.receive() {
      case .bytes(let count): stream.loop.scratch.copy(0..<count, onto: &received)
      case .wouldBlock: try await stream.readable()
      case .end: return received
      case .failed(let error): throw error
      }
    }
    return received
  }

  private static func answer(_ received: [UInt8]) -> Answer? {
    var parser = ResponseParser()
    // Whatever is wrong with it, it is no answer.
    guard let head = try? parser.parse(received.span), let framing = try? head.framing(answering: .get) else {
      return nil
    }
    let body = received[parser.consumed...]
    if case .length(let length) = framing, body.count != length { return nil }
    return Answer(status: head.status, text: String(decoding: body, as: UTF8.self))
  }
}
