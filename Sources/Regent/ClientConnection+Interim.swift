// Interim responses on their way to the client (RFC 9110 section 15.2): each leaves as it comes, unless earlier answers
// are still to be written; then it goes in front of its final response. It never waits, and never overtakes.

import RegentConfig
import RegentHTTP
import RegentLoop

extension ClientConnection {
  /// Sends an interim response of the origin on.
  func relay(_ head: ResponseHead) {
    guard state == .serving else { return }
    var writer = MessageWriter(reusing: interim)
    interim = []
    writer.statusLine(head.status)
    writer.forwarded(head.fields, except: Self.framing)
    writer.endHead()
    var words = writer.takeBytes()
    if !holdsAnswers, case .bytes(let count) = stream.send(words, then: [], skipping: 0) {
      words.removeFirst(count)
    }
    interim = words
  }

  private static let framing = FieldNameSet([.contentLength])

  /// What could not leave, in front of the final response.
  func takeInterim(into writer: inout MessageWriter) {
    writer.bytes.append(contentsOf: interim)
    interim = []
  }

  /// Invites the client to send its content (RFC 9110 section 10.1.1).
  func invite() async throws(StreamError) {
    let words = interim + Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
    interim = []
    holdsAnswers = true
    defer { holdsAnswers = false }
    try await stream.write(words, stall: server.timeouts.writeStall)
  }
}

extension Request {
  /// Hands an interim response up to the client, where it can take one: HTTP/1.0 knows none, and whoever asked to be
  /// invited is invited as its content is asked for.
  func relay(_ head: ResponseHead) {
    guard let client, self.head.version == .http11, head.status != 100 || !self.head.expectsContinue else {
      return
    }
    client.value.relay(head)
  }
}
