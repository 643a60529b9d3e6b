// The chunked coding (RFC 9112 section 7.1) as a machine of one byte a step outside of data.
// Nothing is scanned twice and nothing recurses. Extensions are judged and dropped, trailers judged and told of; both are
// limited (TRUST A4-A7). This file is one exhaustive machine: its size is its states.

/// The progress through a chunked body.
struct ChunkedDecoder: Sendable {
  private enum State: UInt8, Sendable {
    case sizeStart, size, sizeEnd
    case extensionGap, nameStart, name, nameEnd, valueStart, value, quoted, quotedPair, quotedEnd
    case data, dataReturn, dataEnd
    case trailerStart, trailerName, trailerValue, trailerEnd, bodyEnd
  }

  static let extensionLineLimit = 256
  static let extensionLimit = 8 << 10
  static let trailerLimit = 8 << 10

  private var state = State.sizeStart
  private var digits: UInt8 = 0
  private var size = 0
  private var total = 0
  private var extensionLine: UInt16 = 0
  private var extensions: UInt16 = 0
  private var trailerCount: UInt16 = 0

  /// Reads on until there is content, or the input or the body ends.
  mutating func next(_ input: Span<UInt8>, at offset: inout Int) throws(ParseError) -> BodyDecoder.Step {
    while offset < input.count {
      if state == .data {
        let start = offset
        offset &+= min(size, input.count &- start)
        size &-= offset &- start
        if size == 0 { state = .dataReturn }
        return .content(start..<offset)
      }
      if state == .bodyEnd {
        guard input[offset] == 0x0A else { throw ParseError(.bareCarriageReturn, at: offset) }
        offset &+= 1
        return .end
      }
      if state.rawValue >= State.trailerStart.rawValue {
        guard let range = try trailers(input, at: &offset) else { continue }
        return .trailers(range)
      }
      if let rule = step(input[offset]) { throw ParseError(rule, at: offset) }
      offset &+= 1
    }
    return .needMore
  }

  /// Reads on through the trailer section, up to the empty line's end: what there is of its field lines, if anything.
  private mutating func trailers(_ input: Span<UInt8>, at offset: inout Int) throws(ParseError) -> Range<Int>?
  {
    let start = offset
    while offset < input.count, state != .bodyEnd {
      if let rule = stepTrailer(input[offset]) { throw ParseError(rule, at: offset) }
      offset &+= 1
    }
    let end = state == .bodyEnd ? offset &- 1 : offset
    return start < end ? start..<end : nil
  }

  /// Takes one byte outside of data; the rule it breaks, or nil.
  private mutating func step(_ byte: UInt8) -> ParseError.Rule? {
    switch state {
    case .sizeStart, .size, .sizeEnd: return stepSize(byte)
    case .extensionGap, .nameStart, .name, .nameEnd, .valueStart, .value, .quoted, .quotedPair, .quotedEnd:
      return stepExtension(byte)
    case .dataReturn: return expect(byte, 0x0D, .dataEnd, .missingChunkEnd)
    case .dataEnd:
      extensionLine = 0
      return expect(byte, 0x0A, .sizeStart, .missingChunkEnd)
    case .data, .trailerStart, .trailerName, .trailerValue, .trailerEnd, .bodyEnd: return nil
    }
  }

  private mutating func expect(
    _ byte: UInt8, _ wanted: UInt8, _ next: State, _ rule: ParseError.Rule
  ) -> ParseError.Rule? {
    guard byte == wanted else { return rule }
    state = next
    return nil
  }

  private mutating func stepSize(_ byte: UInt8) -> ParseError.Rule? {
    if state == .sizeEnd { return endSizeLine(byte) }
    if let digit = byte.hexadecimalValue { return addDigit(digit) }
    guard state == .size else { return byte == 0x0A ? .bareLineFeed : .invalidChunkSize }
    switch byte {
    case 0x0D: state = .sizeEnd
    case 0x3B: return enterExtension(.nameStart)
    case 0x20, 0x09: return enterExtension(.extensionGap)
    case 0x0A: return .bareLineFeed
    default: return .invalidChunkSize
    }
    return nil
  }

  private mutating func addDigit(_ digit: UInt8) -> ParseError.Rule? {
    if state == .sizeStart {
      size = 0
      digits = 0
    }
    digits &+= 1
    guard digits <= 16 else { return .invalidChunkSize }
    guard size <= Int.max >> 4 else { return .chunkSizeOverflow }
    size = size << 4 | Int(digit)
    state = .size
    return nil
  }

  private mutating func endSizeLine(_ byte: UInt8) -> ParseError.Rule? {
    guard byte == 0x0A else { return .bareCarriageReturn }
    let (sum, overflow) = total.addingReportingOverflow(size)
    guard !overflow else { return .chunkSizeOverflow }
    total = sum
    state = size == 0 ? .trailerStart : .data
    return nil
  }

  private mutating func enterExtension(_ next: State) -> ParseError.Rule? {
    state = next
    return countExtension()
  }

  private mutating func countExtension() -> ParseError.Rule? {
    extensionLine &+= 1
    extensions &+= 1
    return extensionLine <= Self.extensionLineLimit && extensions <= Self.extensionLimit
      ? nil : .chunkExtensionTooLong
  }

  /// `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )` of RFC 9112 section 7.1.1.
  private mutating func stepExtension(_ byte: UInt8) -> ParseError.Rule? {
    if byte == 0x0D, state == .name || state == .value || state == .quotedEnd {
      state = .sizeEnd
      return nil
    }
    guard let next = extensionState(after: byte) else {
      return byte == 0x0A ? .bareLineFeed : .invalidChunkExtension
    }
    state = next
    return countExtension()
  }

  private func extensionState(after byte: UInt8) -> State? {
    switch state {
    case .extensionGap: byte.isBlank ? .extensionGap : byte == 0x3B ? .nameStart : nil
    case .nameStart: byte.isBlank ? .nameStart : byte.isTokenCharacter ? .name : nil
    case .name where byte.isTokenCharacter: .name
    case .name, .nameEnd:
      byte == 0x3D ? .valueStart : byte == 0x3B ? .nameStart : byte.isBlank ? .nameEnd : nil
    case .valueStart where byte == 0x22: .quoted
    case .valueStart: byte.isBlank ? .valueStart : byte.isTokenCharacter ? .value : nil
    case .value where byte.isTokenCharacter: .value
    case .value, .quotedEnd: byte == 0x3B ? .nameStart : byte.isBlank ? .extensionGap : nil
    case .quoted: byte == 0x22 ? .quotedEnd : byte == 0x5C ? .quotedPair : byte.isText ? .quoted : nil
    case .quotedPair: byte.isText ? .quoted : nil
    default: nil
    }
  }

  private mutating func stepTrailer(_ byte: UInt8) -> ParseError.Rule? {
    trailerCount &+= 1
    guard trailerCount <= Self.trailerLimit else { return .trailersTooLarge }
    switch state {
    case .trailerStart where byte == 0x0D: state = .bodyEnd
    case .trailerStart where byte.isTokenCharacter: state = .trailerName
    case .trailerName where byte == 0x3A: state = .trailerValue
    case .trailerName where byte.isTokenCharacter: break
    case .trailerValue where byte == 0x0D: state = .trailerEnd
    case .trailerValue where byte.isText: break
    case .trailerEnd where byte == 0x0A: state = .trailerStart
    default:
      return byte == 0x0A ? .bareLineFeed : state == .trailerEnd ? .bareCarriageReturn : .malformedTrailer
    }
    return nil
  }
}
