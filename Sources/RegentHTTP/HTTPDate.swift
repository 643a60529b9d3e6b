// The dates of HTTP (RFC 9110 section 5.6.7): read in three formats, written in one, never through a String.
// Seconds since 1970 come in and go out; the clock is somebody else's.

/// Dates as HTTP writes them.
public enum HTTPDate {
  /// The seconds since 1970 that the value names; nil where it is in none of the three formats.
  ///
  /// Letters match in any case, and only GMT is a zone (RFC 9111 section 4.2). `now`, in seconds since
  /// 1970, decides the century of a year of two digits: one that would lie more than 50 years ahead is past.
  public static func parse(_ value: ArraySlice<UInt8>, now: Int64) -> Int64? {
    if let seconds = preferred(value.span) { return seconds }
    var reader = DateReader(value)
    return reader.read(now: now)
  }

  /// Writes the date in the preferred format, 29 bytes long; years outside 0 to 9999 are clamped.
  public static func append(_ seconds: Int64, to bytes: inout [UInt8]) {
    let seconds = min(max(seconds, -62_167_219_200), 253_402_300_799)
    let days = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
    let time = Int(seconds - days * 86_400)
    let date = CivilDate(days: days)
    bytes.append(addingCapacity: 29) { output in
      append(names: weekdays, Int(((days % 7) + 11) % 7), to: &output)
      output.append(0x2C)
      output.append(0x20)
      append(two: date.day, then: 0x20, to: &output)
      append(names: months, date.month - 1, to: &output)
      output.append(0x20)
      append(two: date.year / 100, then: nil, to: &output)
      append(two: date.year % 100, then: 0x20, to: &output)
      append(two: time / 3600, then: 0x3A, to: &output)
      append(two: time / 60 % 60, then: 0x3A, to: &output)
      append(two: time % 60, then: 0x20, to: &output)
      output.append(0x47)
      output.append(0x4D)
      output.append(0x54)
    }
  }

  /// The date in the preferred format, spelled as everybody spells it; nil for every other, which may be a date still.
  private static func preferred(_ text: Span<UInt8>) -> Int64? {
    guard text.count == 29 else { return nil }
    // `Sun, 06 Nov 1994 08:49:37 GMT`, four words of it: what stands between the digits and names first.
    let (day, month, time, end) = (text.word(at: 0), text.word(at: 8), text.word(at: 16), text.word(at: 21))
    guard day & 0xFF00_00FF_FF00_0000 == 0x2000_0020_2C00_0000, month & 0xFF00_0000 == 0x2000_0000,
      time & 0x00FF_0000_FF00_00FF == 0x003A_0000_3A00_0020,
      end & 0xFFFF_FFFF_0000_FF00 == 0x544D_4720_0000_3A00,
      weekdayWords.contains(UInt32(truncatingIfNeeded: day) & 0xFF_FFFF),
      let month = monthWords.firstIndex(of: UInt32(truncatingIfNeeded: month) & 0xFF_FFFF),
      let day = two(text, 5), let century = two(text, 12), let year = two(text, 14),
      let hour = two(text, 17), let minute = two(text, 20), let second = two(text, 23),
      hour < 24, minute < 60, second <= 60
    else { return nil }
    let date = CivilDate(year: century * 100 + year, month: month + 1, day: day)
    return date.isValid ? date.days * 86_400 + Int64(hour * 3600 + minute * 60 + second) : nil
  }

  @inline(__always)
  private static func two(_ text: Span<UInt8>, _ offset: Int) -> Int? {
    let (first, second) = (text[offset] &- 0x30, text[offset &+ 1] &- 0x30)
    return first < 10 && second < 10 ? Int(first) &* 10 &+ Int(second) : nil
  }

  private static let weekdayWords = words(weekdays)
  private static let monthWords = words(months)

  /// Each name of three letters as a number, its first letter lowest.
  private static func words(_ names: [UInt8]) -> [UInt32] {
    stride(from: 0, to: names.count, by: 3).map {
      UInt32(names[$0]) | UInt32(names[$0 + 1]) << 8 | UInt32(names[$0 + 2]) << 16
    }
  }

  // 1970-01-01 was a Thursday, and so 11 days after a Sunday is the offset above.
  static let weekdays = Array("SunMonTueWedThuFriSat".utf8)
  static let months = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)

  private static func append(names: [UInt8], _ index: Int, to output: inout OutputSpan<UInt8>) {
    for place in index * 3..<index * 3 + 3 { output.append(names[place]) }
  }

  private static func append(two number: Int, then separator: UInt8?, to output: inout OutputSpan<UInt8>) {
    output.append(0x30 &+ UInt8(truncatingIfNeeded: number / 10))
    output.append(0x30 &+ UInt8(truncatingIfNeeded: number % 10))
    if let separator { output.append(separator) }
  }
}

/// A day of the proleptic Gregorian calendar.
struct CivilDate: Equatable, Sendable {
  var year: Int
  var month: Int
  var day: Int

  init(year: Int, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// The date so many days after 1970-01-01, counted in eras of 400 years that begin in March.
  init(days: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
    year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
  }

  /// Whether the month has such a day.
  var isValid: Bool {
    guard (1...12).contains(month), day >= 1 else { return false }
    switch month {
    case 2: return day <= (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28)
    case 4, 6, 9, 11: return day <= 30
    default: return day <= 31
    }
  }

  /// Days since 1970-01-01, for years of 0 to 9999.
  var days: Int64 {
    let shiftedYear = Int64(month <= 2 ? year - 1 : year)
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
