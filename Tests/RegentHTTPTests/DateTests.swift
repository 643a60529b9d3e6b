// Dates in and out (RFC 9110 section 5.6.7).

import TestKit
import Testing

@testable import RegentHTTP

private let then: Int64 = 784_111_777

@Suite struct DateTests {
  private func parse(_ text: String, now: Int64 = 1_700_000_000) -> Int64? {
    HTTPDate.parse(Array(text.utf8)[...], now: now)
  }

  private func write(_ seconds: Int64) -> String {
    var bytes: [UInt8] = []
    HTTPDate.append(seconds, to: &bytes)
    return text(bytes)
  }

  @Test(
    "a date is read in three formats and any case",
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "sun, 06 nov 1994 08:49:37 gmt", "SUNDAY, 06-NOV-94 08:49:37 GMT", "Mon, 06 Nov 1994 08:49:37 GMT",
    ])
  func formats(_ date: String) { #expect(parse(date) == then) }

  @Test(
    "what is no date is refused",
    arguments: [
      "", "0", "-1", "784111777", "Sun", "Sun,", "Sun, 06 Nov 1994", "Sun, 6 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000",
      "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
      "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
      "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
      "Foo, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov +994 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT",
      "Sun  06 Nov 1994 08:49:37 GMT", "Sund, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
      "Sunday, 30-Feb-94 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov 06 08:49:37 94",
      "Sun Nov  6 08:49:37 1994 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT", "Sunday", "Sunday,", "Sun\u{00}",
    ])
  func refused(_ date: String) { #expect(parse(date) == nil) }

  @Test(
    "a date as everybody writes it is read by words as it is byte by byte, and so is one that is nearly so")
  func byWords() {
    let seed = SeededGenerator.anySeed()
    var random = SeededGenerator(seed: seed)
    for _ in 0..<20_000 {
      var date = Array(write(Int64.random(in: -62_167_219_200...253_402_300_799, using: &random)).utf8)
      let whole = date
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let near = [
          date[0], 0x20, 0x2F, 0x30, 0x39, 0x3A, 0x41, 0x6E, UInt8.random(in: 0...255, using: &random),
        ]
        date[Int.random(in: 0..<date.count, using: &random)] = near.randomElement(using: &random) ?? 0
      }
      var reader = DateReader(date[...])
      let expected = reader.read(now: then)
      #expect(HTTPDate.parse(date[...], now: then) == expected, "\(text(date)), seed \(seed)")
      if date == whole { #expect(expected != nil) }
    }
  }

  @Test("a year of two digits is at most 50 years ahead")
  func century() {
    // Now is the 1st of January 2026.
    let now: Int64 = 1_767_225_600
    #expect(parse("Sunday, 06-Nov-75 08:49:37 GMT", now: now).map(write)?.contains("2075") == true)
    #expect(parse("Sunday, 06-Nov-77 08:49:37 GMT", now: now).map(write)?.contains("1977") == true)
    #expect(parse("Sunday, 06-Nov-26 08:49:37 GMT", now: now).map(write)?.contains("2026") == true)
    #expect(parse("Sunday, 06-Nov-00 08:49:37 GMT", now: now).map(write)?.contains("2000") == true)
    // The same near a turn of the century, and for clocks that are absurd.
    #expect(parse("Sunday, 06-Nov-01 08:49:37 GMT", now: 4_070_908_800).map(write)?.contains("2101") == true)
    for clock in [Int64.min, -1, 0, Int64.max] { _ = parse("Sunday, 06-Nov-94 08:49:37 GMT", now: clock) }
  }

  @Test("a date is written in the preferred format")
  func written() {
    #expect(write(then) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(write(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
    #expect(write(-1) == "Wed, 31 Dec 1969 23:59:59 GMT")
    #expect(write(951_782_400) == "Tue, 29 Feb 2000 00:00:00 GMT")
    #expect(write(253_402_300_799) == "Fri, 31 Dec 9999 23:59:59 GMT")
    #expect(write(.max) == write(253_402_300_799))
    #expect(write(.min) == "Sat, 01 Jan 0000 00:00:00 GMT")
  }

  @Test("what is written is read again")
  func roundTrip() {
    let seed = SeededGenerator.anySeed()
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      let seconds = Int64.random(in: -62_167_219_200...253_402_300_799, using: &generator)
      #expect(parse(write(seconds)) == seconds, "seed \(seed)")
    }
  }

  @Test("days follow each other without a gap over 400 years")
  func calendar() {
    var expected = CivilDate(year: 1800, month: 1, day: 1)
    for day in expected.days..<expected.days + 146_097 {
      let date = CivilDate(days: day)
      guard date == expected, date.days == day, date.isValid else {
        Issue.record("\(date) is not \(expected)")
        return
      }
      expected.day += 1
      guard !expected.isValid else { continue }
      expected = CivilDate(year: expected.year, month: expected.month + 1, day: 1)
      if !expected.isValid { expected = CivilDate(year: expected.year + 1, month: 1, day: 1) }
    }
    #expect(expected == CivilDate(year: 2200, month: 1, day: 1))
  }

  @Test("a leap second is the second after it")
  func leapSecond() {
    #expect(parse("Sat, 31 Dec 2016 23:59:60 GMT") == parse("Sun, 01 Jan 2017 00:00:00 GMT"))
  }
}

@Suite struct DecimalTests {
  @Test("a number is digits alone and fits")
  func numbers() {
    func parse(_ text: String) -> Int? { Decimal.parse(Array(text.utf8)[...]) }
    #expect(parse("0") == 0)
    #expect(parse("007") == 7)
    #expect(parse("9223372036854775807") == .max)
    for bad in [
      "", "+5", "-5", " 5", "5 ", "5_0", "0x5", "9223372036854775808", "99999999999999999999", "12/", "٣",
    ] {
      #expect(parse(bad) == nil, "\(bad)")
    }
  }

  @Test(
    "a number is written as it reads", arguments: [0, 9, 10, 99, 100, 1_234_567_890, -1, Int.max, Int.min])
  func written(_ number: Int) {
    var bytes: [UInt8] = []
    Decimal.append(number, to: &bytes)
    #expect(text(bytes) == "\(number)")
  }
}
