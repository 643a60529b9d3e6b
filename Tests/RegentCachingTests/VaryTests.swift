// The selecting request fields (RFC 9111 section 4.1; TRUST B8).

import RegentCaching
import RegentHTTP
import Testing

struct VaryRow: Row {
  var rule: String
  var vary: String
  var first: String
  var second: String
  var matches: Bool

  init(_ rule: String, _ vary: String, _ first: String, _ second: String, _ matches: Bool) {
    self.rule = rule
    self.vary = vary
    self.first = first
    self.second = second
    self.matches = matches
  }

  static let all: [VaryRow] = [
    .init("9111 4.1 without Vary every request matches", "Server: s", "Foo: 1", "Foo: 2", true),
    .init("9111 4.1 an empty Vary is none", "Vary: ", "Foo: 1", "Foo: 2", true),
    .init("9111 4.1 same value", "Vary: Foo", "Foo: 1", "Foo: 1", true),
    .init("9111 4.1 another value", "Vary: Foo", "Foo: 1", "Foo: 2", false),
    .init("9111 4.1 a longer value", "Vary: Foo", "Foo: 1", "Foo: 12", false),
    .init("9111 4.1 a shorter value", "Vary: Foo", "Foo: 12", "Foo: 1", false),
    .init("9111 4.1 absent and absent", "Vary: Foo", "Bar: 1", "Baz: 1", true),
    .init("9111 4.1 present and absent", "Vary: Foo", "Foo: 1", "Bar: 1", false),
    .init("9111 4.1 absent and present", "Vary: Foo", "Bar: 1", "Foo: 1", false),
    .init("9111 4.1 empty is not absent", "Vary: Foo", "Foo: ", "Bar: 1", false),
    .init("9111 4.1 absent is not empty", "Vary: Foo", "Bar: 1", "Foo: ", false),
    .init("9111 4.1 empty and empty", "Vary: Foo", "Foo: ", "Foo: ", true),
    .init("9111 4.1 names have no case", "Vary: FOO", "foo: 1", "Foo: 1", true),
    .init("9111 4.1 values have case", "Vary: Foo", "Foo: a", "Foo: A", false),
    .init(
      "9111 4.1 both of two names, one differs", "Vary: Foo, Bar", "Foo: 1\nBar: 1", "Foo: 1\nBar: 2", false),
    .init(
      "9111 4.1 both of two names agree, in any order", "Vary: Foo, Bar", "Foo: 1\nBar: 2", "Bar: 2\nFoo: 1",
      true),
    .init("9111 4.1 Vary on two lines", "Vary: Foo\nVary: Bar", "Foo: 1\nBar: 1", "Foo: 1\nBar: 2", false),
    .init("9111 4.1 a name twice is one", "Vary: Foo, foo", "Foo: 1", "Foo: 1", true),
    .init("9111 4.1 lines are joined by a comma", "Vary: Foo", "Foo: 1\nFoo: 2", "Foo: 1, 2", true),
    .init("9111 4.1 and keep their order", "Vary: Foo", "Foo: 1\nFoo: 2", "Foo: 2, 1", false),
    .init("9111 4.1 white space around commas does not count", "Vary: Foo", "Foo: 1 ,\t2", "Foo: 1,2", true),
    .init("9111 4.1 white space inside a member does", "Vary: Foo", "Foo: 1 2", "Foo: 12", false),
    .init("9111 4.1 and how much of it", "Vary: Foo", "Foo: 1 2", "Foo: 1  2", false),
    .init(
      "9111 4.1 white space in a quoted string counts", "Vary: Foo", "Foo: \"1, 2\"", "Foo: \"1,2\"", false),
    .init(
      "9111 4.1 an escaped quote does not close it", "Vary: Foo", "Foo: \"\\\", 2\"", "Foo: \"\\\",2\"", false
    ),
    .init("9111 4.1 other fields do not count", "Vary: Foo", "Foo: 1\nBar: 1", "Foo: 1\nBar: 2", true),
    .init(
      "9111 4.1 a known name", "Vary: accept-encoding", "Accept-Encoding: gzip, br",
      "Accept-Encoding: gzip,br", true),
    .init(
      "9111 4.1 a known name, another value", "Vary: Accept-Encoding", "Accept-Encoding: gzip",
      "Accept-Encoding: br", false),
    .init("9111 4.1 Vary on lines with empty members", "Vary: ,\nVary: , Foo ,", "Foo: 1", "Foo: 2", false),
    .init("9111 4.1 names in another order", "Vary: Bar,Foo", "Foo: 1\nBar: 2", "Foo: 1\nBar: 2", true),
    .init("9111 4.1 white space around names", "Vary: Foo \t, Bar", "Foo: 1", "Foo: 1\nBar: 1", false),
    .init(
      "9111 4.1 three names, one absent in both", "Vary: Foo, Bar, Baz", "Foo: 1\nBaz: 7", "Foo: 1\nBaz: 7",
      true),
    .init(
      "9111 4.1 three names, a longer value in another order", "Vary: Foo, Bar, Baz",
      "Foo: 1\nBar: abc\nBaz: 7",
      "Foo: 1\nBaz: 7\nBar: abcde", false),
    .init("9111 4.1 a line that is empty counts", "Vary: Foo", "Foo: 1\nFoo: ", "Foo: 1", false),
    .init(
      "9110 12.5.4 languages in another order", "Vary: Accept-Language", "Accept-Language: en, de",
      "Accept-Language: de, en", true),
    .init(
      "9110 12.5.4 languages in another case", "Vary: Accept-Language", "Accept-Language: en, de",
      "Accept-Language: eN, De", true),
    .init(
      "9110 12.5.4 languages with more white space", "Vary: Accept-Language", "Accept-Language: en, de",
      "Accept-Language:  en ,   de", true),
    .init(
      "9110 12.5.4 weights in another order", "Vary: Accept-Language", "Accept-Language: en;q=0.5, de",
      "Accept-Language: de, en ; q=0.50", true),
    .init(
      "9110 12.5.4 other weights", "Vary: Accept-Language", "Accept-Language: en;q=0.5, de",
      "Accept-Language: de;q=0.5, en", false),
    .init(
      "9110 12.5.4 one more language", "Vary: Accept-Language", "Accept-Language: en, de",
      "Accept-Language: de, en, fr", false),
    .init(
      "9110 12.5.4 one language less", "Vary: Accept-Language", "Accept-Language: en, de",
      "Accept-Language: en", false),
    .init(
      "9110 12.5.4 no language", "Vary: Accept-Language", "Accept-Language: en", "Accept-Language: ", false),
    .init(
      "9110 12.5.4 a part of a language", "Vary: Accept-Language", "Accept-Language: de-CH",
      "Accept-Language: de",
      false),
    .init(
      "9110 12.5.4 malformed values mean only themselves", "Vary: Accept-Language", "Accept-Language: en;q=x",
      "Accept-Language: EN;q=x", false),
    .init(
      "9110 12.5.3 codings in another order and case", "Vary: Accept-Encoding", "Accept-Encoding: gzip, br",
      "Accept-Encoding: BR,gzip;q=1", true),
    .init(
      "9110 12.5.3 a coding that is refused", "Vary: Accept-Encoding", "Accept-Encoding: gzip, br",
      "Accept-Encoding: gzip, br;q=0", false),
    .init(
      "9110 12.5.2 charsets in another order", "Vary: Accept-Charset", "Accept-Charset: utf-8, latin1",
      "Accept-Charset: latin1, UTF-8", true),
    .init(
      "9110 12.5.1 Accept has an order of its own", "Vary: Accept", "Accept: a/b, c/d", "Accept: c/d, a/b",
      false),
    .init("9111 4.1 an unknown list keeps its order", "Vary: Foo", "Foo: en, de", "Foo: de, en", false),
    .init("9111 4.1 bytes cannot move between fields", "Vary: A, B", "A: 1\nB: 23", "A: 12\nB: 3", false),
  ]
}

