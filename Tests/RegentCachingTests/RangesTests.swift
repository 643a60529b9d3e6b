// What answers a request for ranges of a whole response (RFC 9110 sections 13.1.5, 14.2, 15.3.7; TRUST B10).

import RegentCaching
import RegentHTTP
import TestKit
import Testing

struct RangesRow: Row {
  var rule: String
  var request: String
  var answer: RangeAnswer
  var response: String
  var length: Int
  var status: Int
  var method: RegentHTTP.Method

  init(
    _ rule: String, _ request: String, _ answer: RangeAnswer, response: String = "ETag: \"a\"",
    length: Int = 100,
    status: Int = 200, method: RegentHTTP.Method = .get
  ) {
    self.rule = rule
    self.request = request
    self.answer = answer
    self.response = response
    self.length = length
    self.status = status
    self.method = method
  }

  static let all = single + several + conditions

  static let single: [RangesRow] = [
    .init("9110 14.2 without Range the whole", "Accept: a", .whole),
    .init("9110 14.1.2 first and last", "Range: bytes=10-19", .part(10..<20)),
    .init("9110 14.1.2 the first byte", "Range: bytes=0-0", .part(0..<1)),
    .init("9110 14.1.2 the last byte", "Range: bytes=99-99", .part(99..<100)),
    .init("9110 14.1.2 an open end", "Range: bytes=90-", .part(90..<100)),
    .init("9110 14.1.2 all of it, asked as a range", "Range: bytes=0-", .part(0..<100)),
    .init("9110 14.1.2 a last beyond the end", "Range: bytes=90-1000", .part(90..<100)),
    .init("9110 14.1.2 a suffix", "Range: bytes=-10", .part(90..<100)),
    .init("9110 14.1.2 a suffix longer than all", "Range: bytes=-1000", .part(0..<100)),
    .init("9110 15.5.17 a first at the length", "Range: bytes=100-", .unsatisfiable),
    .init("9110 15.5.17 a first beyond", "Range: bytes=200-300", .unsatisfiable),
    .init("9110 14.1.2 a suffix of nothing", "Range: bytes=-0", .unsatisfiable),
    .init("B10 the largest first", "Range: bytes=9223372036854775807-", .unsatisfiable),
    .init("B10 a last that overflows", "Range: bytes=1-99999999999999999999", .part(1..<100)),
    .init("9110 15.5.17 of nothing", "Range: bytes=0-", .unsatisfiable, length: 0),
    .init("9110 14.1.2 the last bytes of nothing", "Range: bytes=-5", .whole, length: 0),
    .init("9110 14.1.1 an invalid range is ignored", "Range: bytes=5-3", .whole),
    .init("9110 14.2 an unknown unit is ignored", "Range: pages=1-2", .whole),
    .init("9110 14.2 GET only: HEAD", "Range: bytes=0-1", .whole, method: .head),
    .init("9110 14.2 GET only: POST", "Range: bytes=0-1", .whole, method: .post),
    .init("9110 14.2 only what would be a 200: 404", "Range: bytes=0-1", .whole, status: 404),
    .init("9110 14.2 only what would be a 200: 203", "Range: bytes=0-1", .whole, status: 203),
  ]

  static let several: [RangesRow] = [
    .init("9110 15.3.7.2 two parts", "Range: bytes=0-1,10-11", .parts([0..<2, 10..<12])),
    .init("9110 15.3.7.2 in the order asked", "Range: bytes=-2,0-1", .parts([98..<100, 0..<2])),
    .init("9110 15.3.7.2 overlapping ones are joined", "Range: bytes=0-9,5-14", .part(0..<15)),
    .init("9110 15.3.7.2 touching ones are joined", "Range: bytes=0-9,10-19", .part(0..<20)),
    .init("9110 15.3.7.2 the same twice", "Range: bytes=3-4,3-4", .part(3..<5)),
    .init("9110 15.3.7.2 one within another", "Range: bytes=0-50,10-20", .part(0..<51)),
    .init(
      "9110 15.3.7.2 joined ones stand where the first stood", "Range: bytes=50-59,0-1,55-65",
      .parts([50..<66, 0..<2])),
    .init("9110 15.3.7.2 joined through a third", "Range: bytes=0-9,20-29,5-25", .part(0..<30)),
    .init("9110 14.2 the unsatisfiable ones are left out", "Range: bytes=200-,0-1", .part(0..<2)),
    .init("9110 15.5.17 none is satisfiable", "Range: bytes=200-,-0,300-400", .unsatisfiable),
    .init("9110 14.1.1 one invalid range invalidates", "Range: bytes=0-1,9-8", .whole),
    .init(
      "B10 sixteen parts", "Range: bytes=" + (0..<16).map { "\($0 * 3)-\($0 * 3)" }.joined(separator: ","),
      .parts((0..<16).map { $0 * 3..<($0 * 3 + 1) })),
    .init(
      "B10 more parts are refused by the whole",
      "Range: bytes=" + (0..<17).map { "\($0 * 3)-\($0 * 3)" }.joined(separator: ","), .whole),
    .init(
      "B10 many ranges that come to one", "Range: bytes=" + (0..<100).map { "\($0)-" }.joined(separator: ","),
      .part(0..<100)),
    .init(
      "B10 a thousand ranges", "Range: bytes=" + Array(repeating: "0-", count: 1000).joined(separator: ","),
      .whole),
  ]

