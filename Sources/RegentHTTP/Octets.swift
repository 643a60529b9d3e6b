// The character classes of RFC 9110 section 5.6 as constants: no tables, nothing initialized lazily.
// Everything here is total: no byte and no offset inside the input can trap.

extension UInt8 {
  /// Whether it may stand in a token (RFC 9110 section 5.6.2).
  var isTokenCharacter: Bool {
    // Bits 33...126 but the delimiters "(),/:;<=>?@[\]{} and the double quote.
    let low: UInt64 = 0x03FF_6CFA_0000_0000
    let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
    return self < 128 && (self < 64 ? low : high) >> UInt64(self & 63) & 1 == 1
  }

  /// Whether it may stand in a line: visible, space, tab or a byte above ASCII (RFC 9110 section 5.5).
  var isText: Bool { (self >= 0x20 && self != 0x7F) || self == 0x09 }

  /// Whether it may stand in a request target: visible ASCII but "#", which would be a fragment.
  var isTargetCharacter: Bool { self &- 0x21 < 0x5E && self != 0x23 }

  var isDigit: Bool { self &- 0x30 < 10 }

  var isBlank: Bool { self == 0x20 || self == 0x09 }

  /// The value of a hexadecimal digit, or nil.
  var hexadecimalValue: UInt8? {
    if isDigit { return self &- 0x30 }
    let letter = (self | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }
}

/// Eight bytes at once: each test sets the high bit of bytes that pass, and the lowest one set is exact.
struct Octet8 {
  let word: UInt64
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highs: UInt64 = 0x8080_8080_8080_8080

  @inline(__always) func equal(to byte: UInt8) -> UInt64 {
    let difference = word ^ (Self.ones &* UInt64(byte))
    return (difference &- Self.ones) & ~difference & Self.highs
  }

  /// For bounds of at most 0x80.
  @inline(__always) func below(_ byte: UInt8) -> UInt64 {
    (word &- Self.ones &* UInt64(byte)) & ~word & Self.highs
  }

  /// Controls, the tab among them.
  @inline(__always) var controls: UInt64 { below(0x20) | equal(to: 0x7F) }

  @inline(__always) var aboveASCII: UInt64 { word & Self.highs }
}

extension Span<UInt8> {
  /// Eight bytes as a little-endian word: one load once the optimizer has seen it.
  @inlinable @inline(__always) public func word(at offset: Int) -> UInt64 {
    let eight = extracting(offset..<offset &+ 8)
    let low =
      UInt32(eight[0]) | UInt32(eight[1]) &<< 8 | UInt32(eight[2]) &<< 16 | UInt32(eight[3]) &<< 24
    let high =
      UInt32(eight[4]) | UInt32(eight[5]) &<< 8 | UInt32(eight[6]) &<< 16 | UInt32(eight[7]) &<< 24
    return UInt64(low) | UInt64(high) &<< 32
  }

  /// The first offset in the range that the tests find; the range's end where there is none. Both tests
  /// mean the same: one is for eight bytes, the other for the last few of the input.
  @inline(__always) func first(
    in range: Range<Int>, _ eight: (Octet8) -> UInt64, _ one: (UInt8) -> Bool
  ) -> Int {
    var index = range.lowerBound
    while index < range.upperBound {
      if count &- index >= 8 {
        let found = eight(Octet8(word: word(at: index)))
        guard found == 0 else {
          return Swift.min(index &+ found.trailingZeroBitCount &>> 3, range.upperBound)
        }
        index &+= 8
      } else {
        if one(self[index]) { return index }
        index &+= 1
      }
    }
    return range.upperBound
  }

  /// The first offset in the range whose byte is not text; the range's end where all are.
  func firstControl(in range: Range<Int>) -> Int {
    var index = range.lowerBound
    let end = range.upperBound
    while index < end, count &- index >= 8 {
      let found = Octet8(word: word(at: index)).controls
      guard found != 0 else {
        index &+= 8
        continue
      }
      index &+= found.trailingZeroBitCount &>> 3
      guard index < end, self[index] == 0x09 else { return Swift.min(index, end) }
      index &+= 1
    }
    while index < end, self[index] >= 0x20 && self[index] != 0x7F || self[index] == 0x09 { index &+= 1 }
    return Swift.min(index, end)
  }

  /// Whether all bytes are printable ASCII but for quotes and backslashes: then they stand in a quoted string as they are.
  public var isPlainText: Bool {
    let end = first(in: 0..<count) {
      $0.controls | $0.aboveASCII | $0.equal(to: 0x22) | $0.equal(to: 0x5C)
    } _: {
      !(0x20...0x7E).contains($0) || $0 == 0x22 || $0 == 0x5C
    }
    return end == count
  }

  /// The first offset of the byte in the range; the range's end where there is none.
  func first(_ byte: UInt8, in range: Range<Int>) -> Int {
    first(in: range) {
      $0.equal(to: byte)
    } _: {
      $0 == byte
    }
  }

  /// Whether the bytes of the range are the same as those of another span from an offset on.
  func equals(_ range: Range<Int>, _ other: Span<UInt8>, from start: Int) -> Bool {
    let count = range.count
    guard range.lowerBound >= 0, range.upperBound <= self.count, start >= 0, count <= other.count &- start
    else { return false }
    let (mine, theirs) = (extracting(range), other.extracting(start..<start &+ count))
    // Without a way out of the loop, the optimizer takes many bytes at once.
    var difference: UInt8 = 0
    for index in mine.indices { difference |= mine[index] ^ theirs[index] }
    return difference == 0
  }

  /// Whether the bytes of the range are exactly these.
  func equals(_ range: Range<Int>, _ bytes: [UInt8]) -> Bool {
    guard range.count == bytes.count else { return false }
    for index in 0..<bytes.count where self[range.lowerBound &+ index] != bytes[index] { return false }
    return true
  }

  /// Whether the bytes of the range are these but for the case of ASCII letters.
  func equalsIgnoringCase(_ range: Range<Int>, lowercased bytes: some Collection<UInt8>) -> Bool {
    guard range.count == bytes.count else { return false }
    var index = range.lowerBound
    for byte in bytes {
      guard self[index].asciiLowercased == byte else { return false }
      index &+= 1
    }
    return true
  }

  /// The range without spaces and tabs at its ends.
  func trimmed(_ range: Range<Int>) -> Range<Int> {
    var start = range.lowerBound
    var end = range.upperBound
    while start < end, self[start].isBlank { start &+= 1 }
    while start < end, self[end &- 1].isBlank { end &-= 1 }
    return start..<end
  }
}
