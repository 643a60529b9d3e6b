// What a 304 changes (RFC 9111 section 3.2, 4.3.4; TRUST B12).

import RegentCaching
import RegentHTTP
import Testing

struct FresheningRow: Row {
  var rule: String
  var stored: String
  var notModified: String
  var result: [String]?

  init(_ rule: String, _ stored: String, _ notModified: String, _ result: [String]?) {
    self.rule = rule
    self.stored = stored
    self.notModified = notModified
    self.result = result
  }

  static let all: [FresheningRow] = [
    .init("9111 3.2 a field is replaced", "A: 1\nB: 1", "A: 2", ["B: 1", "A: 2"]),
    .init(
      "9111 3.2 a known field is replaced", "Cache-Control: max-age=1", "Cache-Control: max-age=9",
      ["Cache-Control: max-age=9"]),
    .init("9111 3.2 a new field is added", "A: 1", "B: 2", ["A: 1", "B: 2"]),
    .init("9111 3.2 names have no case", "x-a: 1", "X-A: 2", ["X-A: 2"]),
    .init("9111 3.2 all lines of a name are replaced", "A: 1\nA: 2\nB: 1", "A: 3", ["B: 1", "A: 3"]),
    .init(
      "9111 3.2 several new lines of a name stay in order", "A: 1", "A: 2\nB: 0\nA: 3",
      ["A: 2", "B: 0", "A: 3"]),
    .init("9111 3.2 Content-Length is not changed", "A: 1", "Content-Length: 7", ["A: 1"]),
    .init(
      "9111 3.2 Content-Encoding is not changed", "Content-Encoding: gzip", "Content-Encoding: br",
      ["Content-Encoding: gzip"]),
    .init("9111 3.2 Content-Range is not changed", "A: 1", "Content-Range: bytes 0-1/2", ["A: 1"]),
    .init("9111 3.2 Content-Type is", "Content-Type: a/b", "Content-Type: c/d", ["Content-Type: c/d"]),
    .init(
      "9111 3.1 hop-by-hop fields are not added", "A: 1", "Keep-Alive: 5\nTransfer-Encoding: chunked",
      ["A: 1"]),
    .init("9111 3.1 what Connection names is not added", "A: 1", "Connection: b\nB: 2", ["A: 1"]),
    .init("9111 3.1 Date and Age are kept apart", "A: 1", "Date: {0}\nAge: 7", ["A: 1"]),
    .init(
      "9111 5.2.2.7 private fields of the 304 are not added", "A: 1", "Cache-Control: private=\"b\"\nB: 2",
      ["A: 1", "Cache-Control: private=\"b\""]),
    .init("9111 4.3.4 the same strong tag", "ETag: \"a\"", "ETag: \"a\"", ["ETag: \"a\""]),
    .init("9111 4.3.4 another strong tag", "ETag: \"a\"", "ETag: \"b\"", nil),
    .init("9111 4.3.4 a strong tag for a weak one", "ETag: W/\"a\"", "ETag: \"a\"", nil),
    .init("9111 4.3.4 a weak tag for a strong one", "ETag: \"a\"", "ETag: W/\"a\"", ["ETag: W/\"a\""]),
    .init("9111 4.3.4 another weak tag", "ETag: W/\"a\"", "ETag: W/\"b\"", nil),
    .init("9111 4.3.4 a tag where none was stored", "A: 1", "ETag: \"b\"", nil),
    .init("9111 4.3.4 no validator in the 304", "ETag: \"a\"", "A: 2", ["ETag: \"a\"", "A: 2"]),
    .init("9111 4.3.4 the same tag without quotes", "ETag: a", "ETag: a", ["ETag: a"]),
    .init("9111 4.3.4 another tag without quotes", "ETag: a", "ETag: b", nil),
    .init(
      "9111 4.3.4 the same Last-Modified", "Last-Modified: {-9}", "Last-Modified: {-9}",
      ["Last-Modified: \(date(-9))"]),
    .init("9111 4.3.4 another Last-Modified", "Last-Modified: {-9}", "Last-Modified: {-8}", nil),
    .init(
      "9111 4.3.4 the tag decides over Last-Modified", "ETag: \"a\"\nLast-Modified: {-9}",
      "ETag: \"a\"\nLast-Modified: {-8}", ["ETag: \"a\"", "Last-Modified: \(date(-8))"]),
  ]
}

@Test("a 304 changes what it may and nothing else", arguments: FresheningRow.all)
func freshening(row: FresheningRow) {
  let result = Validation.freshened(stored: fields(row.stored), by: fields(row.notModified))
  #expect(result.map(text) == row.result)
}

@Test("B12 the head keeps its size over 100,000 revalidations")
func constantHead() throws {
  var stored = fields("ETag: \"a\"\nCache-Control: max-age=1\nX-Request: 0000000\nServer: s")
  let size = stored.bytes.count
  for round in 1_000_001...1_100_000 {
    var update = Fields()
    update.append(.etag, Array("\"a\"".utf8))
    update.append(named: Array("X-Request".utf8), Array(String(round).utf8))
    stored = try #require(Validation.freshened(stored: stored, by: update))
  }
  #expect(stored.bytes.count == size)
  #expect(stored.lines.count == 4)
}

@Test("B12 a chain of 304s with ever new fields ends in a refetch, not in an ever larger head")
func boundedHead() {
  var stored = fields("ETag: \"a\"")
  var rounds = 0
  while let next = Validation.freshened(stored: stored, by: fields("X-New-\(rounds): 1"), limit: 4096) {
    stored = next
    rounds += 1
    guard rounds < 10_000 else { break }
  }
  #expect(rounds > 100 && rounds < 1000)
  #expect(stored.bytes.count <= 4096)
}
