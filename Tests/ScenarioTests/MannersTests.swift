// How Regent asks an origin: who it says it is, for whom it asks, what its owner adds; and that no request goes round
// in a circle.

import Testing

@Suite("Manners towards an origin")
struct MannersTests {
  private static func stage(_ set: [String]) throws -> Stage {
    try Stage(set: set.map { "domain.default.\($0)" }) { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=600"], request.head.raw)
    }
  }

  @Test(
    "a request that comes back gets 508 instead of going round for ever, also where it would wait for itself")
  func loop() throws {
    // The origin sends everything back to where it came from, as a proxy that was set up wrongly does.
    let back = Shared<UInt16>(0)
    let origin = try Origin { request, connection in
      let port = back.value
      let client = try Client(port: port)
      let via = request["Via"].map { ["Via: \($0), 1.1 innocent"] } ?? []
      let answer = try client.get(request.target, host: "localhost", via)
      try connection.answer(answer.status, [], answer.text)
    }
    let daemon = try Daemon.start(upstream: origin.url)
    back.update { $0 = daemon.port }
    let response = try daemon.get("/round")
    #expect(response.status == 508 && response.text.contains("passed this daemon before"), "\(response.text)")
    #expect(origin.count("/round") == 1)
    let direct = try daemon.get("/other", ["Via: \(try #require(origin.requests.first?["Via"]))"])
    #expect(direct.status == 508)
    #expect(direct["Proxy-Status"]?.contains("error=proxy_loop_detected") == true, "\(direct.head.raw)")
    #expect(try daemon.figures("connections")["loops-detected"] == 2)
  }

  @Test("two daemons in a row that are named alike serve")
  func namesakes() throws {
    let stage = try Self.stage([])
    let front = try Daemon.start(upstream: "http://127.0.0.1:\(stage.daemon.port)")
    let response = try front.get("/a")
    #expect(response.status == 200)
    let via = try #require(stage.origin.requests.first?["Via"])
    #expect(via.split(separator: ", ").count == 2 && via.hasPrefix("1.1 regent ("), "\(via)")
  }

  @Test("without a word from its owner it says nothing of the client")
  func silent() throws {
    let stage = try Self.stage([])
    _ = try stage.get("/a")
    let head = try #require(stage.origin.requests.first?.head)
    #expect(head["X-Forwarded-For"] == nil && head["Forwarded"] == nil && head["Via"] != nil)
  }

  @Test(
    "X-Forwarded-* are Regent's own, whatever the client says, and another Host's answer is another entry")
  func xForwarded() throws {
    let stage = try Self.stage(["forwarded=x-forwarded"])
    let lies = [
      "X-Forwarded-For: 8.8.8.8", "X-Forwarded-Host: evil.test", "X-Forwarded-Proto: gopher",
      "Forwarded: for=8.8.8.8",
    ]
    for target in ["/a", "/b"] {
      let head = try stage.get(target, lies)
      #expect(head.status == 200)
      let seen = try #require(stage.origin.requests.last)
      #expect(
        seen["X-Forwarded-For"] == "127.0.0.1" && seen["X-Forwarded-Proto"] == "http", "\(seen.head.raw)")
      #expect(seen["X-Forwarded-Host"] == "localhost" && seen["Forwarded"] == nil, "\(seen.head.raw)")
    }
    #expect(try stage.get("/a").isHit)
    let other = try stage.daemon.get("/a", host: "elsewhere.localhost:81")
    #expect(!other.isHit && other.text.contains("X-Forwarded-Host: elsewhere.localhost:81"), "\(other.text)")
    // Also where nothing is ever stored.
    try stage.daemon.connect().request("DELETE", "/a", lies)
    #expect(eventually { stage.origin.requests.last?.method == "DELETE" })
    #expect(stage.origin.requests.last?["X-Forwarded-For"] == "127.0.0.1")
  }

  @Test("Forwarded says the same in the words of RFC 7239")
  func forwarded() throws {
    let stage = try Self.stage(["forwarded=forwarded"])
    _ = try stage.daemon.get("/a", host: "localhost:81", ["Forwarded: for=8.8.8.8"])
    let head = try #require(stage.origin.requests.first)
    #expect(head["Forwarded"] == "for=127.0.0.1;host=\"localhost:81\";proto=http", "\(head.head.raw)")
    #expect(head["X-Forwarded-For"] == nil)
  }

  @Test("the owner's fields and parameters go with every request, unless the client sends its own")
  func additions() throws {
    let stage = try Self.stage([
      "request-fields=Accept-Language: eo,X-Key: k1", "request-query=v=2,lang=eo", "host=api.test:81",
    ])
    _ = try stage.get("/a")
    _ = try stage.get("/b?lang=de&x", ["x-key: mine", "Accept-Language: de"])
    _ = try stage.get("/c?", [])
    _ = try stage.get("/d?v=1&lang=", [])
    let seen = stage.origin.requests
    #expect(seen.map(\.target) == ["/a?v=2&lang=eo", "/b?lang=de&x&v=2", "/c?v=2&lang=eo", "/d?v=1&lang="])
    #expect(
      seen[0]["X-Key"] == "k1" && seen[0]["Accept-Language"] == "eo" && seen[0]["Host"] == "api.test:81")
    #expect(seen[1]["X-Key"] == "mine" && seen[1]["Accept-Language"] == "de")
  }

  @Test("an Authorization of the owner's makes answers for all who ask, and no page shows it")
  func authorization() throws {
    let secret = "hush \"&= 100%"
    let origin = try Origin { request, connection in
      try connection.answer(
        request["Authorization"] == "Bearer \(secret)" ? 200 : 401, ["Cache-Control: max-age=600"], "data")
    }
    let daemon = try Daemon.start(
      upstream: origin.url,
      set: [
        "domain.default.request-fields=Authorization: Bearer ${env:REGENT_TEST_SECRET}",
        "domain.default.request-query=key=${env:REGENT_TEST_SECRET}", "log.level=trace",
      ], environment: ["REGENT_TEST_SECRET": secret])
    #expect(try daemon.get("/a").status == 200)
    #expect(try daemon.get("/a").isHit)
    #expect(origin.requests.map(\.target) == ["/a?key=hush%20%22%26%3D%20100%25"])
    // A client's own is its own: what it gets is not for others.
    #expect(try daemon.get("/b", ["Authorization: Basic eA=="]).status == 401)
    origin.stop()
    for page in ["/stats", "/explain?url=http://localhost/a"] {
      #expect(!(try daemon.get(page, host: "regent.localhost").text.contains("hush")))
    }
    #expect(!(try daemon.get("/c").text.contains("hush")))
    #expect(!daemon.log.contains("hush"))
  }

  @Test("a secret that is missing keeps the daemon from starting, with its key")
  func missing() throws {
    let result = try run(
      Daemon.binary,
      [
        "serve", "--upstream", "http://127.0.0.1:1", "--set",
        "domain.default.request-fields=A: ${env:REGENT_NONE}",
      ])
    #expect(result.exit != .status(0))
    #expect(
      result.errors.contains("REGENT_NONE") && result.errors.contains("request-fields"), "\(result.errors)")
  }
}
