// Reads the three date formats of RFC 9110 section 5.6.7 from left to right, byte by byte.
// Each step says nil where the bytes are not what the format asks for; nothing can run past the end.

/// A reader of one date.
struct DateReader {
  private let bytes: ArraySlice<UInt8>
  private var index: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    index = bytes.startIndex
  }

  /// The seconds since 1970, or nil.
  mutating func read(now: Int64) -> Int64? {
    guard name(HTTPDate.weekdays) != nil else { return nil }
    switch byte {
    case 0x2C: return fixed()
    case 0x20: return ascii()
    default: return obsolete(now: now)
    }
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`.
  private mutating func fixed() -> Int64? {
    guard skip(", "), let day = number(2), skip(" "), let month = name(HTTPDate.months), skip(" "),
      let year = number(4), skip(" "), let time = time(), skip(" gmt")
    else { return nil }
    return seconds(CivilDate(year: year, month: month + 1, day: day), time)
  }

  /// `Sun Nov  6 08:49:37 1994`.
  private mutating func ascii() -> Int64? {
    guard skip(" "), let month = name(HTTPDate.months), skip(" ") else { return nil }
    let digits = byte == 0x20 ? 1 : 2
    guard digits == 2 || skip(" "), let day = number(digits), skip(" "), let time = time(), skip(" "),
      let year = number(4)
    else { return nil }
    return seconds(CivilDate(year: year, month: month + 1, day: day), time)
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`; the three letters of the day are read already.
  private mutating func obsolete(now: Int64) -> Int64? {
    guard restOfWeekday(), skip(", "), let day = number(2), skip("-"), let month = name(HTTPDate.months),
      skip("-"), let short = number(2), skip(" "), let time = time(), skip(" gmt")
    else { return nil }
    let today = CivilDate(days: min(max(now, 0), 253_402_300_799) / 86_400)
    let date = CivilDate(year: today.year - today.year % 100 + short, month: month + 1, day: day)
    var best: Int64?
    // The latest year with these digits that is not more than 50 years ahead.
    for century in [-100, 0, 100] {
      let candidate = CivilDate(year: date.year + century, month: date.month, day: date.day)
      let limit = CivilDate(year: today.year + 50, month: today.month, day: min(today.day, 28))
      guard candidate.isValid, candidate.days <= limit.days || century < 0 else { continue }
      best = candidate.days
    }
    return best.flatMap { isAtEnd ? $0 * 86_400 + Int64(time) : nil }
  }

  private func seconds(_ date: CivilDate, _ time: Int) -> Int64? {
    guard date.isValid, isAtEnd else { return nil }
    return date.days * 86_400 + Int64(time)
  }

  private var isAtEnd: Bool { index == bytes.endIndex }
  private var byte: UInt8? { isAtEnd ? nil : bytes[index] }

  /// The letters that end a weekday's long name.
  private mutating func restOfWeekday() -> Bool {
    let start = bytes.startIndex
    for rest in ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"] {
      guard rest.utf8.count <= bytes.count else { continue }
      if bytes[start..<start + rest.utf8.count].equalsIgnoringCase(rest.utf8) {
        index = start + rest.utf8.count
        return true
      }
    }
    return false
  }

  /// The place of a three-letter name in a table.
  private mutating func name(_ table: [UInt8]) -> Int? {
    guard bytes.endIndex - index >= 3 else { return nil }
    let first = bytes[index].asciiLowercased
    let second = bytes[index + 1].asciiLowercased
    let third = bytes[index + 2].asciiLowercased
    var place = 0
    while place < table.count {
      if table[place] | 0x20 == first, table[place + 1] == second, table[place + 2] == third {
        index += 3
        return place / 3
      }
      place += 3
    }
    return nil
  }

  private mutating func skip(_ lowercased: String) -> Bool {
    for wanted in lowercased.utf8 {
      guard byte?.asciiLowercased == wanted else { return false }
      index += 1
    }
    return true
  }

  private mutating func number(_ digits: Int) -> Int? {
    guard bytes.endIndex - index >= digits, let value = Decimal.parse(bytes[index..<index + digits]) else {
      return nil
    }
    index += digits
    return value
  }

  /// `08:49:37` as seconds of the day; a leap second counts as the next one.
  private mutating func time() -> Int? {
    guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2),
      hour < 24, minute < 60, second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + second
  }
}
