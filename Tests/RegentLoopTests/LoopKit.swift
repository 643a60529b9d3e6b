// What the tests of loops share: a loop of one's own for one test, two connected streams, and a delegate that tells.

import Glibc
import Testing

@testable import RegentLoop

/// Runs `body` as a task on a loop of its own, which is stopped behind it.
func onLoop<Result: Sendable>(
  _ body: @escaping @Sendable (EventLoop) async throws -> Result
) async throws -> Result {
  let group = try LoopGroup(count: 1)
  defer { group.stop() }
  let loop = group.loops[0]
  return try await Task(executorPreference: loop) { try await body(loop) }.value
}

/// Two connected Unix stream sockets on a loop; both are closed behind `body`.
func withPair<Result>(
  on loop: EventLoop, _ body: (ByteStream, ByteStream) async throws -> Result
) async throws -> Result {
  let pair = try makePair(on: loop)
  defer {
    pair.0.close()
    pair.1.close()
  }
  return try await body(pair.0, pair.1)
}

func makePair(on loop: EventLoop) throws -> (ByteStream, ByteStream) {
  var descriptors: [Int32] = [-1, -1]
  let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
  // Unsafe: fills the array's two places.
  let result = unsafe socketpair(AF_UNIX, kind, 0, &descriptors)
  _ = try SystemError.check("socketpair", result)
  return (ByteStream(descriptor: descriptors[0], on: loop), ByteStream(descriptor: descriptors[1], on: loop))
}

/// Two streams that are connected over TCP on 127.0.0.1: the one that connected, and the one that was accepted.
func withConnection<Result>(
  on loop: EventLoop, _ body: (ByteStream, ByteStream) async throws -> Result
) async throws -> Result {
  let socket = try listening()[0]
  let acceptance = Acceptance()
  let listener = Listener(socket, on: loop) { acceptance.accepted($0) }
  defer { listener.close() }
  let client = try await ByteStream.connect(to: socket.address, on: loop, timeout: .seconds(30))
  defer { client.close() }
  await acceptance.wait(for: 1)
  let server = acceptance.streams[0]
  defer { server.close() }
  return try await body(client, server)
}

/// Sockets that listen on 127.0.0.1, at a port of the system's choice.
func listening(count: Int = 1, backlog: Int32 = 256) throws -> [ListeningSocket] {
  let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
  return try ListeningSocket.open(address, count: count, backlog: backlog)
}

/// Gathers what a listener accepts, and lets one task wait until so many came.
final class Acceptance {
  private(set) var streams: [ByteStream] = []
  private var wanted = 0
  private var waiting: CheckedContinuation<Void, Never>?

  func accepted(_ stream: ByteStream) {
    streams.append(stream)
    guard streams.count >= wanted else { return }
    waiting?.resume()
    waiting = nil
  }

  func wait(for count: Int) async {
    guard streams.count < count else { return }
    wanted = count
    await withCheckedContinuation { waiting = $0 }
  }

  func closeAll() { for stream in streams { stream.close() } }
}

/// A delegate that notes what it was told, and calls back.
final class Witness: StreamDelegate {
  private(set) var readable = 0
  private(set) var deadlines = 0
  private let whenReadable: () -> Void
  private let whenLate: () -> Void

  init(readable: @escaping () -> Void = {}, late: @escaping () -> Void = {}) {
    (whenReadable, whenLate) = (readable, late)
  }

  func streamBecameReadable() {
    readable += 1
    whenReadable()
  }

  func streamDeadlinePassed() {
    deadlines += 1
    whenLate()
  }
}

/// Receives until the stream's end.
func readToEnd(_ stream: ByteStream) async throws -> [UInt8] {
  var bytes: [UInt8] = []
  while true {
    switch stream.receive() {
    case .bytes(let count): stream.loop.scratch.copy(0..<count, onto: &bytes)
    case .wouldBlock: try await stream.readable()
    case .end: return bytes
    case .failed(let error): throw error
    }
  }
}

/// Receives exactly so many bytes.
func read(_ count: Int, from stream: ByteStream) async throws -> [UInt8] {
  var bytes: [UInt8] = []
  while bytes.count < count {
    let block = Block(capacity: count - bytes.count)
    switch stream.receive(into: block) {
    case .bytes: bytes += Slice(block).bytes
    case .wouldBlock: try await stream.readable()
    case .end: throw StreamError.closed
    case .failed(let error): throw error
    }
  }
  return bytes
}

/// Bytes that show a shift or a hole.
func pattern(_ count: Int, seed: UInt8 = 0) -> [UInt8] {
  // A prime number of bytes, again and again: quick to make also where nothing is optimised.
  let piece = (0..<min(count, 4093)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) &+ seed }
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count)
  while count - bytes.count >= 4093 { bytes += piece }
  return bytes + piece.prefix(count - bytes.count)
}
