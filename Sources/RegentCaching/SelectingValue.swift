// The normalized value of a request field, for Vary (RFC 9111 section 4.1): its lines joined with a comma,
// without white space around commas. What is inside a quoted string stays as it is. Nothing is built: the bytes
// go one by one to whoever stores or compares them.

import RegentHTTP

/// The bytes of a field's value in the form in which two values are compared.
enum SelectingValue {
  /// Gives the bytes to `take` until it says false.
  ///
  /// - Returns: Whether the field occurs at all.
  @inline(__always)
  static func forEachByte(
    of fields: Fields, isNamed: (FieldLine) -> Bool, _ take: (UInt8) -> Bool
  ) -> Bool {
    var isPresent = false
    for line in fields.lines where isNamed(line) {
      if isPresent, !take(.comma) { return true }
      isPresent = true
      if !forEachByte(fields.bytes, line.valueRange, take) { return true }
    }
    return isPresent
  }

  @inline(__always)
  private static func forEachByte(_ bytes: [UInt8], _ range: Range<Int>, _ take: (UInt8) -> Bool) -> Bool {
    var isQuoted = false
    var isEscaped = false
    // The blanks before `index` that count only if something other than a comma follows.
    var blanks = range.lowerBound
    var isAfterComma = true
    for index in range {
      let byte = bytes[index]
      if !isQuoted, byte.isBlank { continue }
      if !isQuoted, byte != .comma, !isAfterComma {
        for blank in blanks..<index where !take(bytes[blank]) { return false }
      }
      guard take(byte) else { return false }
      isAfterComma = !isQuoted && byte == .comma
      blanks = index + 1
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == .backslash {
        isEscaped = true
      } else if byte == .quote {
        isQuoted.toggle()
      }
    }
    return true
  }
}
