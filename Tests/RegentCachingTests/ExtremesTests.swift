// Nothing traps, nothing is quadratic, and what is encoded comes back (TRUST B13, D3).

import RegentCaching
import RegentHTTP
import TestKit
import Testing

private let numbers = [
  "0", "1", "2147483647", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808",
  "18446744073709551616", "1" + String(repeating: "0", count: 40), String(repeating: "9", count: 400), "-1",
  "1.5",
  "\"60\"", "", "+1", "0x10", "1,2", "\"", "\\", "=", "١",
]

@Test("B13 no number in any place traps, and none makes a negative age or lifetime", arguments: numbers)
func numericExtremes(number: String) {
  let names = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error", "min-fresh", "max-stale"]
  for name in names {
    for line in ["\(name)=\(number)", "\(name)=\(number), \(name)=\(number)", "\(name)=\(number), \(name)=7"]
    {
      let stored = metadata("Cache-Control: \(line)\nAge: \(number)", delay: .max)
      let request = RequestDirectives(fields("Cache-Control: \(line)"))
      #expect(stored.lifetime >= 0 && stored.initialAge >= 0 && stored.staleIfError >= 0)
      for now in [Int64.min, -1, 0, arrival, arrival + 1, .max] {
        for policy in [
          CachePolicy(), .of(ttl: .max, stale: .max, staleIfError: .max), .of(ttl: .min, stale: .min),
        ] {
          _ = Reuse.decide(stored, request: request, policy: policy, now: now)
          _ = StaleIfError.decide(stored, request: request, policy: policy, failure: .unreachable, now: now)
          _ = stored.remainingFreshness(policy: policy, now: now)
        }
      }
    }
  }
}

