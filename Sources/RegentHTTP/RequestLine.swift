// The first line of a request (RFC 9112 section 3): method, target and version with one space between.
// The target's form is told apart here, and its authority, where it has one, taken apart.

/// A request line taken apart.
struct RequestLine: Sendable {
  let method: Method
  let target: RequestTarget
  let version: HTTPVersion
  /// What an absolute or authority form names.
  let authority: Authority?

  init(_ input: Span<UInt8>, _ line: Range<Int>) throws(ParseError) {
    var end = input.first(0x20, in: line)
    guard let method = Method.recognize(input, line.lowerBound..<end) else {
      throw Self.methodError(input, line.lowerBound..<end)
    }
    guard end < line.upperBound else { throw ParseError(.malformedRequestLine, at: end) }
    let start = end &+ 1
    end = input.targetEnd(start..<line.upperBound)
    guard end == line.upperBound || input[end] == 0x20 else { throw ParseError(.invalidTarget, at: end) }
    guard end > start, end < line.upperBound else { throw ParseError(.malformedRequestLine, at: end) }
    version = try HTTPVersion(input, end &+ 1..<line.upperBound)
    self.method = method
    (target, authority) = try Self.target(input, start..<end, method)
  }

  private static func methodError(_ input: Span<UInt8>, _ range: Range<Int>) -> ParseError {
    for index in range where !input[index].isTokenCharacter { return ParseError(.invalidMethod, at: index) }
    return ParseError(range.isEmpty ? .invalidMethod : .unknownMethod, at: range.lowerBound)
  }

  private static func target(
    _ input: Span<UInt8>, _ raw: Range<Int>, _ method: Method
  ) throws(ParseError) -> (RequestTarget, Authority?) {
    if method == .connect {
      return try authorityForm(input, raw)
    }
    if input[raw.lowerBound] == 0x2F {
      let (path, query) = split(input, raw)
      return (RequestTarget(form: .origin, scheme: nil, raw: raw, path: path, query: query), nil)
    }
    if raw.count == 1, input[raw.lowerBound] == 0x2A {
      guard method == .options else { throw ParseError(.targetNotForMethod, at: raw.lowerBound) }
      let nothing = raw.upperBound..<raw.upperBound
      return (RequestTarget(form: .asterisk, scheme: nil, raw: raw, path: nothing, query: nil), nil)
    }
    return try absoluteForm(input, raw)
  }

  private static func authorityForm(
    _ input: Span<UInt8>, _ raw: Range<Int>
  ) throws(ParseError) -> (RequestTarget, Authority?) {
    let authority = try Authority(input, raw)
    guard authority.port != nil else { throw ParseError(.targetNotForMethod, at: raw.lowerBound) }
    let nothing = raw.upperBound..<raw.upperBound
    return (RequestTarget(form: .authority, scheme: nil, raw: raw, path: nothing, query: nil), authority)
  }

  private static func absoluteForm(
    _ input: Span<UInt8>, _ raw: Range<Int>
  ) throws(ParseError) -> (RequestTarget, Authority?) {
    let (scheme, start) = try scheme(input, raw)
    var end = start
    while end < raw.upperBound, input[end] != 0x2F, input[end] != 0x3F {
      guard input[end] != 0x40 else { throw ParseError(.userInformation, at: end) }
      end &+= 1
    }
    let authority = try Authority(input, start..<end)
    let (path, query) = split(input, end..<raw.upperBound)
    return (RequestTarget(form: .absolute, scheme: scheme, raw: raw, path: path, query: query), authority)
  }

  /// The scheme and where its authority begins.
  private static func scheme(
    _ input: Span<UInt8>, _ raw: Range<Int>
  ) throws(ParseError) -> (RequestTarget.Scheme, Int) {
    var colon = raw.lowerBound
    while colon < raw.upperBound, input[colon] != 0x3A { colon &+= 1 }
    let after = colon &+ 3
    guard after <= raw.upperBound, colon > raw.lowerBound, input[colon &+ 1] == 0x2F,
      input[colon &+ 2] == 0x2F
    else { throw ParseError(.invalidTarget, at: raw.lowerBound) }
    let scheme = raw.lowerBound..<colon
    if input.equalsIgnoringCase(scheme, lowercased: "http".utf8) { return (.http, after) }
    if input.equalsIgnoringCase(scheme, lowercased: "https".utf8) { return (.https, after) }
    throw ParseError(.unsupportedScheme, at: raw.lowerBound)
  }

  private static func split(_ input: Span<UInt8>, _ range: Range<Int>) -> (Range<Int>, Range<Int>?) {
    let mark = input.first(0x3F, in: range)
    guard mark < range.upperBound else { return (range, nil) }
    return (range.lowerBound..<mark, mark &+ 1..<range.upperBound)
  }
}

extension Span<UInt8> {
  /// The first offset in the range whose byte may not stand in a target; the range's end where all may.
  func targetEnd(_ range: Range<Int>) -> Int {
    first(in: range) {
      $0.below(0x21) | $0.equal(to: 0x23) | $0.equal(to: 0x7F) | $0.aboveASCII
    } _: {
      !$0.isTargetCharacter
    }
  }

  /// Whether every byte of the range may stand in a target.
  func isTarget(_ range: Range<Int>) -> Bool { targetEnd(range) == range.upperBound }
}

extension HTTPVersion {
  /// The version that these bytes spell exactly.
  init(_ input: Span<UInt8>, _ range: Range<Int>) throws(ParseError) {
    if range.count == 8 {
      switch input.word(at: range.lowerBound) {
      case 0x312E_312F_5054_5448:
        self = .http11
        return
      case 0x302E_312F_5054_5448:
        self = .http10
        return
      default: break
      }
    }
    throw HTTPVersion.error(input, range)
  }

  /// What is wrong with a version that is neither of the two.
  private static func error(_ input: Span<UInt8>, _ range: Range<Int>) -> ParseError {
    let prefix: [UInt8] = [0x48, 0x54, 0x54, 0x50, 0x2F]
    guard range.count > 5, input.equals(range.lowerBound..<range.lowerBound + 5, prefix) else {
      return ParseError(.malformedVersion, at: range.lowerBound)
    }
    let number = range.lowerBound + 5..<range.upperBound
    for index in number where !input[index].isDigit && input[index] != 0x2E {
      return ParseError(.malformedVersion, at: index)
    }
    return ParseError(.unsupportedVersion, at: number.lowerBound)
  }
}
