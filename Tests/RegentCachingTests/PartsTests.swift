// What stored parts answer, what is missing for the rest, and how parts are combined (RFC 9111 sections 3.3 and 3.4).

import RegentCaching
import RegentHTTP
import TestKit
import Testing

struct PartsRow: Row {
  var rule: String
  var parts: Parts?
  var request: String
  var answer: Parts.Answer

  init(
    _ rule: String, _ ranges: [Range<Int>], of complete: Int? = 100, _ request: String, _ answer: Parts.Answer
  ) {
    self.rule = rule
    parts = Parts(ranges, complete: complete)
    self.request = request
    self.answer = answer
  }

  static let all: [PartsRow] = [
    .init("9111 3.3 the stored range", [10..<20], "Range: bytes=10-19", .serve),
    .init("9111 3.3 a smaller range", [10..<20], "Range: bytes=12-13", .serve),
    .init("9111 3.3 an open end that is stored", [90..<100], "Range: bytes=95-", .serve),
    .init("9111 3.3 a suffix that is stored", [90..<100], "Range: bytes=-10", .serve),
    .init("9111 3.3 a smaller suffix", [90..<100], "Range: bytes=-1", .serve),
    .init("9111 3.3 a last beyond the end", [90..<100], "Range: bytes=95-200", .serve),
    .init("9111 3.3 several, all stored", [10..<20, 40..<50], "Range: bytes=40-41,11-12", .serve),
    .init("9110 15.5.17 beyond a known length", [10..<20], "Range: bytes=100-", .serve),
    .init("9111 3.3 of unknown length", [10..<20], of: nil, "Range: bytes=10-19", .serve),
    .init("9111 3.3 a suffix of unknown length", [10..<20], of: nil, "Range: bytes=-5", .forward),
    .init("9111 3.3 beyond an unknown length", [10..<20], of: nil, "Range: bytes=50-", .forward),
    .init("9111 3.4 nothing of it is stored", [10..<20], "Range: bytes=50-60", .forward),
    .init("9111 3.4 several, one not stored", [10..<20], "Range: bytes=11-12,50-60", .forward),
    .init(
      "9111 3.4 the end of it is missing", [10..<20], "Range: bytes=15-29", .fetch(.init(first: 20, last: 29))
    ),
    .init(
      "9111 3.4 the start of it is missing", [10..<20], "Range: bytes=5-15", .fetch(.init(first: 5, last: 9))),
    .init(
      "9111 3.4 a hole in it is missing", [10..<20, 30..<40], "Range: bytes=15-35",
      .fetch(.init(first: 20, last: 29))),
    .init("9111 3.4 both ends are missing", [10..<20], "Range: bytes=5-25", .forward),
    .init(
      "9111 3.4 an open end is missing", [10..<20], "Range: bytes=15-", .fetch(.init(first: 20, last: nil))),
    .init(
      "9111 3.4 an open end of unknown length", [10..<20], of: nil, "Range: bytes=15-",
      .fetch(.init(first: 20, last: nil))),
    .init("9111 3.3 the whole, the end is missing", [0..<50], "", .fetch(.init(first: 50, last: nil))),
    .init("9111 3.3 the whole, the start is missing", [50..<100], "", .fetch(.init(first: 0, last: 49))),
    .init("9111 3.3 the whole, a hole", [0..<10, 90..<100], "", .fetch(.init(first: 10, last: 89))),
    .init(
      "9111 3.3 the whole, of unknown length", [0..<50], of: nil, "", .fetch(.init(first: 50, last: nil))),
    .init("9111 3.3 the whole, two pieces are missing", [10..<20], "", .forward),
    .init("9111 3.3 the whole, start and unknown end", [10..<20], of: nil, "", .forward),
    .init(
      "9110 14.2 a Range that is ignored asks for the whole", [0..<50], "Range: bytes=3-2",
      .fetch(.init(first: 50, last: nil))),
    .init("9110 13.1.5 If-Range holds", [10..<20], "Range: bytes=10-11\nIf-Range: \"a\"", .serve),
    .init(
      "9110 13.1.5 If-Range does not hold: the whole", [0..<50], "Range: bytes=10-11\nIf-Range: \"b\"",
      .fetch(.init(first: 50, last: nil))),
  ]
}

struct ReceivedRow: Row {
  var rule: String
  var contentRange: String
  var count: Int
  var isExact: Bool
  var parts: Parts?

