// The faults that only an origin with TLS can make: each has its status, its word and its counter, and no byte of it is
// taken for data.

import Foundation
import TestKit
import Testing

@Suite("Faults of origins with TLS")
struct TLSFaultTests {
  private static func expect(
    _ daemon: Daemon, _ status: Int, _ word: String, _ reason: String,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let answer = try daemon.get("/a")
    #expect(
      answer.status == status && !answer.text.contains("evil"), "\(answer.head.raw)", sourceLocation: location
    )
    #expect(
      answer["Proxy-Status"]?.contains("error=\(word)") == true, "\(answer.head.raw)",
      sourceLocation: location)
    let counted = try daemon.figures("origins", "faults")
    #expect((counted[reason] ?? 0) >= 1, "\(counted)", sourceLocation: location)
  }

  /// What comes in place of a handshake.
  enum Greeting: CaseIterable { case plaintext, end, reset, silence }

  @Test("what is no handshake is an error, not data", arguments: Greeting.allCases)
  func noHandshake(_ greeting: Greeting) throws {
    let listener = try Listener()
    let answering = Worker {
      while let socket = listener.accept() {
        switch greeting {
        case .plaintext: try? socket.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".utf8))
        case .end: socket.close()
        case .reset: socket.reset()
        case .silence: _ = try? socket.receive()
        }
        if greeting == .plaintext || greeting == .silence {
          while (try? socket.receive())?.isEmpty == false {}
        }
      }
    }
    let daemon = try Daemon.start(
      upstream: "https://127.0.0.1:\(listener.port)", workers: 1, set: ["timeouts.tls-handshake=1s"])
    switch greeting {
    case .plaintext: try Self.expect(daemon, 502, "tls_protocol_error", "tls-handshake")
    case .end: try Self.expect(daemon, 502, "tls_protocol_error", "tls-handshake")
    case .reset: try Self.expect(daemon, 502, "destination_unavailable", "unreachable")
    case .silence: try Self.expect(daemon, 504, "connection_timeout", "tls-timeout")
    }
    listener.stop()
    try answering.finish()
  }

  @Test("a certificate for another name, or of an unknown authority, is refused", arguments: [true, false])
  func certificate(isForAnother: Bool) throws {
    let authority = try Authority()
    let certificate =
      try isForAnother ? authority.leaf(for: "other.test") : authority.selfSigned(for: "localhost")
    let server = try TLSOrigin(certificate)
    let daemon = try Daemon.start(upstream: server.url, workers: 1, environment: authority.trust)
    try Self.expect(daemon, 502, "tls_certificate_error", "tls-certificate")
  }

  @Test("a protocol that is too old is refused")
  func oldProtocol() throws {
    let authority = try Authority()
    let server = try TLSOrigin(try authority.leaf(for: "localhost"), mode: "old")
    let daemon = try Daemon.start(upstream: server.url, workers: 1, environment: authority.trust)
    try Self.expect(daemon, 502, "tls_protocol_error", "tls-handshake")
  }

  @Test("bytes that are no record are no answer")
  func badRecord() throws {
    let authority = try Authority()
    let server = try TLSOrigin(try authority.leaf(for: "localhost"), mode: "record")
    let daemon = try Daemon.start(upstream: server.url, workers: 1, environment: authority.trust)
    try Self.expect(daemon, 502, "tls_protocol_error", "tls-record")
  }

  /// A daemon before a TLS origin, perhaps with a proxy in between that speaks TLS as well.
  private static func daemon(_ server: TLSOrigin, _ authority: Authority, isBehindProxy: Bool) throws
    -> (Daemon, SecureProxy?)
  {
    let proxy =
      try isBehindProxy
      ? SecureProxy(to: server.port, certificate: try authority.leaf(for: "localhost")) : nil
    let set = proxy.map { [Setting.domain("proxy", "https://localhost:\($0.port)")] } ?? []
    return (
      try Daemon.start(upstream: server.url, workers: 1, set: set, environment: authority.trust), proxy
    )
  }

  @Test(
    "an end without close_notify is no end of a body that only the end delimits, and nothing is stored",
    arguments: [false, true])
  func truncated(isBehindProxy: Bool) throws {
    let authority = try Authority()
    let server = try TLSOrigin(try authority.leaf(for: "localhost"), mode: "truncated")
    let (daemon, proxy) = try Self.daemon(server, authority, isBehindProxy: isBehindProxy)
    defer { withExtendedLifetime(proxy) {} }
    for _ in 0..<2 { #expect(throws: (any Error).self) { try daemon.get("/a") } }
    #expect(try daemon.figures("origins", "faults")["tls-truncated"] == 2)
  }

  @Test(
    "an orderly end, and a length that is kept, are whole answers", arguments: ["orderly", "length"],
    [false, true])
  func whole(mode: String, isBehindProxy: Bool) throws {
    let authority = try Authority()
    let server = try TLSOrigin(try authority.leaf(for: "localhost"), mode: mode)
    let (daemon, proxy) = try Self.daemon(server, authority, isBehindProxy: isBehindProxy)
    defer { withExtendedLifetime(proxy) {} }
    for _ in 0..<2 { #expect(try daemon.get("/a").text == "half") }
    #expect(try daemon.figures("origins", "faults").isEmpty)
  }
}

/// A TLS origin that answers each request on a connection of its own, as its mode says.
final class TLSOrigin: Sendable {
  private let process: ChildProcess
  private let folder: TemporaryFolder
  let port: UInt16

  var url: String { "https://localhost:\(port)" }

  init(_ certificate: Certificate, mode: String = "orderly") throws {
    folder = try TemporaryFolder()
    port = try Daemon.freePort()
    let file = try folder.write(Self.program, to: "origin.py")
    process = try ChildProcess(
      "/usr/bin/python3", [file, "\(port)", certificate.chain, certificate.key, mode],
      errors: folder.path("errors"))
    guard eventually({ (try? Socket(port: port)) != nil || process.poll() != nil }), process.poll() == nil
    else {
      throw SpawnError(description: "the TLS origin: \(contents(of: folder.path("errors")))")
    }
  }

  private static let program = """
    import os, socket, ssl, sys, threading, warnings
    warnings.simplefilter("ignore")
    port, chain, key, mode = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    if mode == "old":
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1

    def talk(raw):
        tls = context.wrap_socket(raw, server_side=True)
        head = b""
        while b"\\r\\n\\r\\n" not in head:
            data = tls.recv(65536)
            if not data: return
            head += data
        if mode == "record":
            os.write(tls.fileno(), b"evil bytes that are no record of any kind")
            tls.shutdown(socket.SHUT_RDWR)
            return
        length = "Content-Length: 4\\r\\n" if mode == "length" else ""
        tls.sendall(("HTTP/1.1 200 OK\\r\\nCache-Control: no-store\\r\\n" + length + "Connection: close\\r\\n\\r\\nhalf").encode())
        if mode == "orderly": raw = tls.unwrap()
        else: tls.shutdown(socket.SHUT_RDWR)

    def serve(raw):
        try: talk(raw)
        except (OSError, ssl.SSLError): pass
        finally: raw.close()

    listener = socket.create_server(("127.0.0.1", port))
    while True:
        raw, _ = listener.accept()
        threading.Thread(target=serve, args=(raw,), daemon=True).start()

    """
}
