// Who shows what to whom (TRUST E3 to E5): connections and sessions of one identity never serve another, broken files
// keep the daemon from starting, and an end without close_notify is no end of a body.

import TestKit
import Testing

@Suite("Identities towards HTTPS origins")
struct TLSIdentityTests {
  @Test(
    "domains at one address that differ in trust, certificate or name share neither connections nor sessions")
  func apart() throws {
    let (authority, other) = (try Authority(), try Authority())
    let client = try authority.leaf(for: "client.test")
    let nginx = try Nginx(
      settings: """
        ssl_client_certificate \(authority.file); ssl_verify_client on; add_header X-Name $ssl_server_name;
        """, certificate: try authority.leaf(for: "localhost"))
    try nginx.put("a", Array("data".utf8))
    let shows = "tls-certificate = '\(client.chain)'\ntls-key = '\(client.key)'\n"
    let daemon = try Daemon.start(
      config: [
        "good": "tls-ca = '\(authority.file)'\n" + shows, "silent": "tls-ca = '\(authority.file)'\n",
        "suspicious": "tls-ca = '\(other.file)'\n" + shows,
        "elsewhere": "tls-ca = '\(authority.file)'\ntls-name = 'elsewhere.test'\n" + shows,
      ].map { "[[domain]]\nname = '\($0)'\npolicy = 'network-only'\nupstream = '\(nginx.url)'\n\($1)" }
        .joined(separator: "\n"),
      workers: 1)
    for _ in 0..<4 {
      let good = try daemon.get("/a", host: "good.localhost")
      #expect(good.status == 200 && good.text == "data" && good["X-Name"] == "localhost", "\(daemon.log)")
      let silent = try daemon.get("/a", host: "silent.localhost")
      #expect(silent.status != 200 && !silent.text.contains("data"), "\(silent.head.raw)")
      for name in ["suspicious", "elsewhere"] {
        let refused = try daemon.get("/a", host: "\(name).localhost")
        #expect(refused.status == 502, "\(name): \(refused.head.raw)")
        #expect(refused["Proxy-Status"]?.contains("error=tls_certificate_error") == true)
      }
    }
  }

  @Test("the next handshake is a short one, in both versions of TLS", arguments: ["TLSv1.2", "TLSv1.3"])
  func resumption(version: String) throws {
    let authority = try Authority()
    let nginx = try Nginx(
      settings: "ssl_protocols \(version); ssl_session_cache builtin:100; keepalive_requests 1;",
      certificate: try authority.leaf(for: "localhost"))
    try nginx.put("a", Array("data".utf8))
    let daemon = try Daemon.start(
      upstream: nginx.url, workers: 1, set: ["domain.default.policy=network-only"],
      environment: authority.trust)
    for _ in 0..<5 { #expect(try daemon.get("/a").status == 200) }
    let figures = try daemon.figures("origins")
    #expect(figures["opened"] == 5 && figures["tls-resumed"] == 4, "\(figures)")
  }

  @Test("an origin that speaks no version that is new enough is refused")
  func oldVersion() throws {
    let authority = try Authority()
    let nginx = try Nginx(
      settings: "ssl_protocols TLSv1.2;", certificate: try authority.leaf(for: "localhost"))
    try nginx.put("a", Array("data".utf8))
    let daemon = try Daemon.start(
      upstream: nginx.url, set: ["domain.default.tls-min=1.3"], environment: authority.trust)
    let response = try daemon.get("/a")
    #expect(response.status == 502 && response["Proxy-Status"]?.contains("error=tls_protocol_error") == true)
  }

  @Test("a file that is missing, empty, garbage or of another pair keeps the daemon from starting")
  func broken() throws {
    let authority = try Authority()
    let (leaf, other) = (try authority.leaf(for: "a.test"), try authority.leaf(for: "b.test"))
    let folder = try TemporaryFolder()
    let empty = try folder.write("", to: "empty.pem")
    let garbage = try folder.write(
      "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", to: "garbage.pem")
    let locked = folder.path("locked.key")
    let made = try run(
      "openssl",
      [
        "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes128", "-pass", "pass:x",
        "-out", locked,
      ])
    #expect(made.exit == .status(0), "\(made.errors)")
    for keys in [
      "tls-ca = '\(folder.path("none"))'", "tls-ca = '\(empty)'", "tls-ca = '\(garbage)'",
      "tls-ca = '\(folder.path)'",
      "tls-certificate = '\(garbage)'\ntls-key = '\(leaf.key)'",
      "tls-certificate = '\(leaf.chain)'\ntls-key = '\(other.key)'",
      "tls-certificate = '\(leaf.chain)'\ntls-key = '\(locked)'", "tls-certificate = '\(leaf.chain)'",
      "tls-min = '1.1'",
      "tls-name = 'a b'",
    ] {
      let file = try folder.write(
        "[[domain]]\nname = 'a'\nupstream = 'https://localhost:1'\n\(keys)\n", to: "regent.toml")
      for arguments in [
        ["check", file], ["serve", "--listen", "127.0.0.1:\(try Daemon.freePort())", "--config", file],
      ] {
        let result = try run(Daemon.binary, arguments)
        #expect(result.exit == .status(78), "\(keys): \(result.errors)")
        #expect(!result.errors.isEmpty)
      }
    }
  }

  @Test(
    "an end without close_notify cuts a body off, and nothing of it is stored",
    arguments: ["length", "chunked", "close"])
  func truncation(framing: String) throws {
    let authority = try Authority()
    let leaf = try authority.leaf(for: "localhost")
    let port = try Daemon.freePort()
    let folder = try TemporaryFolder()
    let heads = [
      "length": "Content-Length: 10\\r\\n\\r\\nhalf",
      "chunked": "Transfer-Encoding: chunked\\r\\n\\r\\n4\\r\\nhalf\\r\\n",
      "close": "\\r\\nhalf",
    ]
    // Python's sockets close without close_notify.
    let script = """
      import socket, ssl
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain('\(leaf.chain)', '\(leaf.key)')
      listener = socket.create_server(('127.0.0.1', \(port)))
      while True:
          raw, _ = listener.accept()
          try:
              stream = context.wrap_socket(raw, server_side=True)
              stream.recv(65536)
              stream.sendall(b'HTTP/1.1 200 OK\\r\\nCache-Control: max-age=600\\r\\n\(heads[framing] ?? "")')
              stream.close()
          except OSError:
              pass
      """
    let origin = try ChildProcess(
      "python3", [try folder.write(script, to: "origin.py")], errors: folder.path("errors"))
    #expect(eventually { (try? Socket(port: port)) != nil }, "\(contents(of: folder.path("errors")))")
    let daemon = try Daemon.start(upstream: "https://localhost:\(port)", environment: authority.trust)
    for _ in 0..<2 {
      let client = try daemon.connect()
      try client.request("GET", "/a")
      let all = try client.rest()
      #expect(all.contains("half") || all.hasPrefix("HTTP/1.1 502"), "\(all)")
      #expect(!all.contains("; hit") && !all.contains("0\r\n\r\n"), "\(all)")
    }
    _ = origin.kill()
    #expect(try daemon.get("/a").status == 502)
  }
}
