// The rest of class B: variants without end, ranges, heads at the edges of sizes, and chains of 304s.

import Foundation
import Testing

@Suite("Class B: variants, sizes, numbers")
struct ClassBVariantsTests {
  @Test("B8: a URL has at most 32 variants, and the last ones are kept")
  func variantsWithoutEnd() throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=60", "Vary: Foo"], request["Foo"] ?? "none")
    }
    let client = try stage.daemon.connect()
    for number in 0..<300 { #expect(try client.get("/a", ["Foo: \(number)"]).text == "\(number)") }
    #expect(try stage.daemon.figures("memory")["entries"] == 32)
    #expect(try client.get("/a", ["Foo: 299"]).isHit)
    #expect(try !client.get("/a", ["Foo: 0"]).isHit)
  }

  @Test(
    "B8: a Vary that cannot be kept is not stored",
    arguments: ["*", "Foo, *", "Other:", (0..<500).map { "X\($0)" }.joined(separator: ","), "Big"])
  func unkeepableVary(vary: String) throws {
    let stage = try Stage { _, connection in
      try connection.answer(200, ["Cache-Control: max-age=60", "Vary: \(vary)"], "x")
    }
    for _ in 0..<2 {
      #expect(try !stage.get("/a", ["Big: \(String(repeating: "x", count: 1500))", "*: 1"]).isHit)
    }
    #expect(stage.origin.requests.count == 2)
  }

  @Test("B9: junk in Accept-Encoding on one URL makes no more requests than there are spellings")
  func junkEncoding() throws {
    let origin = try Origin { request, connection in
      try connection.answer(
        200, ["Cache-Control: max-age=60", "Vary: Accept-Encoding"], request["Accept-Encoding"] ?? "none")
    }
    let config = """
      [[domain]]
      name = "hot"
      upstream = "\(origin.url)"
      default = true
      normalize = ["accept-encoding"]
      """
    let daemon = try Daemon.start(config: config)
    let client = try daemon.connect()
    for number in 0..<1000 {
      let junk = [
        "gzip;q=0.\(number % 1000), x\(number)", "x\(number), br", "\(number)", "zstd, gzip, \(number);q=x",
      ]
      #expect(try client.get("/a", ["Accept-Encoding: \(junk[number % 4])"]).status == 200)
    }
    #expect(origin.requests.count <= 16, "\(origin.requests.count)")
  }

  @Test("B10: no range, however odd, is stored as a whole or breaks the daemon")
  func oddRanges() throws {
    let stage = try Stage { request, connection in
      if request["Range"] != nil {
        return try connection.answer(
          206, ["Content-Range: bytes 9-1/*", "Cache-Control: max-age=60"], "part")
      }
      try connection.answer(200, ["Cache-Control: max-age=60"], "the whole")
    }
    let many = (0..<1000).map { "\($0)-\($0)" }.joined(separator: ",")
    for range in [
      "0-", "-0", "-1", "9223372036854775807-", "18446744073709551616-", "5-3", "", many, "0-0,0-0,0-0",
    ] {
      let response = try stage.get("/a", ["Range: bytes=\(range)"])
      #expect([200, 206, 400, 416, 502].contains(response.status), "\(range): \(response.head.raw)")
    }
    let whole = try stage.get("/a")
    #expect(whole.status == 200 && whole.text == "the whole", "\(whole.head.raw)")
  }

  @Test(
    "B11: a large head is stored and served as it came, or is not stored",
    arguments: [4095, 4096, 4097, 8000, 16_384, 30_000])
  func largeHeads(size: Int) throws {
    let lines = (0..<((size + 3999) / 4000)).map { number in
      "X-Fill-\(number): \(String(repeating: "x", count: min(4000, size - number * 4000)))"
    }
    let stage = try Stage { _, connection in
      try connection.answer(200, ["Cache-Control: max-age=60"] + lines, "body")
    }
    for isHit in [false, true] {
      let response = try stage.get("/a")
      #expect(response.status == 200 && response.text == "body" && response.isHit == isHit)
      for line in lines { #expect(response.head.raw.contains(line + "\r\n")) }
    }
  }

  @Test("B12: a chain of 304s with ever new fields keeps the head bounded")
  func growingHead() throws {
    let stage = try Stage { request, connection in
      guard request["If-None-Match"] != nil else {
        return try connection.answer(200, ["Cache-Control: max-age=0", "ETag: \"a\""], "body")
      }
      let new = "X-New-\(request.number): \(String(repeating: "x", count: 1000))"
      try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\(new)\r\n\r\n")
    }
    let client = try stage.daemon.connect()
    for _ in 0..<100 {
      let response = try client.get("/a")
      #expect(response.status == 200 && response.text == "body")
      #expect(response.head.raw.utf8.count < 40 << 10)
    }
  }

  @Test(
    "B13: a lifetime that cannot be read is none, and one that is too large is long",
    arguments: [
      ("max-age=-1", false), ("max-age=1.5", false), ("max-age=x", false), ("max-age=", false),
      ("max-age=60, max-age=x", false), ("s-maxage=x, max-age=60", false), ("max-age=2147483648", true),
      ("max-age=9223372036854775808", true), ("max-age=" + String(repeating: "9", count: 400), true),
      ("max-age=\"60\"", true), ("max-age=0060", true),
    ])
  func numbers(directives: String, isHit: Bool) throws {
    let stage = try Stage { _, connection in
      try connection.answer(200, ["Cache-Control: \(directives)", "ETag: \"a\""], "body")
    }
    _ = try stage.get("/a")
    #expect(try stage.get("/a").isHit == isHit)
  }
}