  init(_ rule: String, _ contentRange: String, _ count: Int, isExact: Bool = true, _ parts: Parts?) {
    self.rule = rule
    self.contentRange = contentRange
    self.count = count
    self.isExact = isExact
    self.parts = parts
  }

  static let all: [ReceivedRow] = [
    .init("9111 3.3 a part", "Content-Range: bytes 5-9/10", 5, Parts([5..<10], complete: 10)),
    .init("9111 3.3 of unknown length", "Content-Range: bytes 5-9/*", 5, Parts([5..<10], complete: nil)),
    .init("9110 15.3.7 without Content-Range", "Server: a", 5, nil),
    .init("9110 15.3.7 with two", "Content-Range: bytes 5-9/10\nContent-Range: bytes 5-9/10", 5, nil),
    .init("9110 14.4 an invalid one", "Content-Range: bytes 9-5/10", 5, nil),
    .init("9110 15.3.7 an unsatisfied one", "Content-Range: bytes */10", 5, nil),
    .init("9110 15.3.7 more content than it says", "Content-Range: bytes 5-9/10", 6, nil),
    .init("9110 15.3.7 without content", "Content-Range: bytes 5-9/10", 0, nil),
    .init(
      "9111 3.3 less content: the start counts", "Content-Range: bytes 4-9/10", 5, Parts([4..<9], complete: 9)
    ),
    .init(
      "9111 3.3 less content, not at the end", "Content-Range: bytes 4-8/10", 4, Parts([4..<8], complete: nil)
    ),
    .init(
      "9111 3.3 less content is never the whole", "Content-Range: bytes 0-9/10", 5,
      Parts([0..<5], complete: nil)),
    .init("9111 3.3 less content without a proof", "Content-Range: bytes 4-9/10", 5, isExact: false, nil),
  ]
}

struct CompletionRow: Row {
  var rule: String
  var answer: String
  var count: Int?
  var parts: Parts?
  var stored: [Range<Int>]
  var complete: Int?
  var validator: String

  init(
    _ rule: String, _ answer: String, count: Int? = 50, _ parts: [Range<Int>]?,
    stored: [Range<Int>] = [0..<50],
    of complete: Int? = 100, validator: String = "ETag: \"a\""
  ) {
    self.rule = rule
    self.answer = answer
    self.count = count
    self.parts = parts.flatMap { Parts($0, complete: 100) }
    self.stored = stored
    self.complete = complete
    self.validator = validator
  }

  static let all: [CompletionRow] = [
    .init("9111 3.4 the missing part", "ETag: \"a\"\nContent-Range: bytes 50-99/100", [0..<100]),
    .init("9111 3.4 it says the length", "ETag: \"a\"\nContent-Range: bytes 50-99/100", [0..<100], of: nil),
    .init(
      "9111 3.4 a hole", "ETag: \"a\"\nContent-Range: bytes 10-59/100", [0..<100], stored: [0..<10, 60..<100]),
    .init("9111 3.4 another tag", "ETag: \"b\"\nContent-Range: bytes 50-99/100", nil),
    .init(
      "9111 3.4 a weak tag", "ETag: W/\"a\"\nContent-Range: bytes 50-99/100", nil, validator: "ETag: W/\"a\""),
    .init("9111 3.4 no tag in the answer", "Content-Range: bytes 50-99/100", nil),
    .init("9111 3.4 no tag at all", "Content-Range: bytes 50-99/100", nil, validator: "Server: a"),
    .init(
      "9111 3.4 the same strong date", "Last-Modified: {-60}\nContent-Range: bytes 50-99/100", [0..<100],
      validator: "Last-Modified: {-60}"),
    .init(
      "9111 3.4 another date", "Last-Modified: {-59}\nContent-Range: bytes 50-99/100", nil,
      validator: "Last-Modified: {-60}"),
    .init(
      "9110 15.3.7 another range", "ETag: \"a\"\nContent-Range: bytes 51-99/100", count: 49, nil),
    .init("9110 15.3.7 a shorter range", "ETag: \"a\"\nContent-Range: bytes 50-98/100", count: 49, nil),
    .init("9110 15.3.7 no range", "ETag: \"a\"", nil),
    .init("B10 the length contradicts", "ETag: \"a\"\nContent-Range: bytes 50-99/101", nil),
    .init("B10 less content", "ETag: \"a\"\nContent-Range: bytes 50-99/100", count: 49, nil),
    .init("B10 more content", "ETag: \"a\"\nContent-Range: bytes 50-99/100", count: 51, nil),
    .init("B10 content of unknown length", "ETag: \"a\"\nContent-Range: bytes 50-99/100", count: nil, nil),
  ]
}

