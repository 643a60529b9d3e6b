// What both parsers share: the lines of a head, found and judged one at a time, each byte looked at once
// until its line is complete. It remembers how far an unfinished line was searched, so that a head that
// comes byte by byte costs no more than twice one write (TRUST D2).

/// The progress of one head through its lines.
struct HeadSection: Sendable {
  /// Where the current line begins.
  private(set) var lineStart = 0
  /// How far the current line is known to hold nothing but text.
  private var searched = 0
  /// How many bytes were looked at for line ends; the tests hold it against the input's size.
  private(set) var visited = 0
  var lines: [FieldLine] = []
  var facts = HeadFacts()

  /// The next line without its CRLF; nil where more input is needed.
  mutating func nextLine(
    _ input: Span<UInt8>, _ limits: MessageLimits, tooLong: ParseError.Rule, tooLarge: ParseError.Rule
  ) throws(ParseError) -> Range<Int>? {
    let stop = min(lineStart &+ limits.line, limits.head &- 2)
    let end = input.firstControl(in: searched..<max(searched, min(input.count, stop &+ 1)))
    visited &+= end &- searched
    searched = end
    if end > stop {
      throw ParseError(stop < limits.head &- 2 ? tooLong : tooLarge, at: stop)
    }
    guard end < input.count else { return nil }
    guard try endsLine(input, at: end) else { return nil }
    let line = lineStart..<end
    lineStart = end &+ 2
    searched = lineStart
    return line
  }

  /// Whether a CRLF stands here; nothing else may, where text stops.
  private func endsLine(_ input: Span<UInt8>, at offset: Int) throws(ParseError) -> Bool {
    switch input[offset] {
    case 0x0D:
      guard offset &+ 1 < input.count else { return false }
      guard input[offset &+ 1] == 0x0A else { throw ParseError(.bareCarriageReturn, at: offset) }
      return true
    case 0x0A: throw ParseError(.bareLineFeed, at: offset)
    case 0x00: throw ParseError(.nul, at: offset)
    default: throw ParseError(.controlCharacter, at: offset)
    }
  }

  /// Takes field lines until the empty one; true once that was read.
  ///
  /// - Parameter known: The lines of a head that was understood before. One that stands at the same place again, byte for
  ///   byte, needs not be understood again: of an origin's fields most are the same in all its responses.
  mutating func parseFields(
    _ input: Span<UInt8>, _ limits: MessageLimits, _ version: HTTPVersion, request: Bool,
    known: Fields = Fields()
  ) throws(ParseError) -> Bool {
    let (knownBytes, knownLines) = (known.bytes.span, known.lines.span)
    while true {
      let field: FieldLine
      if lines.count < knownLines.count,
        let line = knownLine(knownLines[lines.count], knownBytes, input, limits)
      {
        field = line
      } else {
        guard let line = try nextLine(input, limits, tooLong: .fieldLineTooLong, tooLarge: .headTooLarge)
        else { return false }
        if line.isEmpty { return true }
        guard lines.count < limits.fields else { throw ParseError(.tooManyFields, at: line.lowerBound) }
        field = try Self.field(input, line, request: request)
      }
      if lines.isEmpty { lines.reserveCapacity(max(12, knownLines.count)) }
      lines.append(field)
      try facts.note(field, input, version, request: request)
    }
  }

  /// The line that begins here, where it is the same as one that was understood before.
  @inline(__always)
  private mutating func knownLine(
    _ known: FieldLine, _ bytes: Span<UInt8>, _ input: Span<UInt8>, _ limits: MessageLimits
  ) -> FieldLine? {
    guard let whole = known.whole, searched == lineStart, lines.count < limits.fields else { return nil }
    let next = lineStart &+ whole.count
    guard next <= input.count, next &- 2 <= min(lineStart &+ limits.line, limits.head &- 2),
      input.equals(lineStart..<next, bytes, from: whole.lowerBound)
    else { return nil }
    let line = known.moved(to: lineStart)
    visited &+= whole.count
    lineStart = next
    searched = next
    return line
  }

  /// Passes over a start line that is known to stand here.
  mutating func passStartLine(_ count: Int) {
    visited &+= count
    lineStart = count
    searched = count
  }

  /// Hands the lines over without a second reference to them.
  mutating func takeLines() -> [FieldLine] {
    var taken: [FieldLine] = []
    swap(&taken, &lines)
    return taken
  }

  /// The field lines of a trailer section, which is all of the input and has no empty line at its end.
  static func trailerLines(_ input: Span<UInt8>) throws(ParseError) -> [FieldLine] {
    let limits = MessageLimits.standard
    var section = HeadSection()
    while section.lineStart < input.count {
      guard
        let line = try section.nextLine(
          input, limits, tooLong: .fieldLineTooLong, tooLarge: .trailersTooLarge)
      else { throw ParseError(.malformedTrailer, at: input.count) }
      guard section.lines.count < limits.fields else { throw ParseError(.tooManyFields, at: line.lowerBound) }
      section.lines.append(try field(input, line, request: false))
    }
    return section.takeLines()
  }

  /// One field line taken apart (RFC 9112 section 5).
  private static func field(
    _ input: Span<UInt8>, _ line: Range<Int>, request: Bool
  ) throws(ParseError) -> FieldLine {
    let colon = input.first(0x3A, in: line)
    let name = line.lowerBound..<colon
    let known = FieldName.recognize(input, name)
    // A known name is a token; only of others each byte must be looked at.
    if known == .other || colon == line.upperBound { try checkName(input, line) }
    let value = input.trimmed(colon &+ 1..<line.upperBound)
    let isVerbatim =
      value.lowerBound == colon &+ 2 && value.upperBound == line.upperBound && input[colon &+ 1] == 0x20
    guard isVerbatim else { return FieldLine(name: known, nameRange: name, valueRange: value) }
    // Only responses are stored, and need that.
    let isWritten = !request && (known == .other || isWritten(known, input, name))
    return FieldLine(
      name: known, nameRange: name, valueRange: value, form: isWritten ? .written : .verbatim)
  }

  /// Whether a name is spelled as Regent writes it.
  private static func isWritten(_ name: FieldName, _ input: Span<UInt8>, _ range: Range<Int>) -> Bool {
    let written = FieldName.bytes(of: name)
    return written.count == range.count && input.equals(range, written.span, from: 0)
  }

  /// Throws where a line does not begin with a token and a colon.
  private static func checkName(_ input: Span<UInt8>, _ line: Range<Int>) throws(ParseError) {
    var end = line.lowerBound
    while end < line.upperBound, input[end].isTokenCharacter { end &+= 1 }
    guard end < line.upperBound, input[end] == 0x3A, end > line.lowerBound else {
      throw ParseError(nameRule(input, line, end), at: end)
    }
  }

  private static func nameRule(_ input: Span<UInt8>, _ line: Range<Int>, _ end: Int) -> ParseError.Rule {
    guard end < line.upperBound else { return .missingColon }
    let byte = input[end]
    if end == line.lowerBound {
      if byte.isBlank { return .obsoleteFold }
      return byte == 0x3A ? .emptyFieldName : .invalidFieldName
    }
    return byte.isBlank && input.trimmed(end..<line.upperBound).startsWithColon(input)
      ? .spaceBeforeColon : .invalidFieldName
  }
}

extension Range<Int> {
  fileprivate func startsWithColon(_ input: Span<UInt8>) -> Bool { !isEmpty && input[lowerBound] == 0x3A }
}
