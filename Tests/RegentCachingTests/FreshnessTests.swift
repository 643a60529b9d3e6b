// The freshness lifetime that a response's fields give (RFC 9111 section 4.2.1, 4.2.2).

import RegentCaching
import Testing

struct LifetimeRow: Row {
  var rule: String
  var response: String
  var lifetime: Int32
  var status: UInt16 = 200
  var hasQuery = false

  init(_ rule: String, _ response: String, _ lifetime: Int32, status: UInt16 = 200, hasQuery: Bool = false) {
    self.rule = rule
    self.response = response
    self.lifetime = lifetime
    self.status = status
    self.hasQuery = hasQuery
  }

  static let all: [LifetimeRow] = [
    .init("9111 4.2.1 max-age is the lifetime", "Cache-Control: max-age=60", 60),
    .init(
      "9111 4.2.1 s-maxage beats max-age in a shared cache", "Cache-Control: max-age=60, s-maxage=10", 10),
    .init("9111 4.2.1 s-maxage beats max-age in either order", "Cache-Control: s-maxage=10, max-age=60", 10),
    .init("9111 4.2.1 max-age beats Expires", "Cache-Control: max-age=60\nExpires: {7}", 60),
    .init("9111 4.2.1 max-age beats a past Expires", "Cache-Control: max-age=60\nExpires: {-7}", 60),
    .init("9111 4.2.1 s-maxage beats Expires", "Cache-Control: s-maxage=5\nExpires: {700}", 5),
    .init("9111 4.2.1 Expires counts from Date", "Expires: {90}", 90),
    .init("9111 4.2.1 Expires counts from Date, not from arrival", "Date: {-50}\nExpires: {90}", 140),
    .init("9111 4.2.1 without Date, Expires counts from arrival", "Date: never\nExpires: {90}", 90),
    .init("9111 5.3 Expires: 0 is in the past", "Expires: 0", 0),
    .init("9111 5.3 a past Expires is stale", "Expires: {-1}", 0),
    .init("9111 5.3 an Expires that is no date is stale", "Expires: soon", 0),
    .init("9111 5.3 an empty Expires is stale", "Expires: ", 0),
    .init("9111 5.3 Expires equal to Date is stale", "Expires: {0}", 0),
    .init("9111 4.2.1 the same Expires twice counts", "Expires: {90}\nExpires: {90}", 90),
    .init("9111 4.2.1 two different Expires are stale", "Expires: {90}\nExpires: {80}", 0),
    .init("9111 5.3 a bad Expires is not repaired by Last-Modified", "Expires: 0\nLast-Modified: {-1000}", 0),
    .init("9111 5.2 names have no case", "Cache-Control: MAX-AGE=60", 60),
    .init(
      "9111 5.2 directives may come on several lines", "Cache-Control: public\nCache-Control: max-age=60", 60),
    .init("9111 5.2 empty list members are nothing", "Cache-Control: , ,max-age=60,,", 60),
    .init("9111 5.2 tabs are white space too", "Cache-Control: public\t,\tmax-age=60\t,", 60),
    .init("9111 5.2 a quoted argument is read like a token", "Cache-Control: max-age=\"60\"", 60),
    .init("9111 5.2.3 unknown directives are ignored", "Cache-Control: immutable, x=y, max-age=60", 60),
    .init(
      "9111 5.2.3 max-age inside a quoted extension is not ours",
      "Cache-Control: x=\"max-age=900\", max-age=1", 1),
    .init("9111 5.2.3 the same in the other order", "Cache-Control: max-age=1, x=\"a, max-age=900\"", 1),
    .init(
      "9111 5.2.3 an escaped quote does not end an extension",
      "Cache-Control: x=\"\\\", max-age=9\", max-age=1", 1),
    .init("9111 5.2 an unclosed quote swallows the rest", "Cache-Control: x=\"a, max-age=900", 0),
    .init("9111 5.2.3 a longer name is another directive", "Cache-Control: xmax-age=60", 0),
    .init("9111 4.2.1 the same max-age twice counts", "Cache-Control: max-age=60, max-age=60", 60),
    .init("9111 4.2.1 two different max-age are stale", "Cache-Control: max-age=60, max-age=90", 0),
    .init(
      "9111 4.2.1 two different s-maxage are stale", "Cache-Control: s-maxage=6\nCache-Control: s-maxage=9", 0
    ),
    .init("B13 a bad s-maxage does not fall back on max-age", "Cache-Control: s-maxage=x, max-age=60", 0),
    .init("B13 a bad max-age does not fall back on Expires", "Cache-Control: max-age=x\nExpires: {90}", 0),
    .init("B13 a bad max-age beside a good one is stale", "Cache-Control: max-age=60, max-age=x", 0),
    .init("B13 max-age without argument is stale", "Cache-Control: max-age", 0),
    .init("B13 max-age with an empty argument is stale", "Cache-Control: max-age=", 0),
    .init("B13 max-age with an empty quoted argument is stale", "Cache-Control: max-age=\"\"", 0),
    .init("B13 a negative max-age is stale", "Cache-Control: max-age=-1", 0),
    .init("B13 a signed max-age is stale", "Cache-Control: max-age=+60", 0),
    .init("B13 a fractional max-age is stale", "Cache-Control: max-age=1.5", 0),
    .init("B13 an exponent is stale", "Cache-Control: max-age=1e3", 0),
    .init("B13 a hexadecimal max-age is stale", "Cache-Control: max-age=0x60", 0),
    .init("B13 single quotes are no quotes", "Cache-Control: max-age='60'", 0),
    .init("B13 letters after the digits are stale", "Cache-Control: max-age=60s", 0),
    .init("B13 letters before the digits are stale", "Cache-Control: max-age=s60", 0),
    .init("B13 white space before the equals sign is stale", "Cache-Control: max-age =60", 0),
    .init("B13 white space after the equals sign is stale", "Cache-Control: max-age= 60", 0),
    .init("B13 a second word after the digits is stale", "Cache-Control: max-age=60 90", 0),
    .init("B13 digits of another script are stale", "Cache-Control: max-age=６０", 0),
    .init("9111 1.2.2 leading zeros are digits", "Cache-Control: max-age=00060", 60),
    .init("9111 1.2.2 2^31 - 1 is the largest", "Cache-Control: max-age=2147483647", .max),
    .init("9111 1.2.2 2^31 is clamped", "Cache-Control: max-age=2147483648", .max),
    .init("9111 1.2.2 2^63 is clamped", "Cache-Control: max-age=9223372036854775808", .max),
    .init(
      "9111 1.2.2 2^64 + 60 is clamped, not wrapped", "Cache-Control: max-age=18446744073709551676", .max),
    .init(
      "9111 1.2.2 10^40 is clamped", "Cache-Control: s-maxage=1" + String(repeating: "0", count: 40), .max),
    .init(
      "9111 1.2.2 400 digits are clamped", "Cache-Control: max-age=" + String(repeating: "9", count: 400),
      .max),
    .init(
      "9111 4.2.1 an Expires in the year 9999 is clamped", "Expires: Fri, 31 Dec 9999 23:59:59 GMT", .max),
    .init("9111 4.2.2 a tenth of the time since Last-Modified", "Last-Modified: {-1000}", 100),
    .init("9111 4.2.2 the guess counts from Date", "Date: {-500}\nLast-Modified: {-1000}", 50),
    .init("9111 4.2.2 the guess has an upper bound", "Last-Modified: {-99000000}", 86_400),
    .init("9111 4.2.2 nothing is guessed from a future Last-Modified", "Last-Modified: {10}", 0),
    .init("9111 4.2.2 nothing is guessed from a bad Last-Modified", "Last-Modified: lately", 0),
    .init("9111 4.2.2 nothing is guessed without Last-Modified", "ETag: \"a\"", 0),
    .init(
      "9111 4.2.2 nothing is guessed beside max-age", "Cache-Control: max-age=0\nLast-Modified: {-1000}", 0),
    .init("9111 4.2.2 nothing is guessed for a query", "Last-Modified: {-1000}", 0, hasQuery: true),
    .init("9111 4.2.2 a 404 may be guessed", "Last-Modified: {-1000}", 100, status: 404),
    .init("9111 4.2.2 a 302 may not be guessed", "Last-Modified: {-1000}", 0, status: 302),
    .init(
      "9111 4.2.2 public lets any status be guessed", "Cache-Control: public\nLast-Modified: {-1000}", 100,
      status: 302),
  ]

