// HTTPS origins: data only from an origin that proved its name, and for all others a reason instead.

import TestKit
import Testing

@Suite("HTTPS origins")
struct TLSTests {
  private static let secret = "data that only a trusted origin may give"

  @Test("an origin whose certificate is good is relayed byte for byte")
  func good() throws {
    let authority = try Authority()
    let nginx = try Nginx(certificate: try authority.leaf(for: "localhost"))
    let body = Pattern(for: "/a").bytes(count: 3_000_000)
    try nginx.put("a", body)
    let daemon = try Daemon.start(upstream: nginx.url, environment: authority.trust)
    let client = try daemon.connect()
    for _ in 0..<3 {
      let response = try client.get("/a")
      #expect(response.status == 200)
      #expect(isSame(response.body, body))
    }
  }

  /// What may be wrong with an origin's certificate, and the words that the log must have for it.
  enum Flaw: String, CaseIterable, CustomTestStringConvertible {
    case wrongName = "name"
    case expired = "expired"
    case selfSigned = "self-signed"
    case untrusted = "issuer"

    var testDescription: String { "\(self)" }

    func certificate(_ authority: Authority) throws -> Certificate {
      switch self {
      case .wrongName: try authority.leaf(for: "elsewhere.test")
      case .expired: try authority.leaf(for: "localhost", days: -1)
      case .selfSigned: try authority.selfSigned(for: "localhost")
      case .untrusted: try Authority().leaf(for: "localhost")
      }
    }
  }

  @Test("a bad certificate gives 502 with its reason and never data", arguments: Flaw.allCases)
  func bad(_ flaw: Flaw) throws {
    let authority = try Authority()
    let nginx = try Nginx(certificate: try flaw.certificate(authority))
    try nginx.put("a", Array(Self.secret.utf8))
    let daemon = try Daemon.start(upstream: nginx.url, environment: authority.trust)
    for _ in 0..<2 {
      let response = try daemon.get("/a")
      #expect(response.status == 502)
      #expect(!response.text.contains(Self.secret))
      #expect(
        response["Proxy-Status"]?.contains("error=tls_certificate_error") == true, "\(response.head.raw)")
      #expect(response.cacheStatus.contains("fwd="), "\(response.head.raw)")
      #expect(!response.isHit)
    }
    #expect(eventually { daemon.log.lowercased().contains(flaw.rawValue) }, "\(daemon.log)")
    #expect(contents(of: nginx.folder.path("access.log")).isEmpty)
  }

  @Test("an answer in clear before the handshake is an error, not data")
  func plaintext() throws {
    let listener = try Listener()
    let answer = Worker {
      while let socket = listener.accept() {
        try socket.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".utf8))
        _ = try? socket.receive()
      }
    }
    let daemon = try Daemon.start(upstream: "https://localhost:\(listener.port)")
    let response = try daemon.get("/a")
    #expect(response.status == 502)
    #expect(response["Proxy-Status"]?.contains("error=tls") == true, "\(response.head.raw)")
    #expect(!response.text.contains("evil"))
    listener.stop()
    try answer.finish()
  }
}