@Test("a request selects a stored response by Vary", arguments: VaryRow.all)
func vary(row: VaryRow) {
  var encoded: [UInt8] = []
  #expect(Vary.encode(responseFields: fields(row.vary), requestFields: fields(row.first), onto: &encoded))
  #expect(selects(encoded, fields(row.first)))
  #expect(selects(encoded, fields(row.second)) == row.matches)
}

@Test(
  "what cannot be selected again is not stored, and leaves no bytes behind",
  arguments: [
    "*", "Foo, *", "*, Foo", "*, *", ", *", "*,", "*\nVary: *", "\nVary: *", "Foo\nVary: Bar, *",
    "Foo:", "Fo o", "Foo=1", "\"Foo\"", "F\u{fc}",
    (1...17).map { "A\($0)" }.joined(separator: ","),
    String(repeating: "a", count: 256), "Big",
  ])
func varyRefused(value: String) {
  var encoded: [UInt8] = [7]
  let request = fields("Big: " + String(repeating: "x", count: 1024))
  #expect(!Vary.encode(responseFields: fields("Vary: " + value), requestFields: request, onto: &encoded))
  #expect(encoded == [7])
}

@Test("sixteen names and almost a kibibyte are stored")
func varyLimits() {
  var encoded: [UInt8] = []
  let names = (1...16).map { "A\($0)" }.joined(separator: ", ")
  let request = fields("A1: " + String(repeating: "x", count: 900))
  #expect(Vary.encode(responseFields: fields("Vary: " + names), requestFields: request, onto: &encoded))
  #expect(encoded.count <= Vary.maximumBytes)
  #expect(selects(encoded, request))
}

@Test("a damaged or truncated encoding traps nowhere")
func varyDamaged() {
  var encoded: [UInt8] = []
  let request = fields("Foo: 1\nBar: 22")
  #expect(Vary.encode(responseFields: fields("Vary: Foo, Bar"), requestFields: request, onto: &encoded))
  for count in 1..<encoded.count {
    #expect(!selects(Array(encoded[..<count]), request))
  }
  for index in encoded.indices {
    for bit in 0..<8 {
      var damaged = encoded
      damaged[index] ^= 1 << UInt8(bit)
      _ = selects(damaged, request)
    }
  }
}
