// What Regent writes: exact bytes, no way to split a message, and a fixed point of parsing and writing.

import Testing

@testable import RegentHTTP

@Suite struct WriterTests {
  @Test("a response head is written exactly")
  func response() {
    var writer = MessageWriter()
    writer.statusLine(200)
    writer.field(.contentLength, decimal: 1024)
    writer.field(.date, date: 784_111_777)
    writer.field(.via, "1.1 regent")
    writer.endHead()
    #expect(
      text(writer.bytes)
        == "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        + "Via: 1.1 regent\r\n\r\n")
  }

  @Test("a request line is written exactly, and a target that could split it is not")
  func requestLine() {
    func line(_ target: String) -> String {
      var writer = MessageWriter()
      writer.requestLine(.get, target: Array(target.utf8)[...])
      return text(writer.bytes)
    }
    #expect(line("/a?b") == "GET /a?b HTTP/1.1\r\n")
    for bad in ["", "/a b", "/a\r\nX: y", "/a\u{00}", "/a#b", "/ä"] {
      #expect(line(bad) == "GET / HTTP/1.1\r\n")
    }
  }

  @Test("each status has a line that the parser takes", arguments: 100...599)
  func statusLines(_ status: Int) throws {
    var writer = MessageWriter()
    writer.statusLine(status)
    writer.endHead()
    var parser = ResponseParser()
    #expect(try parser.parse(writer.bytes.span)?.status == status)
  }

  @Test("a status that is none is written as 500", arguments: [Int.min, 0, 99, 600, Int.max])
  func badStatus(_ status: Int) {
    var writer = MessageWriter()
    writer.statusLine(status)
    #expect(text(writer.bytes) == "HTTP/1.1 500 Internal Server Error\r\n")
  }

  @Test(
    "A17 a value that could split a message cannot be made",
    arguments: ["a\r\nb", "a\rb", "a\nb", "a\u{00}b", "a\u{7F}", "a\u{0B}", " a", "a ", "\ta"])
  func refusedValues(_ value: String) {
    #expect(FieldValue(validating: value) == nil)
    #expect(FieldValue(validating: Array(value.utf8)) == nil)
    var fields = Fields()
    let taken = [
      fields.append(.location, value.utf8), fields.append(named: "X".utf8, value.utf8),
      fields.append(named: value.utf8, "a".utf8),
    ]
    #expect(taken == [false, false, false])
    #expect(fields.lines.isEmpty)
    // Even lines that were put together by hand do not get through.
    let bytes = Array("X".utf8) + Array(value.utf8)
    let line = FieldLine(name: .other, nameRange: 0..<1, valueRange: 1..<bytes.count)
    var writer = MessageWriter()
    writer.line(line, of: Fields(bytes: bytes, lines: [line]))
    #expect(writer.bytes.isEmpty)
  }