  /// Dates far ahead, written rightly or wrongly; a right one gives a lifetime of years.
  static let dates: [LifetimeRow] = [
    ("9110 5.6.7 the form of today", "Thu, 18 Aug 2050 02:01:18 GMT", true),
    ("9110 5.6.7 the form of RFC 850", "Thursday, 18-Aug-50 02:01:18 GMT", true),
    ("9110 5.6.7 asctime's form", "Thu Aug  8 02:01:18 2050", true),
    ("9110 5.6.7 beyond 32 bits", "Sun, 21 Nov 2286 04:46:39 GMT", true),
    ("9110 5.6.7 the end of 32 bits", "Tue, 19 Jan 2038 14:14:08 GMT", true),
    ("9111 4.2 the day's case does not matter", "THU, 18 Aug 2050 02:01:18 GMT", true),
    ("9111 4.2 nor the month's", "Thu, 18 AUG 2050 02:01:18 GMT", true),
    ("9111 4.2 nor the zone's", "Thu, 18 Aug 2050 02:01:18 gMT", true),
    ("9110 5.6.7 UTC is no zone", "Thu, 18 Aug 2050 02:01:18 UTC", false),
    ("9110 5.6.7 AEST is no zone", "Thu, 18 Aug 2050 02:01:18 AEST", false),
    ("9110 5.6.7 nor is an offset", "Thu, 18 Aug 2050 02:01:18 +0000", false),
    ("9110 5.6.7 no zone is none", "Thu, 18 Aug 2050 02:01:18", false),
    ("9110 5.6.7 two digits are no year of today's form", "Thu, 18 Aug 50 02:01:18 GMT", false),
    ("9110 5.6.7 the comma is part of it", "Thu 18 Aug 2050 02:01:18 GMT", false),
    ("9110 5.6.7 single spaces are", "Thu, 18  Aug  2050 02:01:18 GMT", false),
    ("9110 5.6.7 dashes are not", "Thu, 18-Aug-2050 02:01:18 GMT", false),
    ("9110 5.6.7 nor are points", "Thu, 18 Aug 2050 02.01.18 GMT", false),
    ("9110 5.6.7 an hour has two digits", "Thu, 18 Aug 2050 2:01:18 GMT", false),
    ("9110 5.6.7 February has no 30th", "Wed, 30 Feb 2050 02:01:18 GMT", false),
    ("9110 5.6.7 a day has no 25th hour", "Thu, 18 Aug 2050 25:01:18 GMT", false),
    ("9111 5.3 minus one is none", "-1", false),
    ("9111 5.3 a number is none", "2534023007990", false),
    ("9111 5.3 quotes are no part of it", "\"Thu, 18 Aug 2050 02:01:18 GMT\"", false),
    ("9111 5.3 a parameter is none", "Thu, 18 Aug 2050 02:01:18 GMT; x=1", false),
    ("9111 5.3 a list is none", "Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT", false),
  ].map { LifetimeRow($0, "Expires: \($1)", $2 ? 1 : 0) }
}

