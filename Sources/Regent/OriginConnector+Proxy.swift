// The way through an outgoing proxy: CONNECT, and what may come before the tunnel stands (RFC 9110 section 9.3.6).

import RegentConfig
import RegentHTTP
import RegentLoop

extension OriginConnector {
  /// Asks the proxy at the other end of the stream for a tunnel to the origin. Behind its answer nothing may stand: what
  /// came in clear would be taken for the origin's word (TRUST E1).
  func openTunnel(_ stream: ByteStream, _ proxy: ProxyRoute) async throws(StreamError) {
    var writer = MessageWriter()
    writer.connectRequest(to: identity.destination)
    writer.field(.host, bytes: identity.destination)
    if let authorization = proxy.authorization { writer.field(.proxyAuthorization, authorization) }
    writer.endHead()
    try await stream.write(writer.bytes, stall: timeouts.connect)
    let (head, isAlone) = try await answer(on: stream)
    guard 200..<300 ~= head.status else { throw .proxyRefused("it answered \(head.status)") }
    guard isAlone else { throw .tls(.handshake("bytes in clear came before it")) }
  }

  private func answer(on stream: ByteStream) async throws(StreamError) -> (ResponseHead, isAlone: Bool) {
    var parser = ResponseParser(limits: limits)
    var input: [UInt8] = []
    while true {
      try await stream.readable()
      switch stream.receive() {
      case .bytes(let count): stream.loop.scratch.copy(0..<count, onto: &input)
      case .wouldBlock: continue
      case .end: throw .proxyRefused("it closed the connection")
      case .failed(let error): throw error
      }
      do throws(ParseError) {
        if let head = try parser.parse(input.span) { return (head, parser.consumed == input.count) }
      } catch {
        throw .proxyRefused("its answer is malformed: \(error)")
      }
    }
  }
}