  @Test("A17 a good value is written as it is", arguments: ["", "a", "a b\tc", "é", "\"a, b\""])
  func goodValues(_ value: String) throws {
    var writer = MessageWriter()
    writer.field(.location, try #require(FieldValue(validating: value)))
    writer.field(.etag, try #require(FieldValue(validating: Array(value.utf8))))
    #expect(text(writer.bytes) == "Location: \(value)\r\nETag: \(value)\r\n")
  }

  @Test("a field under any token is written, and under no other name")
  func named() {
    var writer = MessageWriter()
    writer.field(named: Array("X-A".utf8)[...], "b")
    for bad in ["", "A B", "A:", "A\r\n"] { writer.field(named: Array(bad.utf8)[...], "b") }
    #expect(text(writer.bytes) == "X-A: b\r\n")
  }

  @Test("a field without a name is not written")
  func nameless() {
    var writer = MessageWriter()
    writer.field(.other, "a")
    writer.field(.other, decimal: 1)
    writer.field(.other, date: 1)
    #expect(writer.bytes.isEmpty)
  }

  @Test("chunk lines are hexadecimal", arguments: [1, 9, 10, 15, 16, 255, 4096, 65535, Int.max])
  func chunks(_ size: Int) {
    var writer = MessageWriter()
    writer.chunkHeader(size)
    #expect(text(writer.bytes) == String(size, radix: 16) + "\r\n")
  }

  @Test("a chunk of nothing is not written, for it would end the body")
  func emptyChunk() {
    var writer = MessageWriter()
    writer.chunkHeader(0)
    writer.chunkHeader(-1)
    #expect(writer.bytes.isEmpty)
    writer.lastChunk()
    #expect(text(writer.bytes) == "0\r\n\r\n")
  }

  @Test("C1 what belongs to the connection, and what Connection names, is not forwarded")
  func forwarding() throws {
    let bytes = Array(
      ("GET / HTTP/1.1\r\nHost: a\r\nConnection: X-One, close\r\nConnection: x-two\r\nKeep-Alive: timeout=5\r\n"
        + "Proxy-Connection: keep-alive\r\nTE: trailers\r\nTrailer: A\r\nUpgrade: websocket\r\nX-ONE: 1\r\nX-Two: 2\r\n"
        + "X-Three:  3 \r\nProxy-Authorization: Basic x\r\nProxy-Authenticate: Basic\r\nContent-Length: 0003\r\n"
        + "Cookie: a=b\r\nCookie: c=d\r\n\r\n").utf8)
    var parser = RequestParser()
    let head = try #require(try parser.parse(bytes.span))
    var writer = MessageWriter()
    writer.forwarded(head.fields, except: FieldNameSet([.host]))
    #expect(text(writer.bytes) == "X-Three: 3\r\nContent-Length: 3\r\nCookie: a=b\r\nCookie: c=d\r\n")
  }

  @Test(
    "a request that was parsed and written is the same when parsed again",
    arguments: AcceptedMessageTests.requests)
  func requestFixedPoint(_ row: Row, _ meaning: String) throws {
    let first = try #require(rewriteRequest(row.bytes))
    #expect(rewriteRequest(first) == first)
  }

  @Test(
    "a response that was parsed and written is the same when parsed again",
    arguments: AcceptedMessageTests.responses)
  func responseFixedPoint(_ row: Row, _ meaning: String) throws {
    let first = try #require(rewriteResponse(row.bytes))
    #expect(rewriteResponse(first) == first)
  }

  /// Parses and writes all lines again; on HTTP/1.1, so a Host is added where there was none.
  private func rewriteRequest(_ bytes: [UInt8]) -> [UInt8]? {
    var parser = RequestParser()
    guard let head = try? parser.parse(bytes.span) else { return nil }
    var writer = MessageWriter()
    writer.requestLine(head.method, target: head.fields.bytes[head.target.raw])
    if !head.fields.contains(.host), let host = FieldValue(validating: authority(of: head)) {
      writer.field(.host, host)
    }
    for line in head.fields.lines { writer.line(line, of: head.fields) }
    writer.endHead()
    return writer.bytes
  }

  private func authority(of head: RequestHead) -> [UInt8] {
    guard !head.host.isEmpty else { return Array("localhost".utf8) }
    return Array(head.fields.bytes[head.host]) + Array((head.port.map { ":\($0)" } ?? "").utf8)
  }

  private func rewriteResponse(_ bytes: [UInt8]) -> [UInt8]? {
    var parser = ResponseParser()
    guard let head = try? parser.parse(bytes.span) else { return nil }
    var writer = MessageWriter()
    writer.statusLine(head.status)
    for line in head.fields.lines { writer.line(line, of: head.fields) }
    writer.endHead()
    return writer.bytes
  }
}

@Suite struct PreparedTests {
  private func written(_ write: (inout MessageWriter) -> Void) -> String {
    var writer = MessageWriter()
    write(&writer)
    return text(writer.bytes)
  }

  @Test("a prepared line is the line; one that would split a message is nothing")
  func lines() {
    #expect(written { $0.line(PreparedLine(.host, Array("a:80".utf8))) } == "Host: a:80\r\n")
    for value in ["a\r\nb", " a", "a ", "a\u{0}"] {
      #expect(written { $0.line(PreparedLine(.via, Array(value.utf8))) }.isEmpty)
    }
  }

  @Test(
    "a target in its parts is written as one, or as \"/\"",
    arguments: [
      ("", "/a", nil, "/a"), ("/b", "/a", nil, "/b/a"), ("", "/a", "x=1", "/a?x=1"), ("", "/a", "", "/a?"),
      ("", "", nil, "/"), ("/b", "", nil, "/b"), ("", "/a b", nil, "/"), ("", "/a", "x y", "/"),
      ("/ b", "/a", nil, "/"),
      ("", "/a\r\n", nil, "/"), ("", "/a#b", nil, "/"),
    ] as [(String, String, String?, String)])
  func targets(_ base: String, _ path: String, _ query: String?, _ target: String) {
    let line = written {
      $0.requestLine(
        .get, base: Array(base.utf8), path: Array(path.utf8)[...], query: query.map { Array($0.utf8)[...] })
    }
    #expect(line == "GET \(target) HTTP/1.1\r\n")
  }
}

@Suite struct ErrorTests {
  @Test("each rule has a sentence of its own")
  func sentences() {
    let sentences = ParseError.Rule.allCases.map(\.sentence)
    #expect(Set(sentences).count == sentences.count)
    #expect(ParseError(.nul, at: 3).description == "A NUL byte stands in the message head (at byte 3).")
  }

  @Test(
    "each rule is answered with its status",
    arguments: [
      (ParseError.Rule.requestLineTooLong, 414), (.unsupportedExpectation, 417), (.tooManyFields, 431),
      (.fieldLineTooLong, 431), (.headTooLarge, 431), (.unknownMethod, 501),
      (.unsupportedTransferCoding, 501),
      (.unsupportedVersion, 505), (.missingHost, 400), (.contentLengthAndTransferEncoding, 400),
    ])
  func statuses(_ rule: ParseError.Rule, _ status: Int) { #expect(ParseError(rule, at: 0).status == status) }
}
