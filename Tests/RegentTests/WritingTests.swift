// The bytes of an answer's head, the layout of a stored record's, and which fields go where.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage
import TestKit
import Testing

@testable import Regent

@Suite("The writer of responses")
struct ResponseWriterTests {
  private func written(
    _ response: Response, ending: ResponseWriter.Ending = .length(0), keepAlive: Bool = true,
    version: HTTPVersion = .http11
  ) -> String {
    var writer = MessageWriter()
    ResponseWriter(name: "regent").write(
      response, ending: ending, keepAlive: keepAlive, version: version, now: arrival, to: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private func lines(_ lines: String...) -> String { lines.map { $0 + "\r\n" }.joined() + "\r\n" }

  private let now = "Date: Tue, 14 Nov 2023 22:13:20 GMT"
  private let tail = "Via: 1.1 regent"
  private let status = "Cache-Status: regent; fwd=bypass"

  @Test("forwards an origin's fields but those of its connection, and adds its own")
  func parsed() {
    let response = Response(
      status: 200,
      fields: .parsed(
        fields(
          "Date: Mon, 13 Nov 2023 00:00:00 GMT", "X-One: 1", "Connection: x-gone", "X-Gone: 2",
          "Keep-Alive: 5",
          "Content-Length: 99", "ETag: \"e\"", "x-one: again", "Transfer-Encoding: chunked")),
      body: .empty)
    #expect(
      written(response, ending: .length(5))
        == lines(
          "HTTP/1.1 200 OK", "Date: Mon, 13 Nov 2023 00:00:00 GMT", "X-One: 1", "ETag: \"e\"", "x-one: again",
          "Content-Length: 5", tail, status))
  }

  @Test("dates a response that has no date (RFC 9110 section 6.6.1)")
  func dated() {
    #expect(written(response()) == lines("HTTP/1.1 200 OK", now, "Content-Length: 0", tail, status))
  }

  @Test("writes stored fields as they lie, with the stored date and the age")
  func stored() {
    let shared = Block(Array("Server: s\r\n".utf8))
    let own = Slice(Block(Array("xxETag: \"e\"\r\n".utf8)), 2..<13)
    var response = Response(
      status: 404, fields: .stored(shared: shared, own: own), body: .empty,
      cacheStatus: CacheStatus(.hit, ttl: 5))
    response.metadata = StoredMetadata(
      status: 404, responseTime: arrival, date: arrival - 86_400, lifetime: 60)
    response.age = 55
    #expect(
      written(response, ending: .length(3))
        == lines(
          "HTTP/1.1 404 Not Found", "Server: s", "ETag: \"e\"", "Date: Mon, 13 Nov 2023 22:13:20 GMT",
          "Age: 55", tail, "Cache-Status: regent; hit; ttl=5", "Content-Length: 3"))
  }

  @Test("writes a hit that is asked for again as it was written before, and any other anew")
  func again() {
    let writer = ResponseWriter(name: "regent")
    func hit(_ tag: String, status: Int = 200, age: Int32 = 1, ttl: Int32 = 9, length: Int = 3) -> String {
      var response = Response(
        status: status, fields: .stored(shared: nil, own: slices[tag] ?? Slice([])), body: .empty,
        cacheStatus: CacheStatus(.hit, ttl: ttl))
      response.metadata = StoredMetadata(status: 200, responseTime: arrival, date: arrival, lifetime: 60)
      response.age = age
      var output = MessageWriter()
      writer.write(
        response, ending: .length(length), keepAlive: true, version: .http11, now: arrival, to: &output)
      return String(decoding: output.bytes, as: UTF8.self)
    }
    // More records than are remembered, so that some take the places of others.
    let slices = Dictionary(
      uniqueKeysWithValues: (0..<200).map { ("\($0)", Slice(Array("ETag: \"\($0)\"\r\n".utf8))) })
    for _ in 0..<3 {
      for tag in slices.keys {
        let plain =
          "ETag: \"\(tag)\"\r\n\(now)\r\nAge: 1\r\n\(tail)\r\n"
          + "Cache-Status: regent; hit; ttl=9\r\nContent-Length: 3\r\n\r\n"
        #expect(hit(tag) == "HTTP/1.1 200 OK\r\n" + plain)
        #expect(hit(tag) == "HTTP/1.1 200 OK\r\n" + plain)
        #expect(hit(tag, age: 2).contains("\r\nAge: 2\r\n"))
        #expect(hit(tag, ttl: 8).contains("; ttl=8\r\n"))
        #expect(hit(tag, length: 4).contains("\r\nContent-Length: 4\r\n"))
        #expect(hit(tag, status: 404).hasPrefix("HTTP/1.1 404 Not Found\r\n"))
      }
    }
  }

