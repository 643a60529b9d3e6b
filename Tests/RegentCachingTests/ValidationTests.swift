// Conditions, ours and the client's (RFC 9111 section 4.3.1, 4.3.2; RFC 9110 section 13).

import RegentCaching
import RegentHTTP
import Testing

struct ConditionRow: Row {
  var rule: String
  var request: String
  var stored: String
  var isNotModified: Bool
  var status: UInt16 = 200

  init(_ rule: String, _ request: String, _ stored: String, _ isNotModified: Bool, status: UInt16 = 200) {
    self.rule = rule
    self.request = request
    self.stored = stored
    self.isNotModified = isNotModified
    self.status = status
  }

  static let all: [ConditionRow] = [
    .init("9110 13.1.2 the same tag", "If-None-Match: \"a\"", "ETag: \"a\"", true),
    .init("9110 13.1.2 another tag", "If-None-Match: \"b\"", "ETag: \"a\"", false),
    .init("9110 13.1.2 tags have case", "If-None-Match: \"A\"", "ETag: \"a\"", false),
    .init("9110 8.8.3.2 weak against strong", "If-None-Match: W/\"a\"", "ETag: \"a\"", true),
    .init("9110 8.8.3.2 strong against weak", "If-None-Match: \"a\"", "ETag: W/\"a\"", true),
    .init("9110 8.8.3.2 weak against weak", "If-None-Match: W/\"a\"", "ETag: W/\"a\"", true),
    .init("9110 8.8.3 a small w is no weak tag", "If-None-Match: w/\"a\"", "ETag: \"a\"", false),
    .init("9110 13.1.2 the last of a list", "If-None-Match: \"x\", W/\"y\",\"a\"", "ETag: \"a\"", true),
    .init("9110 13.1.2 none of a list", "If-None-Match: \"x\", \"y\"", "ETag: \"a\"", false),
    .init(
      "9110 13.1.2 a list over two lines", "If-None-Match: \"x\"\nIf-None-Match: \"a\"", "ETag: \"a\"", true),
    .init("9110 8.8.3 a comma inside a tag", "If-None-Match: \"x,y\"", "ETag: \"x,y\"", true),
    .init("9110 8.8.3 a tag is not part of another", "If-None-Match: \"x,a\"", "ETag: \"a\"", false),
    .init("9110 13.1.2 any", "If-None-Match: *", "ETag: \"a\"", true),
    .init("9110 13.1.2 any, without a stored tag", "If-None-Match: *", "Server: s", true),
    .init("9110 13.1.2 any is no member of a list", "If-None-Match: \"x\", *", "ETag: \"a\"", false),
    .init("9110 13.1.2 a tag without quotes", "If-None-Match: a", "ETag: \"a\"", false),
    .init("9110 13.1.2 a stored tag without quotes", "If-None-Match: \"a\"", "ETag: a", false),
    .init("9110 13.1.2 an unclosed tag", "If-None-Match: \"a", "ETag: \"a\"", false),
    .init("9110 13.1.2 tags without a comma between", "If-None-Match: \"x\"\"a\"", "ETag: \"a\"", false),
    .init("9110 13.1.2 an empty value", "If-None-Match: ", "ETag: \"a\"", false),
    .init("9110 13.1.2 without a stored tag", "If-None-Match: \"a\"", "Server: s", false),
    .init(
      "9110 13.2.2 If-None-Match counts alone: no", "If-None-Match: \"b\"\nIf-Modified-Since: {0}",
      "ETag: \"a\"\nLast-Modified: {-9}", false),
    .init(
      "9110 13.2.2 If-None-Match counts alone: yes", "If-None-Match: \"a\"\nIf-Modified-Since: {-99}",
      "ETag: \"a\"\nLast-Modified: {-9}", true),
    .init("9110 13.1.3 not modified since", "If-Modified-Since: {-9}", "Last-Modified: {-9}", true),
    .init(
      "9110 13.1.3 not modified since a later date", "If-Modified-Since: {-1}", "Last-Modified: {-9}", true),
    .init("9110 13.1.3 modified since", "If-Modified-Since: {-10}", "Last-Modified: {-9}", false),
    .init("9110 13.1.3 a date that cannot be read", "If-Modified-Since: then", "Last-Modified: {-9}", false),
    .init(
      "9110 13.1.3 two dates", "If-Modified-Since: {0}\nIf-Modified-Since: {0}", "Last-Modified: {-9}", false),
    .init(
      "9110 13.1.3 a stored date that cannot be read", "If-Modified-Since: {0}", "Last-Modified: then", false),
    .init("9111 4.3.2 without Last-Modified, Date counts: no", "If-Modified-Since: {-1}", "Server: s", false),
    .init("9111 4.3.2 without Last-Modified, Date counts: yes", "If-Modified-Since: {0}", "Server: s", true),
    .init(
      "9110 13.2.1 conditions do not apply to a 404", "If-None-Match: \"a\"", "ETag: \"a\"", false,
      status: 404),
    .init("9110 13.2.1 an unconditional request", "Accept: */*", "ETag: \"a\"", false),
    .init("9111 4.3.2 If-Match is the origin's", "If-Match: \"b\"", "ETag: \"a\"", false),
  ]
}

@Test("304 answers a client's condition where the stored response meets it", arguments: ConditionRow.all)
func conditions(row: ConditionRow) {
  let stored = fields(row.stored)
  let etag = Array(stored.first(.etag) ?? [])
  let modified = Array(stored.first(.lastModified) ?? [])
  let answer = Validation.answersNotModified(
    requestFields: fields(row.request), stored: metadata(row.stored, status: row.status), etag: etag.span,
    lastModified: modified.span)
  #expect(answer == row.isNotModified)
}

@Test("our own conditions carry both validators as they were stored")
func ownConditions() {
  var request = fields("Host: a")
  #expect(Validation.addConditions(from: fields("ETag: W/\"a\"\nLast-Modified: {-9}"), to: &request))
  #expect(text(request) == ["Host: a", "If-None-Match: W/\"a\"", "If-Modified-Since: \(date(-9))"])
  #expect(!Validation.addConditions(from: fields("Server: s"), to: &request))
  #expect(request.lines.count == 3)
}
