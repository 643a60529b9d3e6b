// What Cache-Status and the counters of /stats say of an answer, seen on the wire (RFC 9211).

import Testing

@Suite("Cache-Status")
struct CacheStatusTests {
  private func stage(_ settings: String...) throws -> Stage {
    try Stage(set: settings) { request, connection in
      let path = request.target.prefix { $0 != "?" }
      switch path {
      case "/large":
        try connection.answer(200, ["Cache-Control: max-age=60"], String(repeating: "x", count: 3000))
      case "/chunked":
        try connection.send(
          "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n")
        try connection.send("1\r\nx\r\n0\r\n\r\n")
      case "/no-cache" where request["If-None-Match"] != nil:
        try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\n\r\n")
      case "/no-cache": try connection.answer(200, ["Cache-Control: no-cache", "ETag: \"v\""], "body")
      case "/then-no-store" where request["If-None-Match"] != nil:
        try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\nCache-Control: no-store\r\n\r\n")
      case "/then-no-store": try connection.answer(200, ["Cache-Control: max-age=0", "ETag: \"v\""], "body")
      case "/no-store": try connection.answer(200, ["Cache-Control: no-store"], "body")
      default: try connection.answer(200, ["Cache-Control: max-age=60", "ETag: \"v\""], "0123456789")
      }
    }
  }

  /// The parameters of the only member, in their order, without those whose values time decides.
  private func told(_ response: Response) -> String {
    response.cacheStatus.split(separator: ";").dropFirst().map { $0.drop { $0 == " " } }
      .filter { !$0.hasPrefix("ttl=") }.joined(separator: "; ")
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let path: String
    var fields: [String] = []
    /// What the first answer says, and the second.
    let first: String
    let second: String
  }

  static let cases: [Case] = [
    .init(
      testDescription: "RFC 9211 2.5 stored, then a hit", path: "/a?b=%22",
      first: "fwd=uri-miss; stored; key=\"default /a?b=%22\"", second: "hit"),
    .init(
      testDescription: "RFC 9211 2.5 what is too large is not called stored", path: "/large",
      first: "fwd=uri-miss; key=\"default /large\"; detail=too-large",
      second: "fwd=uri-miss; key=\"default /large\"; detail=too-large"),
    .init(
      testDescription: "RFC 9211 2.5 nor what its origin forbids to store", path: "/no-store",
      first: "fwd=uri-miss; key=\"default /no-store\"; detail=response-no-store",
      second: "fwd=uri-miss; key=\"default /no-store\"; detail=response-no-store"),
    .init(
      testDescription: "RFC 9211 2.5 nor what a 304 forbids to store", path: "/then-no-store",
      first: "fwd=uri-miss; stored; key=\"default /then-no-store\"",
      second: "fwd=stale; fwd-status=304; key=\"default /then-no-store\"; detail=response-no-store"),
    .init(
      testDescription: "RFC 9211 2.5 nor what the client forbids to store", path: "/a",
      fields: ["Cache-Control: no-store"],
      first: "fwd=uri-miss; key=\"default /a\"; detail=request-no-store",
      second: "fwd=uri-miss; key=\"default /a\"; detail=request-no-store"),
    .init(
      testDescription: "RFC 9211 2.8 the response forbade to reuse it unasked", path: "/no-cache",
      first: "fwd=uri-miss; stored; key=\"default /no-cache\"",
      second: "fwd=stale; fwd-status=304; stored; key=\"default /no-cache\"; detail=response-no-cache"),
    .init(
      testDescription: "RFC 9211 2.8 the request forbade it", path: "/a",
      fields: ["Cache-Control: max-age=0"],
      first: "fwd=uri-miss; stored; key=\"default /a\"",
      second: "fwd=request; stored; key=\"default /a\"; detail=request-max-age"),
    .init(
      testDescription: "RFC 9211 2.3 a 304 that was made of a 200", path: "/a",
      fields: ["If-None-Match: \"v\""],
      first: "fwd=uri-miss; fwd-status=200; stored; key=\"default /a\"", second: "hit"),
    .init(
      testDescription: "RFC 9211 2.3 a 206 that was cut out of a 200", path: "/a",
      fields: ["Range: bytes=1-2"],
      first: "fwd=uri-miss; fwd-status=200; stored; key=\"default /a\"", second: "hit"),
    .init(
      testDescription: "RFC 9211 2.3 a 416 about a 200", path: "/a", fields: ["Range: bytes=90-"],
      first: "fwd=uri-miss; fwd-status=200; stored; key=\"default /a\"", second: "hit"),
  ]

  @Test("says what happened to the first answer and to the second", arguments: cases)
  func says(row: Case) throws {
    let stage = try stage(Setting.maxObject("2 KiB"))
    #expect(try told(stage.get(row.path, row.fields)) == row.first)
    #expect(try told(stage.get(row.path, row.fields)) == row.second)
  }

  @Test("tells the key of hits, too, where the domain's rules made it, each time the same")
  func keyOfRules() throws {
    let stage = try stage("domain.default.ignore-query=utm_*", "domain.default.sort-query=true")
    let key = "key=\"default /a?b=1&c=2\""
    #expect(try told(stage.get("/a?c=2&utm_x=1&b=1")) == "fwd=uri-miss; stored; \(key)")
    for target in ["/a?b=1&c=2", "/a?c=2&b=1", "/a?c=2&b=1", "/a?b=1&utm_y&c=2"] {
      #expect(try told(stage.get(target)) == "hit; \(key)", "\(target)")
    }
  }

  @Test("/stats counts every reason that was told, under its own text")
  func counters() throws {
    let stage = try stage(Setting.maxObject("2 KiB"))
    for path in ["/a", "/a", "/a", "/no-store", "/no-store", "/no-cache", "/no-cache", "/large"] {
      _ = try stage.get(path)
    }
    let domains = try stage.daemon.stats()["domains"] as? [String: [String: Any]]
    let domain = try #require(domains?["default"])
    #expect(domain["hits"] as? Int == 2 && domain["misses"] as? Int == 6)
    #expect(domain["forwarded"] as? [String: Int] == ["uri-miss": 5, "stale": 1])
    #expect(domain["asked-again"] as? [String: Int] == ["response-no-cache": 1])
    #expect(domain["not-stored"] as? [String: Int] == ["response-no-store": 2, "too-large": 1])
    #expect(domain["stale-reasons"] as? [String: Int] == [:])
  }
}
