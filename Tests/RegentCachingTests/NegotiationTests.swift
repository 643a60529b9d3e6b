// Lists with weights in one spelling (RFC 9110 sections 12.4.2, 12.5.3 and 12.5.4; RFC 9111 section 4.1), and content
// that is coded without a Vary that says so.

import RegentCaching
import RegentHTTP
import TestKit
import Testing

struct SpellingRow: Row {
  var rule: String
  var value: String
  var normalized: String?

  init(_ rule: String, _ value: String, _ normalized: String?) {
    self.rule = rule
    self.value = value
    self.normalized = normalized
  }

  static let encodings: [SpellingRow] = [
    .init("9110 12.5.3 a browser's", "gzip, deflate, br, zstd", "br, gzip, zstd"),
    .init("9110 12.5.3 in another order", "zstd,br , gzip", "br, gzip, zstd"),
    .init("9110 12.5.3 codings have no case", "GZip", "gzip"),
    .init("9110 8.4.1.3 x-gzip is gzip", "x-gzip", "gzip"),
    .init("9110 12.4.2 a weight that is not zero is acceptable", "gzip;q=0.001", "gzip"),
    .init("9110 12.4.2 white space around a weight", "gzip ; q=0.5 , br", "br, gzip"),
    .init("9110 12.4.2 zero is not acceptable", "gzip;q=0, br;q=0.000", "identity"),
    .init("9110 12.5.3 any coding", "*", "br, gzip, zstd"),
    .init("9110 12.5.3 any but one", "*, gzip;q=0", "br, zstd"),
    .init("9110 12.5.3 identity is always acceptable", "identity", "identity"),
    .init("9110 12.5.3 an empty field wants no coding", "", "identity"),
    .init("9110 12.5.3 unless it is refused", "gzip, identity;q=0", "gzip, identity;q=0"),
    .init("9110 12.5.3 or everything else is", "br, *;q=0", "br, identity;q=0"),
    .init("9110 12.5.3 nothing at all is acceptable", "*;q=0", "identity;q=0"),
    .init("B9: an unknown coding is not asked for", "evil123, gzip", "gzip"),
    .init("B9: nothing but junk is identity", "junk", "identity"),
    .init("B9: a malformed weight is identity", "gzip;q=x", "identity"),
    .init("B9: a weight over one is identity", "gzip;q=1.001", "identity"),
    .init("B9: a parameter that is no weight is identity", "gzip;level=9", "identity"),
    .init("B9: no token is identity", "gz ip(, br", "identity"),
  ]

  static let languages: [SpellingRow] = [
    .init("9110 12.5.4 languages have no case", "de-CH, EN", "de-ch, en"),
    .init("9110 12.5.4 by weight", "en;q=0.5, de, fr;q=0.8", "de, fr;q=0.8, en;q=0.5"),
    .init("9110 12.5.4 equal ones stay as they came", "en, de", "en, de"),
    .init("9110 12.4.2 weights in their shortest form", "en;q=0.50, de;q=1.000", "de, en;q=0.5"),
    .init("9110 12.4.2 three digits", "en;q=0.125", "en;q=0.125"),
    .init("9110 12.4.2 thousandths keep their zeros", "en;q=0.005", "en;q=0.005"),
    .init("9110 12.5.4 a repeat does not count", "en, EN;q=0.5", "en"),
    .init("9110 12.5.4 what is not acceptable is not said", "en, de;q=0", "en"),
    .init("9110 12.5.4 unless any is acceptable", "*, de;q=0", "*, de;q=0"),
    .init("9110 12.5.4 white space does not count", " en ,\tde;q=0.5 ", "en, de;q=0.5"),
    .init("9110 12.5.4 empty members do not count", "en,,de,", "en, de"),
    .init("9110 12.5.4 what is malformed stays as it is", "en;q=2", nil),
    .init("9110 12.5.4 nothing stays as it is", "", nil),
  ]
}

