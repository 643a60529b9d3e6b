// Parts of responses as a client and an origin see them (RFC 9111 sections 3.3 and 3.4): stored, used again, combined,
// completed by what is missing, and never taken for the whole. Every byte is compared. One worker: what is stored behind
// an answer is stored before the next request is read.

import Testing

@Suite("Parts")
struct PartTests {
  static let fresh = ["Cache-Control: max-age=600", "ETag: \"v1\""]

  func stage(_ content: Content, _ fields: [String] = fresh) throws -> Stage {
    try Stage(workers: 1) { request, connection in try content.answer(request, connection, fields) }
  }

  @Test("a part is stored and answers ranges within it, never the whole", arguments: [10, 200_000])
  func reuse(_ count: Int) throws {
    let content = Content("reuse", count: count)
    // No validator: such a part answers by itself, and is combined with nothing.
    let stage = try stage(content, ["Cache-Control: max-age=600", "X-Kept: yes"])
    let (first, last) = (count / 2, count - 1)
    #expect(try stage.get("/a", ["Range: bytes=\(first)-\(last)"]).status == 206)
    for (range, expected) in [
      ("\(first)-\(last)", first..<count), ("\(first)-", first..<count), ("-1", last..<count),
      ("\(first + 1)-\(first + 2)", first + 1..<first + 3), ("-\(count - first)", first..<count),
    ] {
      let response = try stage.get("/a", ["Range: bytes=\(range)"])
      #expect(response.status == 206 && response.isHit, "\(range): \(response.head.raw)")
      #expect(
        response["Content-Range"] == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(count)",
        "\(range): \(response.head.raw)")
      #expect(isSame(response.body, Array(content.bytes[expected])), "\(range)")
      #expect(response["X-Kept"] == "yes" && response["Age"] != nil)
    }
    #expect(try stage.get("/a", ["Range: bytes=\(count)-"]).status == 416)
    #expect(stage.origin.requests.count == 1)
    let whole = try stage.get("/a")
    #expect(whole.status == 200 && isSame(whole.body, content.bytes) && !whole.isHit, "\(whole.head.raw)")
    #expect(whole.cacheStatus.contains("fwd=partial"))
    #expect(try stage.get("/a").isHit)
  }

  @Test("parts with the same strong tag become the whole", arguments: [10, 300_000])
  func combining(_ count: Int) throws {
    let content = Content("combining", count: count)
    let stage = try stage(content)
    for range in ["\(count - 2)-", "0-2", "2-\(count - 3)"] {
      #expect(try !stage.get("/a", ["Range: bytes=\(range)"]).isHit)
    }
    let whole = try stage.get("/a")
    #expect(whole.isHit && whole.status == 200 && isSame(whole.body, content.bytes), "\(whole.head.raw)")
    #expect(whole["Content-Range"] == nil && stage.origin.requests.count == 3)
  }

  struct Missing: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let stored: [String]
    let range: String

    static let all = [
      Missing(testDescription: "its end", stored: ["0-99999"], range: "bytes=100000-"),
      Missing(testDescription: "its start", stored: ["100000-"], range: "bytes=0-99999"),
      Missing(testDescription: "a hole", stored: ["0-99", "299900-"], range: "bytes=100-299899"),
    ]
  }

  @Test(
    "the whole is asked for: only what is missing is fetched, and then it is stored", arguments: Missing.all)
  func completing(_ missing: Missing) throws {
    let content = Content("completing", count: 300_000)
    let stage = try stage(content)
    for range in missing.stored { #expect(try stage.get("/a", ["Range: bytes=\(range)"]).status == 206) }
    let whole = try stage.get("/a")
    #expect(whole.status == 200 && isSame(whole.body, content.bytes), "\(whole.head.raw)")
    #expect(whole.cacheStatus.contains("fwd=partial; fwd-status=206"), "\(whole.head.raw)")
    let asked = try #require(stage.origin.requests.last)
    #expect(asked["Range"] == missing.range && asked["If-Range"] == "\"v1\"")
    #expect(try eventually { try stage.get("/a").isHit })
    #expect(isSame(try stage.get("/a").body, content.bytes))
    #expect(stage.origin.requests.count == missing.stored.count + 1)
  }

  @Test("a range that is partly stored: only what is missing is fetched, and the parts grow")
  func growing() throws {
    let content = Content("growing", count: 300_000)
    let stage = try stage(content)
    #expect(try stage.get("/a", ["Range: bytes=100-199"]).status == 206)
    let grown = try stage.get("/a", ["Range: bytes=150-100299"])
    #expect(grown.status == 206 && grown["Content-Range"] == "bytes 150-100299/300000", "\(grown.head.raw)")
    #expect(isSame(grown.body, Array(content.bytes[150..<100_300])))
    #expect(stage.origin.requests.last?["Range"] == "bytes=200-100299")
    #expect(try eventually { try stage.get("/a", ["Range: bytes=100-100299"]).isHit })
    let hit = try stage.get("/a", ["Range: bytes=100-100299"])
    #expect(hit.isHit && isSame(hit.body, Array(content.bytes[100..<100_300])))
  }

  @Test("the stored start leaves before what is missing is here")
  func prefixAtOnce() throws {
    let content = Content("prefix", count: 200_000)
    let gate = Gate()
    let stage = try Stage(workers: 1) { request, connection in
      guard request["Range"] == "bytes=100000-" else {
        return try content.answer(request, connection, Self.fresh)
      }
      let lines = [
        "HTTP/1.1 206 Partial", "Content-Length: 100000", "Content-Range: bytes 100000-199999/200000",
      ]
      try connection.send((lines + Self.fresh).joined(separator: "\r\n") + "\r\n\r\n")
      try gate.wait()
      try connection.send(Array(content.bytes[100_000...]))
    }
    #expect(try stage.get("/a", ["Range: bytes=0-99999"]).status == 206)
    let client = try stage.daemon.connect()
    try client.request("GET", "/a")
    var body: [UInt8] = []
    let response = try client.response { piece in
      body += piece
      if body.count >= 100_000 { gate.open() }
    }
    #expect(response.status == 200 && isSame(body, content.bytes))
  }

  @Test("a part of unknown length is stored once its end is proven; one beyond the limit on objects is not")
  func limits() throws {
    let stage = try Stage(set: [Setting.maxObject("64KiB")], workers: 1) { request, connection in
      let fields = Self.fresh.joined(separator: "\r\n")
      try connection.send("HTTP/1.1 206 Partial\r\nTransfer-Encoding: chunked\r\n\(fields)\r\n")
      let count = request.target == "/long" ? 100_000 : 5
      try connection.send(
        "Content-Range: bytes 0-\(count - 1)/1000000\r\n\r\n\(String(count, radix: 16))\r\n")
      try connection.send(Pattern(for: request.target).bytes(count: count))
      try connection.send("\r\n0\r\n\r\n")
    }
    for (target, isStored) in [("/short", true), ("/long", false)] {
      #expect(try !stage.get(target, ["Range: bytes=0-99999"]).isHit)
      let again = try stage.get(target, ["Range: bytes=1-3"])
      #expect(again.isHit == isStored, "\(again.head.raw)")
      if isStored { #expect(isSame(again.body, Pattern(for: target).bytes(from: 1, count: 3))) }
    }
  }

  @Test("parts are variants as responses are, invalidated as they are, and answer If-None-Match as they do")
  func sameRules() throws {
    let stage = try Stage(workers: 1) { request, connection in
      let fields = Self.fresh + ["Vary: Accept-Language", "Content-Range: bytes 0-4/10"]
      try connection.answer(
        request.method == "GET" ? 206 : 200, fields, request["Accept-Language"] ?? "01234")
    }
    let range = "Range: bytes=0-4"
    for language in ["aaaaa", "bbbbb"] { _ = try stage.get("/a", [range, "Accept-Language: \(language)"]) }
    for language in ["aaaaa", "bbbbb"] {
      let hit = try stage.get("/a", [range, "Accept-Language: \(language)"])
      #expect(hit.isHit && hit.text == language)
    }
    let known = try stage.get("/a", [range, "Accept-Language: aaaaa", "If-None-Match: \"v1\""])
    #expect(known.status == 304 && known.isHit, "\(known.head.raw)")
    let client = try stage.daemon.connect()
    try client.send("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    #expect(try client.response().status == 200)
    #expect(try !stage.get("/a", [range, "Accept-Language: aaaaa"]).isHit)
  }

  @Test("an independent suite's parts, whose content is a byte shorter than they say, answer by their start")
  func shortParts() throws {
    let stage = try Stage(workers: 1) { request, connection in
      let fields = ["Cache-Control: max-age=3600", "Content-Range: bytes 4-9/10"]
      try connection.answer(206, fields, "01234")
    }
    let first = try stage.get("/a", ["Range: bytes=-5"])
    #expect(first.text == "01234" && first["Content-Range"] == "bytes 4-9/10")
    for (range, text) in [("-5", "01234"), ("6-8", "234"), ("6-", "234"), ("-1", "4")] {
      let response = try stage.get("/a", ["Range: bytes=\(range)"])
      #expect(
        response.status == 206 && response.isHit && response.text == text, "\(range): \(response.head.raw)")
    }
  }
}
