// The items, inner lists and parameters of RFC 9651 section 4.2, over bytes that may be anything. Every function
// moves forward only, or gives nil and is not called again.

/// A position in a structured field's value.
struct StructuredParser {
  private let bytes: [UInt8]
  private var position: Int
  private let end: Int

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    position = range.lowerBound
    end = min(range.upperBound, bytes.count)
  }

  var isAtEnd: Bool { position >= end }
  var peek: UInt8? { position < end ? bytes[position] : nil }

  mutating func consume(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    position += 1
    return true
  }

  @discardableResult
  mutating func skip(_ belongs: (UInt8) -> Bool) -> Range<Int> {
    let start = position
    while position < end, belongs(bytes[position]) { position += 1 }
    return start..<position
  }

  /// Section 4.2.3.3.
  mutating func key() -> Range<Int>? {
    guard let first = peek, first.isSmallLetter || first == 0x2A else { return nil }
    return skip { $0.isSmallLetter || $0.isDigit || $0 == 0x5F || $0 == 0x2D || $0 == 0x2E || $0 == 0x2A }
  }

  /// Section 4.2.3.2; false where they are broken.
  mutating func parameters() -> Bool {
    while consume(0x3B) {
      skip { $0 == 0x20 }
      guard key() != nil else { return false }
      if consume(0x3D), bareItem() == nil { return false }
    }
    return true
  }

  /// Section 4.2.1.2.
  mutating func innerList() -> StructuredDictionary.Value? {
    guard consume(0x28) else { return nil }
    while true {
      skip { $0 == 0x20 }
      if consume(0x29) { return .innerList }
      guard bareItem() != nil, parameters(), peek == 0x20 || peek == 0x29 else { return nil }
    }
  }

  /// Section 4.2.3.1.
  mutating func bareItem() -> StructuredDictionary.Value? {
    guard let first = peek else { return nil }
    return switch first {
    case 0x2D, 0x30...0x39: number()
    case 0x22: string().map { .string($0) }
    case 0x2A, 0x41...0x5A, 0x61...0x7A: .token(skip(\.isStructuredTokenByte))
    case 0x3A: byteSequence()
    case 0x3F: boolean()
    case 0x40: date()
    case 0x25: displayString()
    default: nil
    }
  }
}

extension StructuredParser {
  /// Section 4.2.4: at most 15 digits, or 12 and a fraction of 1 to 3.
  private mutating func number() -> StructuredDictionary.Value? {
    let isNegative = consume(0x2D)
    let digits = skip(\.isDigit)
    guard !digits.isEmpty else { return nil }
    if consume(0x2E) {
      return digits.count <= 12 && 1...3 ~= skip(\.isDigit).count ? .decimal : nil
    }
    guard digits.count <= 15 else { return nil }
    var value: Int64 = 0
    for index in digits { value = value &* 10 &+ Int64(bytes[index] &- 0x30) }
    return .integer(isNegative ? 0 &- value : value)
  }

  /// Section 4.2.5: printable ASCII, in which a backslash escapes a quote or a backslash.
  private mutating func string() -> Range<Int>? {
    position += 1
    let start = position
    while let byte = peek {
      position += 1
      switch byte {
      case 0x22: return start..<position - 1
      case 0x5C: guard consume(0x22) || consume(0x5C) else { return nil }
      case 0x20...0x7E: continue
      default: return nil
      }
    }
    return nil
  }

  /// Section 4.2.7. Missing padding is no fault, nor are bits beyond the last byte.
  private mutating func byteSequence() -> StructuredDictionary.Value? {
    position += 1
    let digits = skip { $0.isDigit || $0.asciiLowercased.isSmallLetter || $0 == 0x2B || $0 == 0x2F }
    let padding = skip { $0 == 0x3D }
    let isWhole = padding.isEmpty ? digits.count % 4 != 1 : (digits.count + padding.count) % 4 == 0
    guard padding.count <= 2, isWhole, consume(0x3A) else { return nil }
    return .byteSequence(digits.lowerBound..<padding.upperBound)
  }

  /// Section 4.2.8.
  private mutating func boolean() -> StructuredDictionary.Value? {
    position += 1
    if consume(0x31) { return .boolean(true) }
    return consume(0x30) ? .boolean(false) : nil
  }

  /// Section 4.2.9: whole seconds.
  private mutating func date() -> StructuredDictionary.Value? {
    position += 1
    guard case .integer(let seconds)? = number() else { return nil }
    return .date(seconds)
  }

  /// Section 4.2.10: UTF-8 in which what is not printable ASCII stands as `%` and two small hexadecimal digits.
  private mutating func displayString() -> StructuredDictionary.Value? {
    position += 1
    guard consume(0x22) else { return nil }
    var decoded: [UInt8] = []
    while let byte = peek {
      position += 1
      switch byte {
      case 0x22: return String(validating: decoded, as: UTF8.self) == nil ? nil : .displayString
      case 0x25:
        guard let high = hexadecimal(), let low = hexadecimal() else { return nil }
        decoded.append(high << 4 | low)
      case 0x20...0x7E: decoded.append(byte)
      default: return nil
      }
    }
    return nil
  }

  private mutating func hexadecimal() -> UInt8? {
    guard let byte = peek else { return nil }
    position += 1
    if byte.isDigit { return byte &- 0x30 }
    return 0x61...0x66 ~= byte ? byte &- 0x57 : nil
  }
}

extension UInt8 {
  fileprivate var isSmallLetter: Bool { self &- 0x61 < 26 }

  /// Whether the byte may stand in a structured field's token (RFC 9651 section 3.3.4).
  fileprivate var isStructuredTokenByte: Bool {
    switch self {
    case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A: true
    case 0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x2F, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
    default: false
    }
  }
}
