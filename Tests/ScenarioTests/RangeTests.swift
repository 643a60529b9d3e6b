// Ranges as a client and an origin see them (RFC 9110 section 14): cut out of what is stored, confirmed or arriving.
// Every byte is compared. One worker: what is stored behind an answer is stored before the next request is read.

import Testing

/// An origin's content of a length, whose ranges a test names.
struct Content: Sendable {
  let bytes: [UInt8]

  init(_ name: String, count: Int) { bytes = Pattern(for: name).bytes(count: count) }

  /// What an origin that knows ranges answers; one that is not `bytes=a-b` or `bytes=a-` gets the whole.
  func answer(_ request: OriginRequest, _ connection: OriginConnection, _ fields: [String]) throws {
    guard let range = range(request["Range"]) else {
      return try send(200, fields, bytes[...], connection)
    }
    let contentRange = "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"
    try send(206, fields + [contentRange], bytes[range], connection)
  }

  func send(_ status: Int, _ fields: [String], _ body: ArraySlice<UInt8>, _ connection: OriginConnection)
    throws
  {
    let lines = ["HTTP/1.1 \(status) Scripted", "Content-Length: \(body.count)"] + fields
    try connection.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
  }

  private func range(_ value: String?) -> Range<Int>? {
    guard let ends = value?.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false),
      ends.count == 2, let first = Int(ends[0]), first < bytes.count
    else { return nil }
    return first..<min((Int(ends[1]) ?? .max - 1) + 1, bytes.count)
  }
}

@Suite("Ranges")
struct RangeTests {
  private static let fresh = [
    "Cache-Control: max-age=600", "ETag: \"v1\"", "Expires: Thu, 01 Jan 2099 00:00:00 GMT",
    "Content-Location: /a.txt", "Vary: Accept-Language", "Content-Type: text/x-pattern",
  ]

  struct Size: CustomTestStringConvertible, Sendable {
    let name: String
    let count: Int
    var testDescription: String { name }

    /// Copied behind its head; packed into its record; a list of blocks.
    static let all = [
      Size(name: "small", count: 1000), Size(name: "packed", count: 40_000),
      Size(name: "large", count: 1_000_000),
    ]
  }

  private func stored(_ size: Size) throws -> (Stage, Content) {
    let content = Content("ranges", count: size.count)
    let stage = try Stage(workers: 1) { request, connection in
      try content.send(200, Self.fresh, content.bytes[...], connection)
    }
    #expect(try stage.get("/a").body.count == size.count)
    return (stage, content)
  }

