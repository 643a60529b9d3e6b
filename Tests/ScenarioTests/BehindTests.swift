// What happens behind a stale answer (RFC 5861 section 3): one revalidation for a key, conditional, with GET, and a
// failure that costs nothing but freshness.

import Testing

@Suite("Revalidation behind a stale answer, on the wire")
struct BehindTests {
  private static let window = [
    "Cache-Control: max-age=10, stale-while-revalidate=600", "Age: 60", "ETag: \"v1\"",
  ]

  @Test("is one for any number of clients, and conditional; a 304 makes the stored response fresh")
  func once() throws {
    let gate = Gate()
    let stage = try Stage { request, connection in
      guard request.number > 1 else { return try connection.answer(200, Self.window, "the body") }
      try gate.wait()
      try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=600\r\n\r\n")
    }
    _ = try stage.get("/a")
    try concurrently(8) { _ in
      let client = try stage.daemon.connect()
      for _ in 0..<10 {
        let response = try client.get("/a")
        #expect(response.isHit && response.text == "the body")
        #expect(response.cacheStatus.contains("stale-while-revalidate"))
      }
    }
    gate.open()
    #expect(try eventually { try !stage.get("/a").cacheStatus.contains("stale") })
    #expect(stage.origin.requests.map { $0["If-None-Match"] } == [nil, "\"v1\""])
  }

  @Test(
    "that fails leaves the stale copy, and asks a failing origin once and not by every client's request",
    arguments: ["500", "503 to be stored", "429", "close", "gone", "cut body"])
  func fails(how: String) throws {
    let stage = try Stage { request, connection in
      guard request.number > 1 else { return try connection.answer(200, Self.window, "the body") }
      switch how {
      case "500": try connection.answer(500)
      case "429": try connection.answer(429)
      case "503 to be stored": try connection.answer(503, ["Cache-Control: max-age=600"], "trouble")
      case "cut body":
        try connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 9\r\n\r\ncut")
        connection.close()
      default: connection.close()
      }
    }
    _ = try stage.get("/a")
    if how == "gone" { stage.origin.stop() }
    let client = try stage.daemon.connect()
    for _ in 0..<200 {
      let response = try client.get("/a")
      #expect(response.isHit && response.text == "the body", "\(response.head.raw)")
    }
    #expect(how == "gone" || eventually { stage.origin.requests.count > 1 })
    // A reused connection that closes without an answer is tried once more on a new one (RFC 9112 section 9.3.1).
    let attempts = how == "close" ? 2 : 1
    #expect(stage.origin.requests.count <= 1 + attempts * 2)
  }

  @Test(
    "whose answer may not be shared takes the stale copy away",
    arguments: ["private", "no-store", "private, max-age=600"])
  func becomesPrivate(directives: String) throws {
    let stage = try Stage { request, connection in
      guard request.number > 1 else { return try connection.answer(200, Self.window, "shared") }
      try connection.answer(200, ["Cache-Control: \(directives)"], "own of \(request["X-User"] ?? "")")
    }
    _ = try stage.get("/a")
    #expect(try stage.get("/a", ["X-User: alice"]).text == "shared")
    #expect(try eventually { try stage.get("/a", ["X-User: bob"]).text == "own of bob" })
    #expect(try stage.get("/a", ["X-User: eve"]).text == "own of eve")
  }

  @Test("behind an answer to a HEAD asks with GET, and without the client's directives")
  func head() throws {
    let stage = try Stage { request, connection in
      guard request.number > 1 else { return try connection.answer(200, Self.window, "old") }
      try connection.answer(200, ["Cache-Control: max-age=600"], "new")
    }
    _ = try stage.get("/a")
    let client = try stage.daemon.connect()
    try client.request("HEAD", "/a", ["Cache-Control: only-if-cached"])
    let response = try client.response(to: "HEAD")
    #expect(response.isHit && response["Content-Length"] == "3")
    #expect(try eventually { try client.get("/a").text == "new" })
    let behind = try #require(stage.origin.requests.last)
    #expect(behind.method == "GET" && behind["If-None-Match"] == "\"v1\"" && behind["Cache-Control"] == nil)
    #expect(stage.origin.requests.count == 2)
  }

  @Test("is joined by who cannot use what is stored")
  func joined() throws {
    let gate = Gate()
    let stage = try Stage { request, connection in
      if request.number > 1 { try gate.wait() }
      try connection.answer(
        200, request.number == 1 ? Self.window : ["Cache-Control: max-age=600"], "\(request.number)")
    }
    _ = try stage.get("/a")
    #expect(try stage.get("/a").text == "1")
    let clients = try (0..<5).map { _ in
      let client = try stage.daemon.connect()
      try client.request("GET", "/a", ["Cache-Control: no-cache"])
      return client
    }
    #expect(try eventually { try stage.flight("followers") == 5 })
    gate.open()
    for client in clients {
      let response = try client.response()
      #expect(response.text == "2" && response.cacheStatus.contains("collapsed"))
    }
    #expect(stage.origin.requests.count == 2)
  }

  @Test("of one variant renews that one alone")
  func variants() throws {
    let stage = try Stage { request, connection in
      let language = request["Accept-Language"] ?? ""
      let life = request.number <= 2 ? Self.window : ["Cache-Control: max-age=600"]
      try connection.answer(200, life + ["Vary: Accept-Language"], "\(language) \(request.number)")
    }
    for language in ["en", "de"] { _ = try stage.get("/a", ["Accept-Language: \(language)"]) }
    #expect(try stage.get("/a", ["Accept-Language: de"]).text == "de 2")
    #expect(try eventually { try stage.get("/a", ["Accept-Language: de"]).text == "de 3" })
    let other = try stage.get("/a", ["Accept-Language: en"])
    #expect(other.text == "en 1" && other.cacheStatus.contains("stale-while-revalidate"))
  }
}
