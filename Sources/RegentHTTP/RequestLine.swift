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
    var end = line.lowerBound
    while end < line.upperBound, input[end].isTokenCharacter { end &+= 1 }
    guard end > line.lowerBound, end == line.upperBound || input[end] == 0x20 else {
      throw ParseError(.invalidMethod, at: end)
    }
    guard let method = Method.recognize(input, line.lowerBound..<end) else {
      throw ParseError(.unknownMethod, at: line.lowerBound)
    }
    guard end < line.upperBound else { throw ParseError(.malformedRequestLine, at: end) }
    let start = end &+ 1
    end = start
    while end < line.upperBound, input[end].isTargetCharacter { end &+= 1 }
    guard end == line.upperBound || input[end] == 0x20 else { throw ParseError(.invalidTarget, at: end) }
    guard end > start, end < line.upperBound else { throw ParseError(.malformedRequestLine, at: end) }
    version = try HTTPVersion(input, end &+ 1..<line.upperBound)
    self.method = method
    (target, authority) = try Self.target(input, start..<end, method)
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
    var mark = range.lowerBound
    while mark < range.upperBound, input[mark] != 0x3F { mark &+= 1 }
    guard mark < range.upperBound else { return (range, nil) }
    return (range.lowerBound..<mark, mark &+ 1..<range.upperBound)
  }
}

extension HTTPVersion {
  /// The version that these bytes spell exactly.
  init(_ input: Span<UInt8>, _ range: Range<Int>) throws(ParseError) {
    let prefix: [UInt8] = [0x48, 0x54, 0x54, 0x50, 0x2F]
    guard range.count > 5, input.equals(range.lowerBound..<range.lowerBound + 5, prefix) else {
      throw ParseError(.malformedVersion, at: range.lowerBound)
    }
    let number = range.lowerBound + 5..<range.upperBound
    for index in number where !input[index].isDigit && input[index] != 0x2E {
      throw ParseError(.malformedVersion, at: index)
    }
    guard number.count == 3, input[number.lowerBound] == 0x31, input[number.lowerBound + 1] == 0x2E,
      input[number.lowerBound + 2] & 0xFE == 0x30
    else { throw ParseError(.unsupportedVersion, at: number.lowerBound) }
    self = input[number.lowerBound + 2] == 0x31 ? .http11 : .http10
  }
}