  static let conditions: [RangesRow] = [
    .init("9110 13.1.5 If-Range with the same strong tag", "Range: bytes=0-1\nIf-Range: \"a\"", .part(0..<2)),
    .init("9110 13.1.5 another tag: the whole", "Range: bytes=0-1\nIf-Range: \"b\"", .whole),
    .init(
      "9110 13.1.5 another tag: no 416 either", "Range: bytes=500-\nIf-Range: \"b\"", .whole),
    .init("9110 13.1.5 the same tag: 416", "Range: bytes=500-\nIf-Range: \"a\"", .unsatisfiable),
    .init("9110 13.1.5 a weak tag is never the same", "Range: bytes=0-1\nIf-Range: W/\"a\"", .whole),
    .init(
      "9110 13.1.5 nor is one that is stored weak", "Range: bytes=0-1\nIf-Range: \"a\"", .whole,
      response: "ETag: W/\"a\""),
    .init(
      "9110 13.1.5 both weak", "Range: bytes=0-1\nIf-Range: W/\"a\"", .whole, response: "ETag: W/\"a\""),
    .init(
      "9110 13.1.5 a tag, and none is stored", "Range: bytes=0-1\nIf-Range: \"a\"", .whole, response: "A: b"),
    .init("9110 13.1.5 a tag is not found in a list", "Range: bytes=0-1\nIf-Range: \"a\", \"b\"", .whole),
    .init("9110 13.1.5 two If-Range", "Range: bytes=0-1\nIf-Range: \"a\"\nIf-Range: \"a\"", .whole),
    .init(
      "9110 13.1.5 the exact date", "Range: bytes=0-1\nIf-Range: {-60}", .part(0..<2),
      response: "Last-Modified: {-60}"),
    .init(
      "9110 13.1.5 a later date is not the date", "Range: bytes=0-1\nIf-Range: {-59}", .whole,
      response: "Last-Modified: {-60}"),
    .init(
      "9110 13.1.5 an earlier date is not the date", "Range: bytes=0-1\nIf-Range: {-61}", .whole,
      response: "Last-Modified: {-60}"),
    .init(
      "9110 8.8.2.2 a date in the second of Date is weak", "Range: bytes=0-1\nIf-Range: {0}", .whole,
      response: "Last-Modified: {0}"),
    .init(
      "9110 8.8.2.2 a second later it is strong", "Range: bytes=0-1\nIf-Range: {-1}", .part(0..<2),
      response: "Last-Modified: {-1}"),
    .init("9110 13.1.5 a date, and none is stored", "Range: bytes=0-1\nIf-Range: {-60}", .whole),
    .init("9110 13.1.5 neither tag nor date", "Range: bytes=0-1\nIf-Range: a", .whole),
    .init("9110 13.1.5 without Range it means nothing", "If-Range: \"a\"", .whole),
  ]
}

struct ValidatorRow: Row {
  var rule: String
  var fields: String
  var isStrong: Bool

  init(_ rule: String, _ fields: String, _ isStrong: Bool) {
    self.rule = rule
    self.fields = fields
    self.isStrong = isStrong
  }

  static let all: [ValidatorRow] = [
    .init("9110 8.8.3 a strong tag", "ETag: \"a\"", true),
    .init("9110 8.8.3 a weak tag", "ETag: W/\"a\"", false),
    .init("9110 8.8.3 no tag at all", "ETag: a", false),
    .init("9110 8.8.2.2 a date well before Date", "Last-Modified: {-60}", true),
    .init("9110 8.8.2.2 a date at Date", "Last-Modified: {0}", false),
    .init("9110 8.8.2.2 a date in the future", "Last-Modified: {60}", false),
    .init(
      "9110 13.1.5 a weak tag is not made up for by a date", "ETag: W/\"a\"\nLast-Modified: {-60}", false),
    .init("9110 8.8 nothing", "Server: a", false),
  ]
}

@Suite("Ranges of a whole response")
struct RangesTests {
  @Test("a request for ranges is answered", arguments: RangesRow.all)
  func decide(_ row: RangesRow) {
    let answer = Ranges.decide(
      method: row.method, requestFields: fields(row.request), status: row.status,
      fields: fields(row.response),
      date: arrival, length: row.length)
    #expect(answer == row.answer)
  }

  @Test("a validator is strong", arguments: ValidatorRow.all)
  func strong(_ row: ValidatorRow) {
    #expect((StrongValidator(fields(row.fields), date: arrival) != nil) == row.isStrong)
  }

  @Test("random ranges: what is selected is within, apart, and exactly what was asked")
  func random() {
    let seed = SeededGenerator.anySeed()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<3000 {
      let length = Int.random(in: 0..<40, using: &random)
      let specs: [RangeSpec] = (0...Int.random(in: 0..<6, using: &random)).map { _ in
        let first = Int.random(in: 0..<50, using: &random)
        return Int.random(in: 0..<3, using: &random) == 0
          ? .suffix(first) : .from(first, through: first + Int.random(in: 0..<20, using: &random))
      }
      let asked = Set((0..<length).filter { offset in specs.contains { $0.covers(offset, length) } })
      switch Ranges.select(specs, length: length) {
      case .whole: #expect(length == 0)
      case .unsatisfiable: #expect(asked.isEmpty)
      case .part(let range): #expect(asked == Set(range))
      case .parts(let ranges):
        let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
        #expect(zip(sorted, sorted.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
        #expect(asked == Set(ranges.flatMap { Array($0) }))
      }
    }
  }
}

extension RangeSpec {
  /// The rule in its slow, obvious form.
  fileprivate func covers(_ offset: Int, _ length: Int) -> Bool {
    switch self {
    case .from(let first, let last): (first...last).contains(offset)
    case .suffix(let count): offset >= length - count
    }
  }
}