  @Test("one range of a stored response is a hit in 206, with the fields of the 200", arguments: Size.all)
  func single(_ size: Size) throws {
    let (stage, content) = try stored(size)
    let n = size.count
    let rows: [(String, Range<Int>)] = [
      ("0-0", 0..<1), ("0-", 0..<n), ("1-", 1..<n), ("\(n / 2)-\(n / 2 + 99)", n / 2..<n / 2 + 100),
      ("-1", n - 1..<n), ("-\(n * 2)", 0..<n), ("\(n - 3)-\(n * 9)", n - 3..<n), ("0-\(n - 2)", 0..<n - 1),
    ]
    let client = try stage.daemon.connect()
    for (range, expected) in rows {
      let response = try client.get("/a", ["Range: bytes=\(range)"])
      #expect(response.status == 206 && response.isHit, "\(range): \(response.head.raw)")
      #expect(
        response["Content-Range"] == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(n)",
        "\(range): \(response.head.raw)")
      #expect(isSame(response.body, Array(content.bytes[expected])), "\(range)")
      for name in [
        "Date", "Cache-Control", "ETag", "Expires", "Content-Location", "Vary", "Content-Type", "Age",
      ] {
        #expect(response[name] != nil, "\(name): \(response.head.raw)")
      }
    }
    #expect(isSame(try client.get("/a").body, content.bytes))
    #expect(stage.origin.requests.count == 1)
  }

  @Test(
    "several ranges come as multipart/byteranges of exact length, in the order asked", arguments: Size.all)
  func several(_ size: Size) throws {
    let (stage, content) = try stored(size)
    let n = size.count
    let client = try stage.daemon.connect()
    let response = try client.get("/a", ["Range: bytes=\(n / 2)-, 0-99,5-199 , -0, 300-300"])
    #expect(
      response.status == 206 && response.isHit && response["Content-Range"] == nil, "\(response.head.raw)")
    let type = try #require(response["Content-Type"])
    let boundary = try #require(type.split(separator: "=").last)
    #expect(type == "multipart/byteranges; boundary=\(boundary)" && boundary.count == 32)
    var expected: [UInt8] = []
    for (place, range) in [n / 2..<n, 0..<200, 300..<301].enumerated() {
      expected += (place == 0 ? "--" : "\r\n--").utf8
      expected += "\(boundary)\r\nContent-Type: text/x-pattern\r\n".utf8
      expected += "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(n)\r\n\r\n".utf8
      expected += content.bytes[range]
    }
    expected += "\r\n--\(boundary)--\r\n".utf8
    #expect(isSame(response.body, expected))
    let again = try client.get("/a", ["Range: bytes=0-0,9-9"])
    #expect(again.status == 206 && again["Content-Type"]?.hasSuffix(String(boundary)) == false)
    #expect(isSame(try client.get("/a").body, content.bytes))
  }

  @Test("a range that lies outside is a 416 with the length; the connection goes on")
  func unsatisfiable() throws {
    let (stage, content) = try stored(Size.all[2])
    let client = try stage.daemon.connect()
    for range in ["1000000-", "9223372036854775807-", "-0", "99999999999999999999999-"] {
      let response = try client.get("/a", ["Range: bytes=\(range)"])
      #expect(
        response.status == 416 && response["Content-Range"] == "bytes */1000000", "\(response.head.raw)")
      #expect(response.isHit)
    }
    #expect(isSame(try client.get("/a").body, content.bytes))
  }

  @Test(
    "a Range that does not count gets the whole",
    arguments: [
      ["Range: bytes=5-3"], ["Range: lines=0-1"], ["Range: bytes=0-1", "Range: bytes=0-1"],
      ["Range: bytes=0-1", "If-Range: \"v0\""], ["Range: bytes=0-1", "If-Range: W/\"v1\""],
      ["Range: bytes=0-1", "If-Range: Thu, 01 Jan 2015 00:00:00 GMT"], ["If-Range: \"v1\""],
      ["Range: bytes=" + (0..<40).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")],
    ])
  func ignored(_ fields: [String]) throws {
    let (stage, content) = try stored(Size.all[0])
    let response = try stage.get("/a", fields)
    #expect(
      response.status == 200 && response.isHit && isSame(response.body, content.bytes), "\(response.head.raw)"
    )
  }

  @Test("If-Range holds for the same tag; If-None-Match goes before Range; HEAD and Range is HEAD")
  func conditions() throws {
    let (stage, content) = try stored(Size.all[0])
    let client = try stage.daemon.connect()
    let same = try client.get("/a", ["Range: bytes=3-5", "If-Range: \"v1\""])
    #expect(same.status == 206 && isSame(same.body, Array(content.bytes[3..<6])))
    #expect(try client.get("/a", ["Range: bytes=3-5", "If-None-Match: \"v1\""]).status == 304)
    #expect(try client.get("/a", ["Range: bytes=3-5", "If-None-Match: \"v0\""]).status == 206)
    try client.request("HEAD", "/a", ["Range: bytes=3-5"])
    let head = try client.response(to: "HEAD")
    #expect(head.status == 200 && head["Content-Length"] == "1000" && head["Content-Range"] == nil)
  }

  @Test("a stale response is confirmed whole, and its range leaves")
  func confirmed() throws {
    let content = Content("confirmed", count: 100_000)
    let stage = try Stage(workers: 1) { request, connection in
      if request["If-None-Match"] == "\"v1\"" {
        try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=60\r\n\r\n")
      } else {
        try content.send(200, ["Cache-Control: max-age=0", "ETag: \"v1\""], content.bytes[...], connection)
      }
    }
    _ = try stage.get("/a")
    let part = try stage.get("/a", ["Range: bytes=50000-50999"])
    #expect(
      part.status == 206 && isSame(part.body, Array(content.bytes[50_000..<51_000])), "\(part.head.raw)")
    #expect(part.cacheStatus.contains("fwd=stale") && part.cacheStatus.contains("fwd-status=304"))
    #expect(stage.origin.requests.last?["Range"] == nil)
    let hit = try stage.get("/a")
    #expect(hit.isHit && isSame(hit.body, content.bytes))
  }

  @Test("an origin that knows no ranges: its 200 is cut as it leaves, and stored whole")
  func cutWhileFetched() throws {
    let content = Content("unknown", count: 300_000)
    let stage = try Stage(workers: 1) { request, connection in
      try content.send(200, ["Cache-Control: max-age=60"], content.bytes[...], connection)
    }
    let part = try stage.get("/a", ["Range: bytes=200000-200099"])
    #expect(
      part.status == 206 && isSame(part.body, Array(content.bytes[200_000..<200_100])), "\(part.head.raw)")
    #expect(part["Content-Range"] == "bytes 200000-200099/300000")
    #expect(try eventually { try stage.get("/a").isHit })
    #expect(isSame(try stage.get("/a").body, content.bytes))
  }

  @Test(
    "a range with If-Range that nothing is stored for fetches the whole, and If-Range is tested against that")
  func ifRangeOnMiss() throws {
    let content = Content("if-range", count: 1000)
    let stage = try Stage(workers: 1) { request, connection in
      try content.send(200, Self.fresh, content.bytes[...], connection)
    }
    let same = try stage.get("/same", ["Range: bytes=5-9", "If-Range: \"v1\""])
    #expect(same.status == 206 && isSame(same.body, Array(content.bytes[5..<10])), "\(same.head.raw)")
    let other = try stage.get("/other", ["Range: bytes=5-9", "If-Range: \"v0\""])
    #expect(other.status == 200 && isSame(other.body, content.bytes), "\(other.head.raw)")
    #expect(stage.origin.requests.allSatisfy { $0["Range"] == nil && $0["If-Range"] == nil })
  }

  @Test("a range leaves while the response still arrives")
  func arriving() throws {
    let content = Content("arriving", count: 2_000_000)
    let gate = Gate()
    let stage = try Stage(workers: 1) { request, connection in
      let lines = ["HTTP/1.1 200 OK", "Content-Length: 2000000", "Cache-Control: max-age=60"]
      try connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
      try connection.send(Array(content.bytes[..<1_000_000]))
      try gate.wait()
      try connection.send(Array(content.bytes[1_000_000...]))
    }
    let client = try stage.daemon.connect()
    let part = try client.get("/a", ["Range: bytes=900000-999999,5-6"])
    let bytes = part.body
    #expect(part.status == 206)
    // Ascending, because the response is not all here.
    let first = try #require(bytes.firstRange(of: Array(content.bytes[5..<7])))
    let second = try #require(bytes.firstRange(of: Array(content.bytes[900_000..<1_000_000])))
    #expect(first.upperBound < second.lowerBound)
    gate.open()
    #expect(try eventually { try stage.get("/a").isHit })
    #expect(isSame(try stage.get("/a").body, content.bytes))
  }

  @Test("a response of unknown length is not cut while it arrives, and is when it is stored")
  func unknownLength() throws {
    let stage = try Stage(workers: 1) { request, connection in
      try connection.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=60\r\n\r\n")
      try connection.send("5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n")
    }
    let whole = try stage.get("/a", ["Range: bytes=2-3"])
    #expect(whole.status == 200 && whole.text == "0123456789" || whole.text == "23")
    #expect(try eventually { try stage.get("/a").isHit })
    #expect(try stage.get("/a", ["Range: bytes=2-3"]).text == "23")
  }

  @Test("an early end of a response that is cut as it leaves breaks the client's connection")
  func earlyEnd() throws {
    let stage = try Stage(workers: 1) { request, connection in
      try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nbegin")
      connection.close()
    }
    #expect(throws: (any Error).self) { try stage.get("/a", ["Range: bytes=3-100"]) }
  }
}

extension [UInt8] {
  /// Where some bytes stand for the first time.
  fileprivate func firstRange(of other: [UInt8]) -> Range<Int>? {
    guard other.count <= count else { return nil }
    for start in 0...(count - other.count)
    where self[start] == other[0] && isSame(Array(self[start..<start + other.count]), other) {
      return start..<start + other.count
    }
    return nil
  }
}