@Suite("Parts of a response")
struct PartsTests {
  @Test("stored parts answer, or say what is missing", arguments: PartsRow.all)
  func answer(_ row: PartsRow) throws {
    let parts = try #require(row.parts)
    let answer = parts.answer(fields(row.request), fields: fields("ETag: \"a\""), date: arrival)
    #expect(answer == row.answer)
  }

  @Test("a 206 is a part by its Content-Range and its content", arguments: ReceivedRow.all)
  func received(_ row: ReceivedRow) {
    let parts = Parts(received: fields(row.contentRange), bodyCount: row.count, isExact: row.isExact)
    #expect(parts == row.parts)
  }

  @Test("an answer completes stored parts, or does not belong to them", arguments: CompletionRow.all)
  func completion(_ row: CompletionRow) throws {
    let parts = try #require(Parts(row.stored, complete: row.complete))
    guard case .fetch(let gap) = parts.answer(Fields(), fields: Fields(), date: arrival) else {
      Issue.record("nothing is missing")
      return
    }
    let combined = parts.completed(
      gap, by: fields(row.answer), bodyCount: row.count,
      validator: StrongValidator(fields(row.validator), date: arrival), date: arrival)
    #expect(combined?.0 == row.parts)
    #expect(combined?.0.isWhole ?? true)
  }

  @Test("the request for a missing piece names it")
  func gap() {
    #expect(Parts.Gap(first: 5, last: nil).range == Array("bytes=5-".utf8))
    #expect(Parts.Gap(first: 0, last: 4).range == Array("bytes=0-4".utf8))
  }

  @Test("a stored range is found in the stored body")
  func offsets() throws {
    let parts = try #require(Parts([10..<20, 30..<40], complete: 100))
    #expect(parts.offset(of: 10..<20) == 0 && parts.offset(of: 12..<13) == 2)
    #expect(parts.offset(of: 30..<40) == 10 && parts.offset(of: 39..<40) == 19)
    #expect(parts.offset(of: 19..<31) == nil && parts.offset(of: 20..<21) == nil)
  }

  @Test("parts are written into fields and read back; a body of another length is not theirs")
  func fieldsOfParts() throws {
    let parts = try #require(Parts([10..<20, 30..<40], complete: 100))
    var stored = Fields()
    for value in parts.contentRanges { stored.append(.contentRange, value) }
    #expect(Parts(stored: stored, bodyCount: 20) == parts)
    #expect(Parts(stored: stored, bodyCount: 21) == nil)
  }

  @Test("what are no parts: none, unsorted, touching, empty, beyond the length, too many")
  func invalid() {
    #expect(Parts([], complete: 10) == nil)
    #expect(Parts([5..<6, 1..<2], complete: 10) == nil)
    #expect(Parts([1..<2, 2..<3], complete: 10) == nil)
    #expect(Parts([1..<1], complete: 10) == nil)
    #expect(Parts([1..<11], complete: 10) == nil)
    #expect(Parts((0...Parts.maximum).map { $0 * 2..<$0 * 2 + 1 }, complete: nil) == nil)
  }

  @Test("random parts combined: each byte comes from the newer one where it has it")
  func random() throws {
    let seed = SeededGenerator.anySeed()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      var all = (0..<60).map { _ in Bool.random(using: &random) }
      all[0] = true
      let ranges = runs(all)
      guard let parts = Parts(ranges, complete: 60) else { continue }
      let start = Int.random(in: 0..<59, using: &random)
      let new = start..<(start + 1 + Int.random(in: 0..<(60 - start), using: &random))
      guard let (joined, stretches) = parts.combined(with: new, complete: 60) else { continue }
      for offset in new { all[offset] = true }
      #expect(joined.ranges == runs(all))
      #expect(joined.isWhole == all.allSatisfy { $0 })
      #expect(stretches.flatMap { Array($0.range) } == all.indices.filter { all[$0] })
      #expect(stretches.filter(\.isNew).map(\.range) == [new])
      #expect(stretches.allSatisfy { $0.isNew || parts.offset(of: $0.range) != nil })
    }
  }

  private func runs(_ present: [Bool]) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    for (offset, isPresent) in present.enumerated() where isPresent {
      if let last = runs.last, last.upperBound == offset {
        runs[runs.count - 1] = last.lowerBound..<offset + 1
      } else {
        runs.append(offset..<offset + 1)
      }
    }
    return runs
  }
}
