// The host and port of a request, from Host or from an absolute target: one grammar for both, stricter than
// RFC 3986: no user information, no percent-encoding, no zone, no empty port, no zeros before a port.

/// A host and its port, as places in the head.
struct Authority: Sendable, Equatable {
  /// The host without port and without one trailing dot; an IPv6 literal has its brackets.
  let host: Range<Int>
  let port: UInt16?
  /// Whether all letters of the host are small already.
  let isLowercase: Bool

  init(_ input: Span<UInt8>, _ range: Range<Int>) throws(ParseError) {
    guard let end = Self.hostEnd(input, range), let port = Self.port(input, end..<range.upperBound) else {
      throw ParseError(.malformedHost, at: range.lowerBound)
    }
    self.port = port == 0 ? nil : port
    let dotted = end - range.lowerBound > 1 && input[end - 1] == 0x2E
    let host = range.lowerBound..<(dotted ? end - 1 : end)
    isLowercase = host.allSatisfy { input[$0].asciiLowercased == input[$0] }
    self.host = host
  }

  /// Whether both name the same host and, by this default, the same port.
  func agrees(with other: Authority, _ input: Span<UInt8>, defaultPort: UInt16) -> Bool {
    guard host.count == other.host.count, port ?? defaultPort == other.port ?? defaultPort else {
      return false
    }
    for step in 0..<host.count {
      let mine = input[host.lowerBound &+ step].asciiLowercased
      guard mine == input[other.host.lowerBound &+ step].asciiLowercased else { return false }
    }
    return true
  }

  /// The port after a colon; 0 where the range is empty, nil where it is malformed.
  private static func port(_ input: Span<UInt8>, _ range: Range<Int>) -> UInt16? {
    guard !range.isEmpty else { return 0 }
    guard range.count <= 6, range.count > 1, input[range.lowerBound] == 0x3A,
      input[range.lowerBound + 1] != 0x30
    else { return nil }
    var port: UInt32 = 0
    for index in range.lowerBound + 1..<range.upperBound {
      guard input[index].isDigit else { return nil }
      port = port &* 10 &+ UInt32(input[index] &- 0x30)
    }
    return UInt16(exactly: port)
  }

  /// Where the host ends; nil where it is malformed.
  private static func hostEnd(_ input: Span<UInt8>, _ range: Range<Int>) -> Int? {
    guard !range.isEmpty else { return nil }
    if input[range.lowerBound] == 0x5B { return literalEnd(input, range) }
    var end = range.lowerBound
    var labelIsEmpty = true
    while end < range.upperBound, input[end] != 0x3A {
      let byte = input[end]
      guard byte.isHostCharacter, !(byte == 0x2E && labelIsEmpty) else { return nil }
      labelIsEmpty = byte == 0x2E
      end &+= 1
    }
    return end > range.lowerBound && end - range.lowerBound <= 256 ? end : nil
  }

  private static func literalEnd(_ input: Span<UInt8>, _ range: Range<Int>) -> Int? {
    var end = range.lowerBound + 1
    while end < range.upperBound, input[end] != 0x5D { end &+= 1 }
    guard end < range.upperBound, IPv6.isValid(input, range.lowerBound + 1..<end) else { return nil }
    return end + 1
  }
}

/// The textual form of an IPv6 address (RFC 3986 section 3.2.2), without a zone.
enum IPv6 {
  static func isValid(_ input: Span<UInt8>, _ range: Range<Int>) -> Bool {
    var groups = 0
    var elided = false
    var index = range.lowerBound
    guard range.count >= 2, range.count <= 45 else { return false }
    if input[index] == 0x3A {
      guard input[index + 1] == 0x3A else { return false }
      elided = true
      index += 2
    }
    while index < range.upperBound {
      let start = index
      while index < range.upperBound, input[index].hexadecimalValue != nil { index += 1 }
      if index < range.upperBound, input[index] == 0x2E {
        groups += isIPv4(input, start..<range.upperBound) ? 2 : 9
        break
      }
      guard index > start, index - start <= 4 else { return false }
      groups += 1
      guard index < range.upperBound else { break }
      guard input[index] == 0x3A, index + 1 < range.upperBound else { return false }
      index += 1
      guard input[index] == 0x3A else { continue }
      guard !elided else { return false }
      elided = true
      index += 1
    }
    return elided ? groups < 8 : groups == 8
  }

  private static func isIPv4(_ input: Span<UInt8>, _ range: Range<Int>) -> Bool {
    var parts = 0
    var index = range.lowerBound
    while index < range.upperBound {
      let start = index
      while index < range.upperBound, input[index].isDigit { index += 1 }
      guard index - start <= 3, let part = Decimal.parse(input, start..<index), part <= 255 else {
        return false
      }
      guard input[start] != 0x30 || index - start == 1 else { return false }
      parts += 1
      if index == range.upperBound { return parts == 4 }
      guard input[index] == 0x2E else { return false }
      index += 1
    }
    return false
  }
}

extension UInt8 {
  /// Whether it may stand in a registered name as Regent takes it: letters, digits and "-._~".
  var isHostCharacter: Bool {
    isDigit || (self | 0x20) &- 0x61 < 26 || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E
  }
}
