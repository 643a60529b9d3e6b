// The kit against the real world: nginx in the daemon's place, and the scripted origin with the kit's own client.

import Testing

@Suite("The scenario kit")
struct KitTests {
  @Test("the client reads from a real nginx what was put there, and the access log says so")
  func nginxServes() throws {
    let nginx = try Nginx()
    let body = Pattern(for: "a").bytes(count: 300_000)
    try nginx.put("a", body)
    let client = try Client(port: nginx.port)
    for _ in 0..<2 { #expect(isSame(try client.get("/a").body, body)) }
    #expect(try nginx.accesses() == ["GET /a 200", "GET /a 200"])
    nginx.crash()
    try nginx.restart()
    #expect(isSame(try Client(port: nginx.port).get("/a").body, body))
  }

  @Test("the origin counts its requests, and a body that is cut is told from one that ends")
  func scriptedOrigin() throws {
    let origin = try Origin { request, connection in
      if request.target == "/cut" {
        try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        connection.close()
      } else {
        try connection.answer(
          200, ["X: \(request.number)"], String(decoding: connection.readBody(), as: UTF8.self))
      }
    }
    let client = try Client(port: origin.port)
    try client.send(
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try client.response().text == "hi")
    #expect(try client.response()["x"] == "2")
    try client.request("GET", "/cut")
    #expect(throws: WireError.cut) { try client.response() }
    #expect(origin.count("/") == 2)
    #expect(origin.connections == 1)
  }

  @Test("the kit tells a pattern from any other")
  func patterns() {
    let pattern = Pattern(for: "/a")
    let bytes = pattern.bytes(count: 600_000)
    #expect(pattern.matches(Array(bytes[500_000...]), at: 500_000))
    #expect(!Pattern(for: "/b").matches(bytes))
    #expect(!pattern.matches(bytes, at: 1))
  }

  @Test("each certificate of the test authority is what it should be")
  func certificates() throws {
    let authority = try Authority()
    let nginx = try Nginx(certificate: try authority.leaf(for: "localhost"))
    let expired = try Nginx(certificate: try authority.leaf(for: "localhost", days: -1))
    #expect(try verify(nginx, authority).contains("Verify return code: 0 (ok)"))
    #expect(try verify(expired, authority).contains("certificate has expired"))
  }

  private func verify(_ nginx: Nginx, _ authority: Authority) throws -> String {
    try run(
      "openssl", ["s_client", "-connect", "127.0.0.1:\(nginx.port)", "-verify_hostname", "localhost"],
      environment: authority.trust
    ).output
  }
}
