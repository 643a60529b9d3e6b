// Reads the comma list of Cache-Control and Pragma (RFC 9111 section 5.2) in one pass over the bytes, whatever
// they are. It knows no directive; it never fails: what is not `token [ "=" ( token / quoted-string ) ]` comes
// out marked as malformed, and whoever knows the directive decides what that means.

import RegentHTTP

/// One member of a Cache-Control list, as offsets into the bytes.
struct Directive {
  var name: Range<Int>
  /// The argument without its quotes; nil where there is none.
  var argument: Range<Int>?
  /// White space around `=`, text after the argument, an unclosed quote.
  var isMalformed = false
}

/// Walks the members of one field value.
struct DirectiveScanner {
  private let bytes: [UInt8]
  private var position: Int
  private let end: Int

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    position = range.lowerBound
    end = min(range.upperBound, bytes.count)
  }

  mutating func next() -> Directive? {
    while position < end, bytes[position] == .comma || bytes[position].isBlank { position += 1 }
    guard position < end else { return nil }
    var directive = Directive(name: scan { $0 != .comma && $0 != .equals && !$0.isBlank })
    let blankBefore = skipBlanks()
    if position < end, bytes[position] == .equals {
      position += 1
      directive.isMalformed = blankBefore
      if skipBlanks() { directive.isMalformed = true }
      scanArgument(of: &directive)
    }
    if !scan({ $0 != .comma }).isEmpty { directive.isMalformed = true }
    return directive
  }

  private mutating func scanArgument(of directive: inout Directive) {
    guard position < end, bytes[position] == .quote else {
      directive.argument = scan { $0 != .comma && !$0.isBlank }
      skipBlanks()
      return
    }
    position += 1
    let start = position
    while position < end, bytes[position] != .quote {
      position += bytes[position] == .backslash ? 2 : 1
    }
    position = min(position, end)
    directive.argument = start..<position
    if position < end { position += 1 } else { directive.isMalformed = true }
    skipBlanks()
  }

  private mutating func scan(_ belongs: (UInt8) -> Bool) -> Range<Int> {
    let start = position
    while position < end, belongs(bytes[position]) { position += 1 }
    return start..<position
  }

  @discardableResult
  private mutating func skipBlanks() -> Bool { !scan(\.isBlank).isEmpty }
}

extension UInt8 {
  static let comma: UInt8 = 0x2C
  static let equals: UInt8 = 0x3D
  static let quote: UInt8 = 0x22
  static let backslash: UInt8 = 0x5C

  /// Optional white space: a space or a tab (RFC 9110 section 5.6.3).
  var isBlank: Bool { self == 0x20 || self == 0x09 }

  /// Whether the byte may stand in a token (RFC 9110 section 5.6.2).
  var isTokenByte: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case 0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
    default: false
    }
  }
}

extension [UInt8] {
  /// Whether part of the array and part of another are the same but for the case of ASCII letters.
  func has(_ range: Range<Int>, sameAs other: [UInt8], _ otherRange: Range<Int>) -> Bool {
    guard range.count == otherRange.count else { return false }
    var index = otherRange.lowerBound
    for own in range {
      if self[own].asciiLowercased != other[index].asciiLowercased { return false }
      index += 1
    }
    return true
  }

  /// Whether part of the array is a token (RFC 9110 section 5.6.2).
  func hasToken(_ range: Range<Int>) -> Bool {
    for index in range where !self[index].isTokenByte { return false }
    return !range.isEmpty
  }

  /// Whether part of the array is this text of small letters, whatever the case of its own.
  func has(_ range: Range<Int>, _ lowercase: String) -> Bool {
    let (own, text) = (span, lowercase.utf8.span)
    guard text.count == range.count else { return false }
    for index in text.indices where own[range.lowerBound &+ index].asciiLowercased != text[index] {
      return false
    }
    return true
  }
}