@Test("times at the ends of Int64 do not trap")
func timeExtremes() {
  let ends: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
  for requestTime in ends {
    for responseTime in ends {
      let stored = StoredMetadata(
        status: 200, fields: fields("Expires: {9}\nLast-Modified: {-9}\nAge: 99999999999"),
        requestTime: requestTime,
        responseTime: responseTime, policy: CachePolicy())
      for now in ends { #expect(stored.currentAge(now: now) >= 0) }
    }
  }
}

@Test("B13 odd dates in every place are stale or ignored and do not trap")
func oddDates() {
  let dates = [
    "0", "-1", "Tue, 14 Nov 2023 22:13:20 UTC", "Tue, 31 Feb 2023 22:13:20 GMT",
    "Tue, 14 Nov 99999 22:13:20 GMT",
    "Tue, 14 Nov 2023 25:13:20 GMT", "Tuesday, 14-Nov-23 22:13:20 GMT", "Tue Nov 14 22:13:20 2023",
    "14 Nov 2023", "GMT",
    "Mon, 01 Jan 0000 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Tue, 14 Nov 2023 22:13:60 GMT", "",
  ]
  for expires in dates {
    for other in dates {
      let stored = metadata("Date: \(other)\nExpires: \(expires)\nLast-Modified: \(other)")
      #expect(stored.lifetime >= 0 && stored.initialAge >= 0)
    }
  }
}

@Test("metadata comes back from its bytes as it was")
func roundTrip() {
  let seed: UInt64 = 20_261_121
  var generator = SeededGenerator(seed: seed)
  for _ in 0..<10_000 {
    let stored = StoredMetadata(
      status: UInt16(200 + generator.next() % 400),
      flags: StoredMetadata.Flags(rawValue: UInt16(truncatingIfNeeded: generator.next())),
      responseTime: Int64(bitPattern: generator.next()), date: Int64(bitPattern: generator.next()),
      initialAge: Int32(generator.next() >> 33), lifetime: Int32(generator.next() >> 33),
      staleWhileRevalidate: Int32(generator.next() >> 33), staleIfError: Int32(generator.next() >> 33))
    var bytes: [UInt8] = []
    stored.encode(onto: &bytes)
    #expect(bytes.count == StoredMetadata.encodedCount, "seed \(seed)")
    bytes.append(1)
    #expect(decoded(bytes) == stored, "seed \(seed)")
  }
}

@Test("bytes that cannot be metadata are nil, and random ones cannot make a decision trap")
func damagedMetadata() {
  let seed: UInt64 = 7
  var generator = SeededGenerator(seed: seed)
  #expect(StoredMetadata.encodedCount <= 40)
  for count in 0..<StoredMetadata.encodedCount {
    #expect(decoded([UInt8](repeating: 200, count: count)) == nil)
  }
  #expect(decoded([UInt8](repeating: 0, count: 64)) == nil)
  #expect(decoded([UInt8](repeating: 255, count: 64)) == nil)
  for _ in 0..<100_000 {
    let bytes = (0..<StoredMetadata.encodedCount).map { index in
      index == 1 ? UInt8(1) : UInt8(truncatingIfNeeded: generator.next())
    }
    guard let stored = decoded(bytes) else { continue }
    let now = Int64(bitPattern: generator.next())
    _ = Reuse.decide(stored, request: .none, policy: .of(ttl: 5, stale: .max), now: now)
    #expect(stored.currentAge(now: now) >= 0, "seed \(seed)")
  }
}

struct LinearRow: Row {
  var rule: String
  var run: @Sendable (Int) -> Void

  init(_ rule: String, _ run: @escaping @Sendable (Int) -> Void) {
    self.rule = rule
    self.run = run
  }

  private static func list(_ member: (Int) -> String, _ count: Int) -> String {
    (0..<count).map(member).joined(separator: ",")
  }

  static let all: [LinearRow] = [
    .init("Cache-Control of a response") {
      _ = ResponseDirectives(fields("Cache-Control: " + list({ "a\($0)=\"b\"" }, $0)))
    },
    .init("Cache-Control of a request") {
      _ = RequestDirectives(fields("Cache-Control: " + list({ "a\($0)" }, $0)))
    },
    .init("a targeted field") {
      _ = ResponseDirectives(fields("CDN-Cache-Control: " + list({ "a\($0)=\"b\";c" }, $0)))
    },
    .init("a targeted field with one key over and over") {
      _ = ResponseDirectives(fields("CDN-Cache-Control: " + list({ _ in "max-age=1" }, $0)))
    },
    .init("a targeted field on many lines") {
      _ = ResponseDirectives(
        fields((0..<$0 / 10).map { _ in "CDN-Cache-Control: private=\"a\"" }.joined(separator: "\n")))
    },
    .init("an inner list") {
      _ = ResponseDirectives(fields("CDN-Cache-Control: a=(" + String(repeating: "1 ", count: $0) + ")"))
    },
    .init("commas alone") { _ = ResponseDirectives(fields("Cache-Control: " + list({ _ in "" }, $0))) },
    .init("unclosed quotes") {
      _ = ResponseDirectives(fields("Cache-Control: " + list({ _ in "a=\"" }, $0)))
    },
    .init("backslashes") {
      _ = ResponseDirectives(fields("Cache-Control: a=\"" + String(repeating: "\\", count: $0)))
    },
    .init("one name over and over in Vary") {
      var encoded: [UInt8] = []
      _ = Vary.encode(
        responseFields: fields("Vary: " + list({ _ in "a" }, $0)), requestFields: fields("A: 1"),
        onto: &encoded)
    },
    .init("the selecting value") {
      var encoded: [UInt8] = []
      _ = Vary.encode(
        responseFields: fields("Vary: a"), requestFields: fields("A:" + list({ _ in " a" }, $0)),
        onto: &encoded)
    },
    .init("If-None-Match") {
      let request = fields("If-None-Match: " + list({ "\"\($0)\"" }, $0))
      let tag = Array("\"x\"".utf8)
      _ = Validation.answersNotModified(
        requestFields: request, stored: metadata(""), etag: tag.span, lastModified: Span())
    },
    .init("names in Connection") {
      var shared: [UInt8] = []
      var own: [UInt8] = []
      StoredFields.split(fields("X-A: 1\nConnection: " + list({ "n\($0)" }, $0)), shared: &shared, own: &own)
    },
    .init("names in private") {
      var shared: [UInt8] = []
      var own: [UInt8] = []
      StoredFields.split(
        fields("X-A: 1\nCache-Control: private=\"" + list({ "n\($0)" }, $0) + "\""), shared: &shared,
        own: &own)
    },
  ]
}

@Test("D3 a list of 100,000 members costs no more than its length", arguments: LinearRow.all)
func linear(row: LinearRow) {
  // Linear work takes milliseconds; 10^10 steps would take minutes in a test build, on the fastest machine.
  let elapsed = (0..<3).map { _ in ContinuousClock().measure { row.run(100_000) } }.min()
  #expect(elapsed ?? .zero < .seconds(2))
}
