// What the answer to a HEAD changes in a stored response (RFC 9111 section 4.3.5), and what a 304 with a strong tag
// means for a response that is known by a weak one: it may answer, and does not change.

import RegentCaching
import RegentHTTP
import Testing

struct HeadRow: Row {
  var rule: String
  var stored: String
  var head: String
  var result: [String]?

  init(_ rule: String, _ stored: String, _ head: String, _ result: [String]?) {
    (self.rule, self.stored, self.head, self.result) = (rule, stored, head, result)
  }

  static let all: [HeadRow] = [
    .init("9111 4.3.5 nothing to compare", "A: 1", "A: 2", ["A: 2"]),
    .init("9111 4.3.5 what it lacks stays", "A: 1\nB: 1", "A: 2", ["B: 1", "A: 2"]),
    .init("9111 4.3.5 what is new is added", "A: 1", "B: 2", ["A: 1", "B: 2"]),
    .init("9111 4.3.5 nothing at all", "A: 1", "Server: s", ["A: 1", "Server: s"]),
    .init("9111 4.3.5 the same strong tag", "ETag: \"a\"", "ETag: \"a\"", ["ETag: \"a\""]),
    .init("9111 4.3.5 the same weak tag", "ETag: W/\"a\"", "ETag: W/\"a\"", ["ETag: W/\"a\""]),
    .init("9111 4.3.5 another tag", "ETag: \"a\"", "ETag: \"b\"", nil),
    .init("9111 4.3.5 a weak tag for a strong one has another value", "ETag: \"a\"", "ETag: W/\"a\"", nil),
    .init("9111 4.3.5 a strong tag for a weak one has another value", "ETag: W/\"a\"", "ETag: \"a\"", nil),
    .init("9111 4.3.5 a tag where none is stored", "A: 1", "ETag: \"a\"", nil),
    .init("9111 4.3.5 no tag where one is stored", "ETag: \"a\"", "A: 2", ["ETag: \"a\"", "A: 2"]),
    .init(
      "9111 4.3.5 the same Last-Modified", "Last-Modified: {-9}", "Last-Modified: {-9}",
      ["Last-Modified: \(date(-9))"]),
    .init("9111 4.3.5 another Last-Modified", "Last-Modified: {-9}", "Last-Modified: {-8}", nil),
    .init("9111 4.3.5 a Last-Modified where none is stored", "A: 1", "Last-Modified: {-9}", nil),
    .init(
      "9111 4.3.5 each validator that came must agree", "ETag: \"a\"\nLast-Modified: {-9}",
      "ETag: \"a\"\nLast-Modified: {-8}", nil),
    .init("9111 4.3.5 the same length", "A: 1", "Content-Length: 8\nA: 2", ["A: 2"]),
    .init("9111 4.3.5 another length", "A: 1", "Content-Length: 9", nil),
    .init(
      "9111 4.3.5 another length under the same tag", "ETag: \"a\"", "ETag: \"a\"\nContent-Length: 0", nil),
    .init("9111 4.3.5 a length that is none", "A: 1", "Content-Length: +8", nil),
    .init(
      "9111 4.3.5 the same coding", "Content-Encoding: gzip", "Content-Encoding: gzip",
      ["Content-Encoding: gzip"]),
    .init("9111 4.3.5 another coding", "Content-Encoding: gzip", "Content-Encoding: br", nil),
    .init("9111 4.3.5 a coding that is gone", "Content-Encoding: gzip", "A: 2", nil),
    .init("9111 4.3.5 a coding where none is stored", "A: 1", "Content-Encoding: gzip", nil),
    .init("9111 3.2 Content-Range is not changed", "A: 1", "Content-Range: bytes 0-1/2", ["A: 1"]),
    .init("9111 3.1 hop-by-hop fields are not added", "A: 1", "Connection: b\nB: 2\nKeep-Alive: 5", ["A: 1"]),
    .init("9111 3.1 Date and Age are kept apart", "A: 1", "Date: {0}\nAge: 7", ["A: 1"]),
  ]
}

@Test(
  "the answer to a HEAD changes a stored response that it speaks of, and no other", arguments: HeadRow.all)
func headFreshening(row: HeadRow) {
  let result = Validation.freshened(stored: fields(row.stored), contentLength: 8, byHead: fields(row.head))
  #expect(result.map(text) == row.result)
}

@Test("B12 answers to HEAD with ever new fields end in a refetch, not in an ever larger head")
func boundedByHead() {
  var stored = fields("ETag: \"a\"")
  var rounds = 0
  while rounds < 10_000,
    let next = Validation.freshened(
      stored: stored, contentLength: 0, byHead: fields("X-New-\(rounds): 1"), limit: 4096)
  {
    stored = next
    rounds += 1
  }
  #expect(rounds > 100 && rounds < 1000 && stored.bytes.count <= 4096)
}

struct WeakRow: Row {
  var rule: String
  var stored: String
  var notModified: String
  /// Whether the stored response may answer this once, and what becomes of it.
  var answersOnce: Bool
  var result: [String]?

  init(_ rule: String, _ stored: String, _ notModified: String, _ answersOnce: Bool, _ result: [String]?) {
    (self.rule, self.stored, self.notModified) = (rule, stored, notModified)
    (self.answersOnce, self.result) = (answersOnce, result)
  }

  static let all: [WeakRow] = [
    .init(
      "9111 4.3.4 a strong tag lets the weak one asked about answer, and changes nothing",
      "ETag: W/\"a\"\nA: 1", "ETag: \"a\"\nA: 2", true, nil),
    .init("9111 4.3.4 another strong tag confirms nothing", "ETag: W/\"a\"", "ETag: \"b\"", false, nil),
    .init("9111 4.3.4 another weak tag confirms nothing", "ETag: W/\"a\"", "ETag: W/\"b\"", false, nil),
    .init("9110 8.8.3.2 a strong tag is compared strongly", "ETag: \"a\"", "ETag: \"b\"", false, nil),
    .init("9110 8.8.3.2 the same weak tag", "ETag: W/\"a\"", "ETag: W/\"a\"", false, ["ETag: W/\"a\""]),
    .init(
      "9110 8.8.3.2 a weak tag confirms a strong one", "ETag: \"a\"", "ETag: W/\"a\"", false,
      ["ETag: W/\"a\""]),
    .init("9110 8.8.3 a tag without quotes is none", "ETag: W/\"a\"", "ETag: a", false, nil),
    .init("9110 8.8.3 a small w is no weak tag", "ETag: w/\"a\"", "ETag: \"a\"", false, nil),
    .init("9111 4.3.4 a tag where none is stored", "A: 1", "ETag: \"a\"", false, nil),
    .init("9111 4.3.4 no tag in the 304", "ETag: W/\"a\"\nA: 1", "A: 2", false, ["ETag: W/\"a\"", "A: 2"]),
  ]
}

@Test(
  "a strong tag in a 304 changes nothing that is known by a weak one, and lets it answer once",
  arguments: WeakRow.all)
func weakConfirmation(row: WeakRow) {
  let (stored, update) = (fields(row.stored), fields(row.notModified))
  #expect(Validation.permitsOnce(stored: stored, by: update) == row.answersOnce)
  #expect(Validation.freshened(stored: stored, by: update).map(text) == row.result)
}
