// Dictionaries of RFC 9651 (structured fields): the parsing of section 4.2.2, all of it, in one pass. Strict as the
// RFC wants it: one byte that does not belong, and there is no dictionary. No recursion; linear in the length.

/// A parsed dictionary of RFC 9651 section 3.2.
///
/// Keys and texts are offsets into ``bytes``. Parameters are checked and left out.
public struct StructuredDictionary: Sendable {
  /// A member's value, without its parameters.
  public enum Value: Sendable, Equatable {
    /// Of 15 digits at most (section 3.3.1).
    case integer(Int64)
    case decimal
    /// What stands between the quotes, escapes included.
    case string(Range<Int>)
    case token(Range<Int>)
    /// What stands between the colons: base64 digits, with or without their padding.
    case byteSequence(Range<Int>)
    /// Also what a key without a value stands for.
    case boolean(Bool)
    case date(Int64)
    case displayString
    case innerList
  }

  public struct Member: Sendable {
    /// Where the key lies; its letters are small.
    public let key: Range<Int>
    public let value: Value
  }

  /// The field's value; several lines are one value with commas between them (RFC 9110 section 5.2).
  public let bytes: [UInt8]
  /// The members in order. A key may occur again, and then its last member counts (section 3.2).
  public let members: [Member]

  /// Parses a field's value; nil for what is no dictionary. An empty value is a dictionary without members.
  public init?(_ bytes: [UInt8]) { self.init(bytes, bytes.indices) }

  /// Parses the value of all lines of a field; nil where there is none, or it is no dictionary.
  public init?(_ fields: Fields, _ name: FieldName) {
    guard fields.contains(name) else { return nil }
    let lines = fields.lines.filter { $0.name == name }
    guard lines.count > 1 else {
      self.init(fields.bytes, lines.first?.valueRange ?? 0..<0)
      return
    }
    var joined: [UInt8] = []
    for line in lines {
      if line != lines.first { joined.append(contentsOf: [0x2C, 0x20]) }
      joined.append(contentsOf: fields.value(of: line))
    }
    self.init(joined, joined.indices)
  }

  private init?(_ bytes: [UInt8], _ range: Range<Int>) {
    var parser = StructuredParser(bytes, range)
    guard let members = parser.dictionary() else { return nil }
    self.bytes = bytes
    self.members = members
  }

  /// The value of a key; nil where it does not occur.
  public func value(of key: String) -> Value? {
    members.last { bytes[$0.key].elementsEqual(key.utf8) }?.value
  }

  /// The bytes that a byte sequence stands for (section 4.2.7). Bits beyond the last whole byte are left out.
  public func decoded(byteSequence range: Range<Int>) -> [UInt8] {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(range.count / 4 * 3 + 2)
    var (bits, count) = (UInt32(0), 0)
    for index in range {
      guard let digit = bytes[index].base64Value else { break }
      bits = bits << 6 | UInt32(digit)
      count += 6
      guard count >= 8 else { continue }
      count -= 8
      decoded.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
    }
    return decoded
  }
}

extension StructuredParser {
  /// Section 4.2.2 within section 4.2: spaces around it, and nothing else.
  fileprivate mutating func dictionary() -> [StructuredDictionary.Member]? {
    var members: [StructuredDictionary.Member] = []
    skip { $0 == 0x20 }
    while !isAtEnd {
      guard let key = key(), let value = memberValue() else { return nil }
      members.append(.init(key: key, value: value))
      skip { $0 == 0x20 || $0 == 0x09 }
      if isAtEnd { return members }
      guard consume(0x2C) else { return nil }
      skip { $0 == 0x20 || $0 == 0x09 }
      // A comma at the end promises a member that does not come.
      if isAtEnd { return nil }
    }
    return members
  }

  private mutating func memberValue() -> StructuredDictionary.Value? {
    var value = StructuredDictionary.Value.boolean(true)
    if consume(0x3D) {
      guard let read = peek == 0x28 ? innerList() : bareItem() else { return nil }
      value = read
    }
    return parameters() ? value : nil
  }
}

extension UInt8 {
  /// The value of a base64 digit (RFC 4648 section 4); nil for any other byte.
  fileprivate var base64Value: UInt8? {
    switch self {
    case 0x41...0x5A: self &- 0x41
    case 0x61...0x7A: self &- 0x61 &+ 26
    case 0x30...0x39: self &- 0x30 &+ 52
    case 0x2B: 62
    case 0x2F: 63
    default: nil
    }
  }
}