  @Test("replaces the age and date of a response that was confirmed, and writes neither twice")
  func confirmed() {
    var response = Response(
      status: 200, fields: .parsed(fields("Age: 7", "Date: Mon, 13 Nov 2023 00:00:00 GMT", "X-A: b")),
      body: .empty)
    response.metadata = StoredMetadata(status: 200, responseTime: arrival, date: arrival, lifetime: 60)
    response.age = 1
    #expect(
      written(response)
        == lines("HTTP/1.1 200 OK", "X-A: b", now, "Age: 1", "Content-Length: 0", tail, status))
  }

  @Test("keeps an origin's own age where no cache of ours gave another")
  func originsAge() {
    let response = Response(status: 200, fields: .parsed(fields("Age: 7")), body: .empty)
    #expect(written(response) == lines("HTTP/1.1 200 OK", "Age: 7", now, "Content-Length: 0", tail, status))
  }

  @Test(
    "says how the body ends, and whether the connection goes on (RFC 9112 section 9.6)",
    arguments: [
      (.length(12), true, .http11, ["Content-Length: 12"]),
      (.chunked, true, .http11, ["Transfer-Encoding: chunked"]),
      (.none, true, .http11, []), (.close, false, .http11, ["Connection: close"]),
      (.length(1), false, .http11, ["Content-Length: 1", "Connection: close"]),
      (.length(1), true, .http10, ["Content-Length: 1", "Connection: keep-alive"]),
      (.close, false, .http10, ["Connection: close"]),
    ] as [(ResponseWriter.Ending, Bool, HTTPVersion, [String])])
  func endings(ending: ResponseWriter.Ending, keepAlive: Bool, version: HTTPVersion, own: [String]) {
    let expected = (["HTTP/1.1 200 OK", now] + own + [tail, status]).map { $0 + "\r\n" }.joined() + "\r\n"
    #expect(written(response(), ending: ending, keepAlive: keepAlive, version: version) == expected)
  }

  @Test("names what went wrong (RFC 9209), with quotes escaped and nothing that could end the line")
  func proxyStatus() {
    var answer = response(502)
    answer.failure = .connectionFailed("a \"b\" \\ c\r\nX-Evil: ä\u{7F}")
    #expect(
      written(answer)
        == lines(
          "HTTP/1.1 502 Bad Gateway", now, "Content-Length: 0", tail, status,
          #"Proxy-Status: regent; error=destination_unavailable; details="There is no connection to the origin: "#
            + #"a \"b\" \\ cX-Evil: .""#))
  }

  @Test("writes a failure of every kind as one line", arguments: FailureTests.rows)
  func everyFailure(row: FailureTests.Row) throws {
    let text = written(row.failure.response(to: try request()))
    #expect(text.contains("\r\nProxy-Status: regent; error=\(row.word); details=\""))
    #expect(text.hasSuffix("\"\r\n\r\n"))
  }
}

@Suite("The head of a stored record")
struct RecordHeadTests {
  private let metadata = StoredMetadata(
    status: 203, flags: [.hasETag, .hasVary], responseTime: arrival, date: arrival - 5, initialAge: 3,
    lifetime: 600,
    staleWhileRevalidate: 7, staleIfError: 9)
  private let lines = Array("ETag: \"e\"\r\n".utf8)

  private func encoded(_ response: Fields, _ request: Fields) -> [UInt8]? {
    var head: [UInt8] = []
    guard RecordHead.append(metadata, response, request, onto: &head) else { return nil }
    return head + lines
  }

  @Test("gives back what was put into it, wherever it lies in its block", arguments: [0, 1, 100])
  func roundTrip(offset: Int) throws {
    for vary in [fields("X-A: b"), fields("Vary: Accept-Language, X-Other")] {
      let bytes = try #require(encoded(vary, fields("Accept-Language: de")))
      let block = Block([UInt8](repeating: 0xAA, count: offset) + bytes + [0xBB])
      let head = try #require(RecordHead(Slice(block, offset..<(offset + bytes.count))))
      #expect(head.metadata == metadata)
      #expect(head.lines.bytes == lines)
    }
  }

