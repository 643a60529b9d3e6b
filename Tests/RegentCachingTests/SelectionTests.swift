// Validation among several stored responses (RFC 9111 sections 4.3.1 and 4.3.4).

import RegentCaching
import RegentHTTP
import Testing

struct OfferRow: Row {
  var rule: String
  var stored: [String]
  var condition: String?

  init(_ rule: String, _ stored: [String], _ condition: String?) {
    self.rule = rule
    self.stored = stored
    self.condition = condition
  }

  static let all: [OfferRow] = [
    .init("9111 4.3.1 one tag", ["ETag: \"a\""], "\"a\""),
    .init("9111 4.3.1 several tags", ["ETag: \"a\"", "ETag: W/\"b\""], "\"a\", W/\"b\""),
    .init("9111 4.3.1 a tag that two have is said once", ["ETag: \"a\"", "ETag: \"a\""], "\"a\""),
    .init("9110 8.8.3 weak and strong are two", ["ETag: \"a\"", "ETag: W/\"a\""], "\"a\", W/\"a\""),
    .init("9111 4.3.1 without a tag nothing is said", ["Last-Modified: {-9}"], nil),
    .init("9111 4.3.1 one without a tag is left out", ["Server: s", "ETag: \"a\""], "\"a\""),
    .init("9110 8.8.3 a tag without quotes is left out", ["ETag: a", "ETag: \"b\""], "\"b\""),
    .init("9110 8.8.3 an unclosed tag is left out", ["ETag: \"a"], nil),
    .init("9110 8.8.3 two tags in one are none", ["ETag: \"a\", \"b\""], nil),
    .init("9110 13.1.2 a star is never offered", ["ETag: *"], nil),
    .init("9110 8.8.3 a comma inside a tag stays", ["ETag: \"a,b\""], "\"a,b\""),
    .init("9111 4.3.1 nothing stored", [], nil),
  ]
}

@Test("the origin is told the tags of what could be the answer", arguments: OfferRow.all)
func offers(row: OfferRow) {
  var request = Fields()
  let isAdded = Validation.addSelection(among: row.stored.map { fields($0) }, to: &request)
  #expect(isAdded == (row.condition != nil))
  #expect(text(request) == (row.condition.map { ["If-None-Match: \($0)"] } ?? []))
}

@Test("the list of tags is bounded")
func boundedOffer() {
  var request = Fields()
  let stored = (0..<64).map { fields("ETag: \"\($0)\(String(repeating: "x", count: 200))\"") }
  #expect(Validation.addSelection(among: stored, to: &request))
  #expect((1...2048).contains(request.first(.ifNoneMatch)?.count ?? 0))
  var huge = Fields()
  let long = fields("ETag: \"\(String(repeating: "x", count: 4000))\"")
  #expect(!Validation.addSelection(among: [long], to: &huge) && huge.lines.isEmpty)
}

struct SelectionRow: Row {
  var rule: String
  var stored: [String]
  var notModified: String
  var selected: Int?

  init(_ rule: String, _ stored: [String], _ notModified: String, _ selected: Int?) {
    self.rule = rule
    self.stored = stored
    self.notModified = notModified
    self.selected = selected
  }

