// A request's content on its way to the origin, at the pace of the slower side.

import RegentHTTP
import RegentLoop

struct Upload {
  private let body: any RequestBody
  private let stream: ByteStream
  private let stall: Duration
  private var writer = MessageWriter()
  /// Whether all of it, the end included, was handed to the origin.
  private(set) var isWhole = false

  init(_ body: any RequestBody, _ stream: ByteStream, stall: Duration) {
    self.body = body
    self.stream = stream
    self.stall = stall
  }

  /// Sends to the end. Nil also where the origin stopped reading: then its answer says why.
  mutating func run() async -> Failure? {
    while true {
      let content: [UInt8]?
      // Whatever broke the client's content off, the request cannot be completed.
      do { content = try await body.next() } catch let error as ParseError {
        return .malformedRequest(error.rule.sentence)
      } catch {
        return .requestTimedOut
      }
      frame(content)
      do throws(StreamError) {
        try await stream.write(writer.bytes, stall: stall)
      } catch {
        return nil
      }
      writer.bytes.removeAll(keepingCapacity: true)
      guard content != nil else {
        isWhole = true
        return nil
      }
    }
  }

  private mutating func frame(_ content: [UInt8]?) {
    guard body.framing == .chunked else { return writer.bytes.append(contentsOf: content ?? []) }
    guard let content else { return writer.lastChunk() }
    writer.chunkHeader(content.count)
    writer.bytes.append(contentsOf: content)
    writer.chunkEnd()
  }
}