  @Test("selects by what the request had in the fields that Vary names (RFC 9111 section 4.1)")
  func vary() throws {
    let head = Slice(
      try #require(
        encoded(fields("Vary: Accept-Language, X-Other"), fields("Accept-Language: de", "X-Not: 1"))))
    #expect(RecordHead.selects(head, fields("Accept-Language: de")))
    #expect(RecordHead.selects(head, fields("accept-language: de", "X-Not: 2")))
    #expect(!RecordHead.selects(head, fields("Accept-Language: en")))
    #expect(!RecordHead.selects(head, fields("Accept-Language: de", "X-Other: 1")))
    #expect(!RecordHead.selects(head, Fields()))
    let unvaried = Slice(try #require(encoded(fields("X-A: b"), fields("Accept-Language: de"))))
    #expect(
      RecordHead.selects(unvaried, fields("Accept-Language: en")) && RecordHead.selects(unvaried, Fields()))
  }

  @Test("cannot be made of a response that no request selects again", arguments: ["*", "X-A, *", "a b"])
  func varyStar(value: String) {
    #expect(encoded(fields("Vary: \(value)"), Fields()) == nil)
  }

  @Test("that is cut short is refused, never misread")
  func cutShort() throws {
    let bytes = try #require(encoded(fields("Vary: Accept-Language"), fields("Accept-Language: de")))
    let whole = bytes.count - lines.count
    for count in 0..<whole {
      let cut = Slice(Array(bytes.prefix(count)))
      #expect(RecordHead(cut) == nil, "\(count)")
      #expect(!RecordHead.selects(cut, fields("Accept-Language: de")), "\(count)")
    }
    #expect(RecordHead(Slice(Array(bytes.prefix(whole))))?.lines.count == 0)
  }

  @Test("that is damaged traps nothing", arguments: 1...30)
  func damaged(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    var bytes = try #require(encoded(fields("Vary: Accept-Language"), fields("Accept-Language: de")))
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0 ... .max, using: &random)
    }
    let slice = Slice(bytes)
    _ = RecordHead.selects(slice, fields("Accept-Language: de"))
    if let head = RecordHead(slice) {
      #expect(head.lines.range.lowerBound >= 38 && head.lines.range.upperBound == bytes.count, "seed \(seed)")
    }
  }
}

@Suite("A client's fields on their way to the origin")
struct RequestFieldsTests {
  private static let lines = [
    "Content-Length: 1", "Expect: 100-continue", "If-None-Match: \"e\"",
    "If-Modified-Since: Mon, 13 Nov 2023 00:00:00 GMT", "If-Match: \"e\"",
    "If-Unmodified-Since: Mon, 13 Nov 2023 00:00:00 GMT", "Range: bytes=0-1", "Accept: */*", "Cookie: c",
    "TE: trailers", "Proxy-Authorization: p", "Authorization: a", "X-Other: o",
  ]
  private static let conditions = ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"]
  private static let always = ["Accept", "Cookie", "Authorization", "X-Other"]

  private func forwarded(_ request: Request) -> [String] {
    var writer = MessageWriter()
    writer.forwarded(request.head.fields, except: RequestFields.kept(from: request))
    return String(decoding: writer.bytes, as: UTF8.self).split(separator: "\r\n")
      .map { String($0.prefix { $0 != ":" }) }
  }

  private func lines(_ more: String...) -> String { (Self.lines + more).joined(separator: "\r\n") }

  @Test(
    "lose only what is the connection's and what Regent writes itself where no cache asks",
    arguments: [("GET", FwdReason.bypass), ("POST", .bypass), ("POST", .method), ("HEAD", .uriMiss)])
  func noCache(method: String, reason: FwdReason) throws {
    let request = try request("\(method) / HTTP/1.1", lines("If-Range: \"e\""), forwarded: reason)
    let kept = Self.conditions + ["Range"] + Self.always + ["If-Range"]
    #expect(forwarded(request) == kept)
  }

  @Test("lose their conditions too where a cache asks, and keep a range that has none")
  func miss() throws {
    let request = try request("GET / HTTP/1.1", lines(), forwarded: .uriMiss)
    #expect(forwarded(request) == ["Range"] + Self.always)
  }

  @Test("lose a range with its condition: it would be cut out of whatever the origin has now")
  func conditionalRange() throws {
    let request = try request("GET / HTTP/1.1", lines("If-Range: \"e\""), forwarded: .uriMiss)
    #expect(forwarded(request) == Self.always)
  }

  @Test("lose their range where a stored response is to be confirmed: the question is about the whole")
  func confirming() throws {
    let request = try request("GET / HTTP/1.1", lines(), candidate: candidate(), forwarded: .stale)
    #expect(forwarded(request) == Self.always)
  }

  @Test("that stand in for what is in the key are left out for a cache, in any spelling (TRUST B5)")
  func unkeyed() {
    let all = fields(
      "Accept: a", "X-Forwarded-Host: evil", "x-forwarded-anything: e", "Forwarded: host=evil",
      "X-ORIGINAL-URL: /admin", "X-Rewrite-Url: /admin", "X-HTTP-Method-Override: POST", "X-Real-IP: 1",
      "True-Client-IP: 1", "X-Forwardedness: kept", "X-Host-Name: kept", "Accept: b")
    let kept = all.withoutUnkeyed()
    let names = kept.lines.map { String(decoding: kept.name(of: $0), as: UTF8.self) }
    #expect(names == ["Accept", "X-Forwardedness", "X-Host-Name", "Accept"])
    #expect(kept.all(.accept).map { Array($0) } == [Array("a".utf8), Array("b".utf8)])
  }
}
