// Records that arrive in pieces, as they do on every real network: the loop waits for the rest of one like for
// anything else, without spinning and without keeping its other connections waiting.

import Testing

@Suite("TLS records in pieces")
struct TLSRecordTests {
  @Test(
    "while a part of a record is missing, the loop serves others and its processor rests, also within a proxy's TLS",
    arguments: [false, true])
  func cutRecord(isBehindProxy: Bool) throws {
    let authority = try Authority()
    let nginx = try Nginx(certificate: try authority.leaf(for: "localhost"))
    let body = Pattern(for: "/a").bytes(count: 16_000)
    try nginx.put("a", body)
    let relay = try Relay(to: nginx.port, stoppingBefore: 12_000)
    let proxy =
      try isBehindProxy
      ? SecureProxy(to: relay.port, certificate: try authority.leaf(for: "localhost")) : nil
    defer { withExtendedLifetime(proxy) {} }
    let daemon = try Daemon.start(
      upstream: "https://localhost:\(relay.port)", workers: 1,
      set: proxy.map { [Setting.domain("proxy", "https://localhost:\($0.port)")] } ?? [],
      environment: authority.trust)
    let client = try daemon.connect()
    try client.request("GET", "/a")
    #expect(eventually { relay.isStopped })
    let before = daemon.processorTime
    for _ in 0..<5 { _ = try daemon.stats() }
    _ = client.socket.isReadable(within: 500)
    #expect(daemon.processorTime - before < .milliseconds(300))
    relay.goOn()
    #expect(isSame(try client.response().body, body))
  }
}

/// Passes bytes between a client and a port, and holds back what the port sends from a certain byte on.
private final class Relay: Sendable {
  private let listener: Listener
  private let gate = Gate()
  private let stopped = Shared(false)

  var port: UInt16 { listener.port }
  var isStopped: Bool { stopped.value }

  init(to port: UInt16, stoppingBefore limit: Int) throws {
    listener = try Listener()
    _ = Worker { [listener, gate, stopped] in
      while let client = listener.accept() {
        let server = try Socket(port: port)
        _ = Worker { try Self.pass(from: client, to: server) { _ in } }
        _ = Worker {
          var sent = 0
          try Self.pass(from: server, to: client) { bytes in
            guard sent + bytes.count > limit, sent < limit else {
              sent += sent < limit ? bytes.count : 0
              return
            }
            try client.send(Array(bytes.prefix(limit - sent)))
            bytes.removeFirst(limit - sent)
            sent = .max
            stopped.update { $0 = true }
            try gate.wait()
          }
        }
      }
    }
  }

  deinit { listener.stop() }

  func goOn() { gate.open() }

  private static func pass(
    from source: Socket, to target: Socket, _ look: (inout [UInt8]) throws -> Void
  ) throws {
    while true {
      var bytes = try source.receive()
      if bytes.isEmpty { return target.endSending() }
      try look(&bytes)
      try target.send(bytes)
    }
  }
}
