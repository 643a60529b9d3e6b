// The poisoning of caches, row by row: each test is named after its row of the trust plan's class B, and plays the attack
// against the built daemon. Rows about numbers and merging have their tables among the rules' own tests, too.

import Foundation
import Testing

@Suite("Class B: poisoning")
struct ClassBTests {
  private static let echo: Origin.Handler = { request, connection in
    try connection.answer(200, ["Cache-Control: max-age=60"], "\(request.target) \(request["Host"] ?? "")")
  }

  @Test(
    "B1: absolute and origin form of one target are one entry; a contradiction is refused and stores nothing")
  func absoluteForm() throws {
    let stage = try Stage(Self.echo)
    let first = try stage.get("http://localhost/a")
    for (target, host) in [
      ("/a", "localhost"), ("/a", "LOCALHOST"), ("/a", "localhost:80"), ("/a", "localhost."),
    ] {
      let hit = try stage.daemon.get(target, host: host)
      #expect(hit.isHit && hit.text == first.text, "\(host): \(hit.head.raw)")
    }
    for host in ["evil", "localhost:81"] {
      #expect(try stage.daemon.get("http://localhost/b", host: host).status == 400)
    }
    #expect(try stage.get("/b").text.hasPrefix("/b 127.0.0.1"))
    #expect(try stage.get("http://localhost").text.hasPrefix("/ "))
    #expect(try stage.get("/").isHit)
    #expect(try stage.get("http://localhost?x").text.hasPrefix("/?x "))
    #expect(stage.origin.requests.count == 4)
  }

  @Test("B2: domains of different origins, and of one origin, answer for themselves alone")
  func domains() throws {
    let origins = try (0..<2).map { number in
      try Origin { _, connection in try connection.answer(200, ["Cache-Control: max-age=60"], "\(number)") }
    }
    let config = [("one", 0), ("two", 1), ("three", 0)].map { name, origin in
      "[[domain]]\nname = \"\(name)\"\nupstream = \"\(origins[origin].url)\""
    }
    let daemon = try Daemon.start(config: config.joined(separator: "\n"))
    for isHit in [false, true] {
      for (name, text) in [("one", "0"), ("two", "1"), ("three", "0")] {
        let response = try daemon.get("/a", host: "\(name).localhost")
        #expect(response.text == text && response.isHit == isHit)
        let prefixed = try daemon.get("/\(name)/a")
        #expect(prefixed.text == text && prefixed.isHit, "\(prefixed.head.raw)")
      }
    }
  }

  private static let odd = [
    "/a", "/a?", "/a??", "/a%3F", "/a%3f", "/a/", "//a", "/./a", "/b/../a", "/%2e/a", "/%2E/a", "/a%2F",
    "/a%2f",
    "/a//", "/a;", "/a;b", "/..;/a", "/a%00", "/A", "/%61", "/a%20", "/a+", "/a?b=c&d", "/a?d&b=c",
    "/a?b=c%26d",
    "/a?b%3Dc", "/a?b=c&", "/a?b=c&&d", "/a?B=c", "/a\\", "/a%5C", "/%2e%2e/a", "/a%c0%af", "/a/b?c",
    "/a?/b?c",
    "/a%", "/a%zz", "/a|b", "/a\"b", "/a'", "/a?http://evil/", "/http://evil/a", "/a:80", "/a@b", "/ab?c",
    "/a?bc",
  ]