@Test(
  "an Expires counts where it is a date, and is in the past where it is none", arguments: LifetimeRow.dates)
func expires(row: LifetimeRow) {
  let stored = metadata(row.response)
  #expect(min(stored.lifetime, 1) == row.lifetime)
  #expect(stored.flags.contains(.invalidFreshness) == (row.lifetime == 0))
}

@Test("the freshness lifetime follows from the response's fields", arguments: LifetimeRow.all)
func lifetime(row: LifetimeRow) {
  #expect(metadata(row.response, status: row.status, hasQuery: row.hasQuery).lifetime == row.lifetime)
}

@Test("a guessed lifetime is marked as one, an explicit one is not")
func heuristicIsMarked() {
  #expect(metadata("Last-Modified: {-1000}").flags.contains(.heuristic))
  #expect(!metadata("Cache-Control: max-age=6\nLast-Modified: {-1000}").flags.contains(.heuristic))
}

@Test("a lifetime that cannot be read is marked", arguments: ["Cache-Control: max-age=x", "Expires: 0"])
func invalidIsMarked(response: String) {
  #expect(metadata(response).flags.contains(.invalidFreshness))
}

@Test("a domain may bound the guess and allow it for queries")
func heuristicSettings() {
  let policy = CachePolicy(heuristicMaximum: 30, heuristicForQueries: true)
  #expect(metadata("Last-Modified: {-1000}", policy: policy, hasQuery: true).lifetime == 30)
}

@Test("stale windows are read like lifetimes, and a bad one is none")
func staleWindows() {
  let good = metadata("Cache-Control: max-age=1, stale-while-revalidate=30, stale-if-error=99999999999")
  #expect(good.staleWhileRevalidate == 30)
  #expect(good.staleIfError == .max)
  let bad = metadata(
    "Cache-Control: max-age=1, stale-while-revalidate=-1, stale-if-error=1, stale-if-error=2")
  #expect(bad.staleWhileRevalidate == 0)
  #expect(bad.staleIfError == 0)
}
