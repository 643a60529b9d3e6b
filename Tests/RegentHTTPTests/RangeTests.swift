// Range and Content-Range as they are read, and the framing of several parts (RFC 9110 section 14; TRUST B10).

import RegentHTTP
import Testing

/// A Range value and what it asks for; nil where it asks for nothing.
struct RangeRow: CustomTestStringConvertible, Sendable {
  let rule: String
  let value: String
  let specs: [RangeSpec]?
  var testDescription: String { rule }

  init(_ rule: String, _ value: String, _ specs: [RangeSpec]?) {
    self.rule = rule
    self.value = value
    self.specs = specs
  }

  static let all: [RangeRow] = [
    .init("9110 14.1.2 first and last", "bytes=0-499", [.from(0, through: 499)]),
    .init("9110 14.1.2 one byte", "bytes=7-7", [.from(7, through: 7)]),
    .init("9110 14.1.2 an open end", "bytes=9500-", [.from(9500, through: .max)]),
    .init("9110 14.1.2 a suffix", "bytes=-500", [.suffix(500)]),
    .init("9110 14.1.2 a suffix of nothing is well-formed", "bytes=-0", [.suffix(0)]),
    .init("9110 14.1.1 several", "bytes=0-0,-1", [.from(0, through: 0), .suffix(1)]),
    .init(
      "9110 5.6.1 white space around commas", "bytes=0-1 ,\t4-5",
      [.from(0, through: 1), .from(4, through: 5)]),
    .init("9110 5.6.1.2 empty elements do not count", "bytes=,0-1,,", [.from(0, through: 1)]),
    .init("9110 14.1 the unit is case-insensitive", "BYTES=0-1", [.from(0, through: 1)]),
    .init("9110 14.1.2 leading zeros", "bytes=000-0009", [.from(0, through: 9)]),
    .init("B10 the largest number", "bytes=9223372036854775807-", [.from(.max, through: .max)]),
    .init("B10 more than the largest number", "bytes=0-99999999999999999999999", [.from(0, through: .max)]),
    .init("B10 a huge suffix", "bytes=-18446744073709551616", [.suffix(.max)]),
    .init("9110 14.1.1 last before first makes it invalid", "bytes=5-3", nil),
    .init("9110 14.1.1 one invalid range makes all invalid", "bytes=0-1,5-3", nil),
    .init("9110 14.2 an unknown unit is ignored", "lines=0-1", nil),
    .init("9110 14.1.1 nothing asked", "bytes=", nil),
    .init("9110 14.1.1 only commas", "bytes=,,", nil),
    .init("9110 14.1.1 a dash alone", "bytes=-", nil),
    .init("9110 14.1.1 no dash", "bytes=5", nil),
    .init("9110 14.1.1 a sign", "bytes=+1-2", nil),
    .init("9110 14.1.1 two dashes", "bytes=1--2", nil),
    .init("9110 14.1.1 a blank inside", "bytes=1 -2", nil),
    .init("9110 14.1.1 letters", "bytes=a-b", nil),
    .init("9110 14.1.1 hexadecimal", "bytes=0x1-2", nil),
    .init("9110 14.2 no equals sign", "bytes 0-1", nil),
    .init("9110 14.2 a blank before the equals sign", "bytes =0-1", nil),
    .init("9110 14.2 empty", "", nil),
    .init(
      "B10 as many as are read", "bytes=" + String(repeating: "0-0,", count: 200),
      Array(repeating: .from(0, through: 0), count: 200)),
    .init("B10 too many ranges ask for nothing", "bytes=" + String(repeating: "0-0,", count: 201), nil),
  ]
}

struct ContentRangeRow: CustomTestStringConvertible, Sendable {
  let rule: String
  let value: String
  let range: ContentRange?
  var testDescription: String { rule }

  init(_ rule: String, _ value: String, _ range: ContentRange?) {
    self.rule = rule
    self.value = value
    self.range = range
  }

  static let all: [ContentRangeRow] = [
    .init("9110 14.4 a part", "bytes 0-499/1234", .part(0..<500, complete: 1234)),
    .init("9110 14.4 the last part", "bytes 734-1233/1234", .part(734..<1234, complete: 1234)),
    .init("9110 14.4 of unknown length", "bytes 42-1233/*", .part(42..<1234, complete: nil)),
    .init("9110 14.4 unsatisfied", "bytes */1234", .unsatisfied(complete: 1234)),
    .init("9110 14.4 unsatisfied of nothing", "bytes */0", .unsatisfied(complete: 0)),
    .init("9110 14.1 the unit is case-insensitive", "Bytes 0-0/1", .part(0..<1, complete: 1)),
    .init("B10 last before first", "bytes 9-4/10", nil),
    .init("B10 last at the length", "bytes 4-10/10", nil),
    .init("9110 14.4 nothing is known", "bytes */*", nil),
    .init("9110 14.4 another unit", "lines 0-1/2", nil),
    .init("9110 14.4 no length", "bytes 0-1", nil),
    .init("9110 14.4 an equals sign", "bytes=0-1/2", nil),
    .init("9110 14.4 no last", "bytes 0-/2", nil),
    .init("9110 14.4 no first", "bytes -1/2", nil),
    .init("B10 a number that overflows", "bytes 0-9223372036854775808/*", nil),
    .init("B10 an end that overflows", "bytes 0-9223372036854775807/*", nil),
    .init("B10 a negative length", "bytes 0-1/-2", nil),
    .init("9110 14.4 empty", "", nil),
  ]
}

@Suite("Range fields")
struct RangeTests {
  @Test("a Range is read, or asks for nothing", arguments: RangeRow.all)
  func range(_ row: RangeRow) {
    #expect(RangeField.parse(Array(row.value.utf8)[...]) == row.specs)
  }

  @Test("a repeated Range asks for nothing (9110 14.2 allows one)")
  func repeated() {
    var fields = Fields()
    fields.append(.range, "bytes=0-1".utf8)
    #expect(RangeField.specs(fields) == [.from(0, through: 1)])
    fields.append(.range, "bytes=0-1".utf8)
    #expect(RangeField.specs(fields) == nil)
  }

  @Test(
    "a Content-Range is read, or is invalid; a valid one is written as it was", arguments: ContentRangeRow.all
  )
  func contentRange(_ row: ContentRangeRow) {
    let range = ContentRange(Array(row.value.utf8)[...])
    #expect(range == row.range)
    if let range { #expect(String(decoding: range.value, as: UTF8.self) == row.value.lowercased()) }
  }

  @Test("several parts are framed as 9110 section 14.6 and RFC 2046 show it")
  func multipart() {
    let framing = MultipartRanges(boundary: Array("XX".utf8), type: "text/plain".utf8, complete: 10)
    let text =
      framing.opening(of: 0..<2, isFirst: true) + Array("01".utf8)
      + framing.opening(of: 8..<10, isFirst: false) + Array("89".utf8) + framing.closing
    #expect(
      String(decoding: text, as: UTF8.self)
        == "--XX\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01"
        + "\r\n--XX\r\nContent-Type: text/plain\r\nContent-Range: bytes 8-9/10\r\n\r\n89\r\n--XX--\r\n")
    #expect(String(decoding: framing.contentType, as: UTF8.self) == "multipart/byteranges; boundary=XX")
    let untyped = MultipartRanges(boundary: Array("XX".utf8), type: [], complete: nil)
    #expect(
      String(decoding: untyped.opening(of: 3..<4, isFirst: true), as: UTF8.self)
        == "--XX\r\nContent-Range: bytes 3-3/*\r\n\r\n")
  }
}