  static let all: [SelectionRow] = [
    .init("9111 4.3.4 a strong tag names its response", ["ETag: \"a\"", "ETag: \"b\""], "ETag: \"b\"", 1),
    .init("9111 4.3.4 the most recent of equals", ["ETag: \"a\"", "ETag: \"a\""], "ETag: \"a\"", 0),
    .init("9111 4.3.4 a strong tag is not a weak one's", ["ETag: W/\"a\"", "ETag: \"a\""], "ETag: \"a\"", 1),
    .init("9111 4.3.4 nor where it is alone", ["ETag: W/\"a\""], "ETag: \"a\"", nil),
    .init(
      "9111 4.3.4 a weak tag names the most recent", ["ETag: \"b\"", "ETag: W/\"a\"", "ETag: \"a\""],
      "ETag: W/\"a\"", 1),
    .init("9111 4.3.4 a weak tag may name a strong one's", ["ETag: \"a\""], "ETag: W/\"a\"", 0),
    .init("9111 4.3.4 an unknown tag names none", ["ETag: \"a\"", "ETag: \"b\""], "ETag: \"c\"", nil),
    .init("9110 8.8.3.2 tags have case", ["ETag: \"a\""], "ETag: \"A\"", nil),
    .init("9111 4.3.4 a malformed tag names none", ["ETag: \"a\""], "ETag: a", nil),
    .init(
      "9111 4.3.4 a tag goes before a date", ["ETag: \"a\"\nLast-Modified: {-9}"],
      "ETag: \"b\"\nLast-Modified: {-9}", nil),
    .init(
      "9111 4.3.4 without a tag, the only one of that date",
      ["ETag: \"a\"\nLast-Modified: {-9}", "ETag: \"b\"\nLast-Modified: {-8}"], "Last-Modified: {-8}", 1),
    .init(
      "9111 4.3.4 two of that date are none",
      ["ETag: \"a\"\nLast-Modified: {-9}", "ETag: \"b\"\nLast-Modified: {-9}"], "Last-Modified: {-9}", nil),
    .init("9111 4.3.4 another date names none", ["Last-Modified: {-9}"], "Last-Modified: {-8}", nil),
    .init(
      "9111 4.3.4 without a validator none of several", ["ETag: \"a\"", "ETag: \"b\""], "Server: s", nil),
    .init("9111 4.3.4 nothing stored", [], "ETag: \"a\"", nil),
  ]
}

@Test("a 304 is about the stored response that its validators name", arguments: SelectionRow.all)
func selections(row: SelectionRow) {
  let selected = Validation.selected(
    among: row.stored.map { fields($0) }, by: fields(row.notModified))
  #expect(selected == row.selected)
}

struct DecodableRow: Row {
  var rule: String
  var stored: String
  var request: String
  var isDecodable: Bool

  init(_ rule: String, _ stored: String, _ request: String, _ isDecodable: Bool) {
    self.rule = rule
    self.stored = stored
    self.request = request
    self.isDecodable = isDecodable
  }

  static let all: [DecodableRow] = [
    .init("9110 12.5.3 without a coding", "Server: s", "Accept-Encoding: gzip", true),
    .init(
      "9110 12.5.3 with a coding that is asked for", "Content-Encoding: gzip", "Accept-Encoding: br, gzip",
      true),
    .init("9110 12.5.3 codings have no case", "Content-Encoding: GZIP", "Accept-Encoding: gzip", true),
    .init("9110 12.5.3 with another one", "Content-Encoding: br", "Accept-Encoding: gzip", false),
    .init(
      "9110 12.5.3 with one that is refused", "Content-Encoding: gzip", "Accept-Encoding: gzip;q=0", false),
    .init("9110 12.5.3 for a client that says nothing", "Content-Encoding: gzip", "Foo: 1", false),
    .init("9110 12.5.3 a star names no coding", "Content-Encoding: gzip", "Accept-Encoding: *", false),
    .init("9110 8.4 both of two codings", "Content-Encoding: gzip, br", "Accept-Encoding: br, gzip", true),
    .init("9110 8.4 one of two codings", "Content-Encoding: gzip, br", "Accept-Encoding: br", false),
    .init(
      "9110 5.3 on two lines", "Content-Encoding: gzip\nContent-Encoding: br",
      "Accept-Encoding: br\nAccept-Encoding: gzip", true),
  ]
}

@Test("what a 304 may bring back is what the client can decode", arguments: DecodableRow.all)
func decodables(row: DecodableRow) {
  #expect(Validation.isDecodable(fields(row.stored), by: fields(row.request)) == row.isDecodable)
}
