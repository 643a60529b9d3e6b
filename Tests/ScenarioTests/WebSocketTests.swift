// A real WebSocket client and server talk through the daemon: text, binary, ping, close, frames of 1 MiB.

import Testing

@Suite("WebSockets")
struct WebSocketTests {
  private static let said = """
    text
    binary
    frames of 1 MiB both ways at once
    ping
    close
    closed by the server

    """

  @Test("a client and a server that know nothing of Regent talk through it")
  func plain() throws {
    let server = try WebSocketServer()
    let daemon = try Daemon.start(upstream: server.url)
    #expect(try runWebSocketClient(daemon) == Self.said)
    try expectClosed(daemon)
  }

  @Test("so they do where the origin speaks TLS")
  func secure() throws {
    let authority = try Authority()
    let server = try WebSocketServer(certificate: try authority.leaf(for: "localhost"))
    let daemon = try Daemon.start(upstream: server.url, environment: authority.trust)
    #expect(try runWebSocketClient(daemon) == Self.said)
    try expectClosed(daemon)
  }

  private func expectClosed(_ daemon: Daemon) throws {
    let isClosed = try eventually {
      let tunnels = try daemon.figures("tunnels")
      return tunnels["open"] == 0 && tunnels["opened"] == 2
    }
    #expect(isClosed)
  }
}