  @Test("B3: targets that differ in any byte are different entries")
  func ambiguity() throws {
    let stage = try Stage(Self.echo)
    for isHit in [false, true] {
      for target in Self.odd {
        let response = try stage.get(target)
        #expect(
          response.text.hasPrefix(target + " ") && response.isHit == isHit, "\(target): \(response.text)")
      }
    }
    #expect(stage.origin.requests.count == Self.odd.count)
  }

  @Test("B4: a path reaches the origin verbatim, or not at all")
  func verbatimPath() throws {
    let stage = try Stage(Self.echo)
    for target in Self.odd { _ = try stage.get(target) }
    #expect(stage.origin.requests.map(\.target) == Self.odd)
    for target in ["/a#b", "/a\u{1}", "/ä", "/a\u{7F}", "/a#"] {
      let client = try stage.daemon.connect()
      try client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(try client.response().status == 400, "\(target)")
    }
    #expect(stage.origin.requests.count == Self.odd.count)
  }

  private static let unkeyed = [
    "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port",
    "X-Forwarded-Prefix", "X-Forwarded-Scheme", "X-Forwarded-Server", "X-Forwarded-Path", "X-Forwarded-SSL",
    "X-Forwarded-By", "X-Forwarded-User", "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Client-Cert",
    "X-Original-URL", "X-Original-Host", "X-Original-Method", "X-Original-Forwarded-For", "X-Original-Uri",
    "X-Rewrite-URL", "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-HTTP-Host-Override",
    "X-HTTP-Path-Override", "X-Host", "X-Real-IP", "X-Client-IP", "X-Cluster-Client-IP", "X-Originating-IP",
    "X-URL-Scheme", "Client-IP", "True-Client-IP", "CF-Connecting-IP", "Front-End-Https",
  ]
  private static let negotiated = [
    "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Origin", "Cookie", "Referer",
    "User-Agent",
    "Sec-Fetch-Mode", "Sec-CH-UA", "DNT", "Save-Data", "Prefer", "X-Requested-With", "X-Custom",
    "Accept-Datetime",
    "Access-Control-Request-Method", "Device-Memory", "Downlink", "ECT", "RTT", "Viewport-Width", "Width",
    "Priority",
  ]

  @Test("B5: what stands in for target, host or client is kept from the origin", arguments: unkeyed)
  func unkeyedField(name: String) throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=60"], request.head.raw)
    }
    _ = try stage.get("/a", ["\(name): evil"])
    let next = try stage.get("/a")
    #expect(next.isHit && !next.text.contains("evil"), "\(next.text)")
  }

  @Test("B5: what an origin chooses by, and says so, reaches nobody who did not ask for it")
  func negotiatedFields() throws {
    let stage = try Stage { request, connection in
      let name = String(request.target.dropFirst())
      try connection.answer(200, ["Cache-Control: max-age=60", "Vary: \(name)"], request[name] ?? "none")
    }
    for name in Self.negotiated {
      #expect(try stage.get("/\(name)", ["\(name): evil"]).text == "evil")
      #expect(try stage.get("/\(name)").text == "none", "\(name)")
      #expect(try stage.get("/\(name)", ["\(name): evil"]).isHit, "\(name)")
    }
  }

  @Test(
    "B6: an error that one client brought about is nobody else's answer",
    arguments: [400, 403, 405, 413, 414, 431, 500, 501, 502, 503])
  func deniedService(status: Int) throws {
    let stage = try Stage { request, connection in
      try connection.answer(
        request["X-Bait"] == nil ? 200 : status, [], request["X-Bait"] == nil ? "good" : "bad")
    }
    #expect(try stage.get("/a", ["X-Bait: \(String(repeating: "x", count: 7000))"]).status == status)
    let next = try stage.get("/a")
    #expect(next.status == 200 && next.text == "good" && !next.isHit)
    let client = try stage.daemon.connect()
    try client.send("GET /b HTTP/1.1\r\nHost: localhost\r\nX-Meta: a\u{07}b\r\n\r\n")
    #expect(try client.response().status == 400)
    #expect(stage.origin.count("/b") == 0)
  }

  @Test(
    "B7: what a path looks like makes nothing cacheable",
    arguments: [
      "/account/x.css", "/account;x.css", "/account%0a.css", "/account/%2e%2e/x.js", "/account?x.png",
    ])
  func deception(target: String) throws {
    let stage = try Stage { request, connection in
      let old = "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"
      let isKnown = request["Authorization"] != nil
      let fields = isKnown ? ["Cache-Control: max-age=60"] : ["Set-Cookie: session=\(request.number)", old]
      try connection.answer(200, fields, "secret \(request.number)")
    }
    for _ in 0..<2 { #expect(try !stage.get(target).isHit) }
    #expect(try !stage.get(target, ["Authorization: Basic x"]).isHit)
    #expect(try stage.get(target).text == "secret 4")
  }
}
