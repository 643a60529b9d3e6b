// A request's content on its way to the origin, at the pace of the slower side. One block is in flight at a time, and
// goes out as it came in.

import RegentHTTP
import RegentLoop

struct Upload {
  private let body: any RequestBody
  private let stream: ByteStream
  private let stall: Duration
  private let transfer: Transfer
  private var writer = MessageWriter()
  private var turn = 0
  /// Whether all of it, the end included, was handed to the origin.
  private(set) var isWhole = false

  private static let lineEnd = Slice([0x0D, 0x0A])

  init(_ body: any RequestBody, _ stream: ByteStream, stall: Duration, _ transfer: Transfer) {
    self.body = body
    self.stream = stream
    self.stall = stall
    self.transfer = transfer
  }

  /// Sends to the end. Nil also where the origin stopped reading: then its answer says why.
  mutating func run() async -> Failure? {
    defer { transfer.end() }
    while true {
      let content: Slice?
      // Whatever broke the client's content off, the request cannot be completed.
      do { content = try await body.next() } catch let error as ParseError {
        return .malformedRequest(error.rule.sentence)
      } catch {
        return .requestTimedOut
      }
      do throws(StreamError) { try await send(content) } catch { return nil }
      guard let content else {
        isWhole = true
        return nil
      }
      await note(content.count)
    }
  }

  private mutating func send(_ content: Slice?) async throws(StreamError) {
    guard body.framing == .chunked else {
      if let content { try await stream.write([], then: [content], stall: stall) }
      return
    }
    writer.bytes.removeAll(keepingCapacity: true)
    guard let content else {
      writer.lastChunk()
      return try await stream.write(writer.bytes, stall: stall)
    }
    writer.chunkHeader(content.count)
    try await stream.write(writer.bytes, then: [content, Self.lineEnd], stall: stall)
  }

  /// A client that sends as fast as its origin takes would keep the loop to itself.
  private mutating func note(_ count: Int) async {
    transfer.moved(count)
    turn += count
    guard turn >= BodyFiller.turn else { return }
    turn = 0
    await stream.loop.yieldTurn()
  }
}
