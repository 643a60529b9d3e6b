// The limits of a head and the cost of one that comes slowly (TRUST D2, D3): counted, not timed.

import Testing

@testable import RegentHTTP

private func letters(_ count: Int) -> String { String(repeating: "a", count: count) }
private let start = "GET / HTTP/1.1\r\nHost: a\r\n"

@Suite struct LimitTests {
  static let refused: [Row] = [
    Row("D2 request line", "GET /\(letters(9 << 10)) HTTP/1.1\r\nHost: a\r\n\r\n", .requestLineTooLong),
    Row("D2 request line that never ends", "GET /\(letters(9 << 10))", .requestLineTooLong),
    Row("D2 request line one over", "GET /\(letters(8179)) HTTP/1.1\r\nHost: a\r\n\r\n", .requestLineTooLong),
    Row("D2 9 KiB field line", start + "A: \(letters(9 << 10))\r\n\r\n", .fieldLineTooLong),
    Row("D2 field line one over", start + "A: \(letters(8190))\r\n\r\n", .fieldLineTooLong),
    Row(
      "D2 33 KiB head", start + String(repeating: "A: \(letters(4 << 10))\r\n", count: 9) + "\r\n",
      .headTooLarge),
    Row("D2 101 fields", start + String(repeating: "A: b\r\n", count: 100) + "\r\n", .tooManyFields),
  ]

  @Test("a head over a limit is refused", arguments: refused)
  func over(_ row: Row) {
    let outcome = feedRequest(row.bytes, [row.bytes.count])
    #expect(outcome.rule == row.rule, "\(outcome)")
    #expect(feedRequest(row.bytes, Pieces.single(row.bytes.count)) == outcome)
  }

  static let taken: [Row] = [
    Row("D2 request line at its limit", "GET /\(letters(8178)) HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row("D2 field line at its limit", start + "A: \(letters(8189))\r\n\r\n"),
    Row("D2 100 fields", start + String(repeating: "A: b\r\n", count: 99) + "\r\n"),
    Row("D2 head at its limit", head(of: 32 << 10)),
  ]

  @Test("a head at a limit is taken", arguments: taken)
  func at(_ row: Row) {
    let outcome = feedRequest(row.bytes, [row.bytes.count])
    #expect(outcome.rule == nil, "\(outcome)")
    #expect(outcome != .more)
    #expect(feedRequest(row.bytes, Pieces.single(row.bytes.count)) == outcome)
  }

  /// A request head of exactly so many bytes.
  static func head(of count: Int) -> String {
    var text = start
    while count - text.utf8.count - 2 > 8 << 10 { text += "A: \(letters(4000))\r\n" }
    let rest = count - text.utf8.count - 2 - 5
    return text + "A: \(letters(rest))\r\n\r\n"
  }

  @Test("a head one byte over its limit is refused")
  func headOver() {
    let bytes = Array(Self.head(of: 32 << 10).utf8)
    #expect(agree(bytes) { feedRequest($0, $1) }.rule == nil)
    let over = Array(Self.head(of: (32 << 10) + 1).utf8)
    #expect(agree(over) { feedRequest($0, $1) }.rule == .headTooLarge)
  }

  @Test("every small limit holds to the byte", arguments: 0..<40)
  func small(_ limit: Int) {
    let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    let limits = MessageLimits(head: limit, line: 1000, fields: 10)
    let outcome = agree(bytes) { feedRequest($0, $1, limits) }
    #expect((outcome.rule == nil) == (limit >= bytes.count), "\(outcome)")
    let lines = MessageLimits(head: 1000, line: limit, fields: 10)
    #expect((agree(bytes) { feedRequest($0, $1, lines) }.rule == nil) == (limit >= 14))
  }

  @Test("a 32 KiB head fed byte by byte has each byte searched once")
  func linear() throws {
    let bytes = Array((start + String(repeating: "A: \(letters(8000))\r\n", count: 4)).utf8)
    var parser = RequestParser()
    for end in 0...bytes.count { _ = try parser.parse(bytes.span.extracting(0..<end)) }
    #expect(parser.visited <= bytes.count)
    #expect(parser.visited >= bytes.count - 2 * 6)
  }

  @Test("10,000 pipelined requests in one buffer are parsed one after the other")
  func pipelined() throws {
    let one = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    let bytes = Array(repeatElement(one, count: 10_000).joined())
    var parser = RequestParser()
    var offset = 0
    var count = 0
    while offset < bytes.count, try parser.parse(bytes.span.extracting(offset..<bytes.count)) != nil {
      offset += parser.consumed
      count += 1
    }
    #expect(count == 10_000)
  }

  @Test("an empty parser is small, for it lives in each idle connection")
  func size() {
    #expect(MemoryLayout<RequestParser>.size <= 256)
    #expect(MemoryLayout<ResponseParser>.size <= 256)
    #expect(MemoryLayout<BodyDecoder>.size <= 48)
  }
}