@Test("Accept-Encoding in one spelling", arguments: SpellingRow.encodings)
func encodings(row: SpellingRow) { expectFixedPoint(.acceptEncoding, row) }

@Test("Accept-Language in one spelling", arguments: SpellingRow.languages)
func languages(row: SpellingRow) { expectFixedPoint(.acceptLanguage, row) }

private func expectFixedPoint(_ field: NegotiationField, _ row: SpellingRow) {
  let normalized = field.normalized(row.value.utf8)
  #expect(normalized.map { String(decoding: $0, as: UTF8.self) } == row.normalized)
  if let normalized { #expect(field.normalized(normalized) == normalized) }
}

@Test("B9: 10,000 random values of Accept-Encoding become at most 16")
func junkEncodings() {
  var generator = SeededGenerator(seed: 20_261_123)
  let parts = ["gzip", "br", "zstd", "x", "*", "identity", ";q=0", ";q=1", ",", " ", "deflate", "\t", "q"]
  var spellings: Set<[UInt8]?> = []
  for _ in 0..<10_000 {
    let value = (0..<(generator.next() % 9)).map { _ in parts[Int(generator.next() % 13)] }.joined()
    spellings.insert(NegotiationField.acceptEncoding.normalized(value.utf8))
  }
  #expect(spellings.count <= 16 && spellings.count > 4, "seed 20261123: \(spellings.count)")
}

struct CodedRow: Row {
  var rule: String
  var response: String
  var first: String
  var second: String
  var matches: Bool

  init(_ rule: String, _ response: String, _ first: String, _ second: String, _ matches: Bool) {
    self.rule = rule
    self.response = response
    self.first = first
    self.second = second
    self.matches = matches
  }

  static let all: [CodedRow] = [
    .init(
      "9110 8.4 coded without Vary: a client without Accept-Encoding does not get it",
      "Content-Encoding: gzip",
      "Accept-Encoding: gzip", "Foo: 1", false),
    .init(
      "9110 8.4 coded without Vary: one that refuses does not get it", "Content-Encoding: gzip",
      "Accept-Encoding: gzip", "Accept-Encoding: identity", false),
    .init(
      "9110 8.4 coded without Vary: one that asks alike gets it", "Content-Encoding: gzip",
      "Accept-Encoding: gzip, br", "Accept-Encoding: gzip,br", true),
    .init(
      "9110 8.4 coded for a client that did not ask", "Content-Encoding: gzip", "Foo: 1",
      "Accept-Encoding: identity", false),
    .init(
      "9110 8.4 coded beside another Vary", "Content-Encoding: br\nVary: Foo", "Foo: 1\nAccept-Encoding: br",
      "Foo: 1", false),
    .init(
      "9110 8.4 coded beside another Vary that differs", "Content-Encoding: br\nVary: Foo",
      "Foo: 1\nAccept-Encoding: br", "Foo: 2\nAccept-Encoding: br", false),
    .init(
      "9110 8.4 coded and Vary says so", "Content-Encoding: br\nVary: accept-encoding", "Accept-Encoding: br",
      "Accept-Encoding: br", true),
    .init(
      "9110 12.5.3 identity is no coding", "Content-Encoding: identity", "Accept-Encoding: gzip", "Foo: 1",
      true
    ),
    .init(
      "9110 8.4 an empty Content-Encoding is none", "Content-Encoding: ", "Accept-Encoding: gzip", "Foo: 1",
      true
    ),
  ]
}

@Test("content that is coded varies on Accept-Encoding, said or not", arguments: CodedRow.all)
func coded(row: CodedRow) {
  var encoded: [UInt8] = []
  #expect(Vary.encode(responseFields: fields(row.response), requestFields: fields(row.first), onto: &encoded))
  #expect(selects(encoded, fields(row.first)))
  #expect(selects(encoded, fields(row.second)) == row.matches)
}
