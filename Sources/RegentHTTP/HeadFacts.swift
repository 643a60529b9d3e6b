// What the fields of a head say about framing, connection and host, gathered line by line.
// Each contradiction is refused at the line that makes it (RFC 9112 sections 6 and 9, TRUST A1-A3, C1).

/// The meaning of the framing fields seen so far.
struct HeadFacts: Sendable {
  private(set) var contentLength: Int?
  private(set) var isChunked = false
  private(set) var closes = false
  private(set) var keeps = false
  private var namesUpgrade = false
  /// Whether Connection has an option besides close and keep-alive.
  private(set) var connectionNamesMore = false
  private(set) var expectsContinue = false
  private(set) var present = FieldNameSet()
  private var options: UInt8 = 0
  private(set) var host: Authority?

  /// What Content-Length or Transfer-Encoding announce.
  var announced: BodyFraming? { isChunked ? .chunked : contentLength.map(BodyFraming.length) }

  /// Whether the message asks for another protocol: an Upgrade field that Connection names, on HTTP/1.1.
  func upgrades(_ version: HTTPVersion) -> Bool {
    namesUpgrade && present.contains(.upgrade) && version == .http11
  }

  func keepAlive(_ version: HTTPVersion) -> Bool { !closes && (version == .http11 || keeps) }

  /// Takes in one line.
  mutating func note(
    _ line: FieldLine, _ input: Span<UInt8>, _ version: HTTPVersion, request: Bool
  ) throws(ParseError) {
    let value = line.valueRange
    switch line.name {
    case .contentLength: try noteContentLength(input, value)
    case .transferEncoding: try noteTransferEncoding(input, value, version)
    case .connection: try noteConnection(input, value, request: request)
    case .host where request: try noteHost(input, value)
    case .expect where request: try noteExpectation(input, value, version)
    default: break
    }
    present.insert(line.name)
  }

  private mutating func noteContentLength(_ input: Span<UInt8>, _ value: Range<Int>) throws(ParseError) {
    guard !present.contains(.transferEncoding) else {
      throw ParseError(.contentLengthAndTransferEncoding, at: value.lowerBound)
    }
    guard contentLength == nil else { throw ParseError(.repeatedContentLength, at: value.lowerBound) }
    guard let length = Decimal.parse(input, value), length <= 1 << 53 else {
      throw ParseError(.invalidContentLength, at: value.lowerBound)
    }
    contentLength = length
  }

  private mutating func noteTransferEncoding(
    _ input: Span<UInt8>, _ value: Range<Int>, _ version: HTTPVersion
  ) throws(ParseError) {
    let rule: ParseError.Rule? =
      if version == .http10 {
        .transferEncodingInHTTP10
      } else if present.contains(.contentLength) {
        .contentLengthAndTransferEncoding
      } else if isChunked {
        .repeatedTransferEncoding
      } else {
        TransferCodings.broken(input, value)
      }
    if let rule { throw ParseError(rule, at: value.lowerBound) }
    isChunked = true
  }

  private mutating func noteConnection(
    _ input: Span<UInt8>, _ value: Range<Int>, request: Bool
  ) throws(ParseError) {
    var rest = value
    while let option = input.nextElement(&rest) {
      guard !option.isEmpty else { continue }
      let name = FieldName.recognize(input, option)
      guard name != .other || input.isToken(option) else {
        throw ParseError(.malformedConnection, at: option.lowerBound)
      }
      options = min(options, 32) &+ 1
      guard options <= 32 else { throw ParseError(.tooManyConnectionOptions, at: option.lowerBound) }
      guard !name.isProtected(request: request), !input.namesForwarding(option) else {
        throw ParseError(.protectedConnectionOption, at: option.lowerBound)
      }
      switch name {
      case .keepAlive: keeps = true
      case .other where input.equalsIgnoringCase(option, lowercased: "close".utf8): closes = true
      default: connectionNamesMore = true
      }
      if name == .upgrade { namesUpgrade = true }
    }
  }

  private mutating func noteHost(_ input: Span<UInt8>, _ value: Range<Int>) throws(ParseError) {
    guard host == nil else { throw ParseError(.repeatedHost, at: value.lowerBound) }
    host = try Authority(input, value)
  }

  private mutating func noteExpectation(
    _ input: Span<UInt8>, _ value: Range<Int>, _ version: HTTPVersion
  ) throws(ParseError) {
    guard input.equalsIgnoringCase(value, lowercased: "100-continue".utf8) else {
      throw ParseError(.unsupportedExpectation, at: value.lowerBound)
    }
    // RFC 9110 section 10.1.1: in an HTTP/1.0 request the expectation is ignored.
    expectsContinue = version == .http11
  }
}

/// The grammar of Transfer-Encoding, of which only one word is served.
enum TransferCodings {
  /// The rule that this value breaks; nil where it is exactly "chunked" in any case.
  static func broken(_ input: Span<UInt8>, _ value: Range<Int>) -> ParseError.Rule? {
    if isChunked(input, value) { return nil }
    // An empty element at the end is none that the walk below would see.
    guard !value.isEmpty, input[value.upperBound &- 1] != 0x2C else { return .malformedTransferEncoding }
    var rest = value
    var last = value.lowerBound..<value.lowerBound
    var chunks = 0
    while let element = input.nextElement(&rest) {
      guard input.isToken(element) else { return .malformedTransferEncoding }
      if isChunked(input, element) { chunks += 1 }
      last = element
    }
    // A well-formed list of codings is one that Regent lacks, where "chunked" is absent or stands last.
    let legal = !last.isEmpty && (chunks == 0 || (chunks == 1 && isChunked(input, last)))
    return legal ? .unsupportedTransferCoding : .malformedTransferEncoding
  }

  private static func isChunked(_ input: Span<UInt8>, _ range: Range<Int>) -> Bool {
    input.equalsIgnoringCase(range, lowercased: "chunked".utf8)
  }
}

extension FieldName {
  /// Whether a message needs the field to be framed, routed, told apart or cached, so that `Connection`
  /// may not have it removed (TRUST C1).
  ///
  /// A response may name Transfer-Encoding: some large servers do, and it is hop-by-hop and read before
  /// anything is removed.
  func isProtected(request: Bool) -> Bool {
    self == .transferEncoding ? request : FieldName.protected.contains(self)
  }

  private static let protected = FieldNameSet([
    .accept, .acceptEncoding, .acceptLanguage, .age, .authorization, .cacheControl, .cdnCacheControl,
    .contentEncoding, .contentLength, .contentLocation, .contentRange, .contentType, .cookie, .date, .etag,
    .expect, .expires, .forwarded, .host, .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifRange,
    .ifUnmodifiedSince, .lastModified, .location, .maxForwards, .origin, .pragma, .range,
    .regentCacheControl, .setCookie, .vary, .via, .wwwAuthenticate, .xForwardedFor, .xForwardedHost,
    .xForwardedProto,
  ])
}

extension Span<UInt8> {
  /// The next element of a comma list without the white space around it; nil at the list's end.
  /// Nothing comes after a comma at the very end.
  func nextElement(_ rest: inout Range<Int>) -> Range<Int>? {
    guard !rest.isEmpty else { return nil }
    let comma = first(0x2C, in: rest)
    let element = trimmed(rest.lowerBound..<comma)
    rest = Swift.min(comma &+ 1, rest.upperBound)..<rest.upperBound
    return element
  }

  /// Whether the range is a token (RFC 9110 section 5.6.2).
  func isToken(_ range: Range<Int>) -> Bool {
    for index in range where !self[index].isTokenCharacter { return false }
    return !range.isEmpty
  }

  /// Whether the range begins with "X-Forwarded-" in any case.
  func namesForwarding(_ range: Range<Int>) -> Bool {
    range.count > 12 && self[range.lowerBound] | 0x20 == 0x78
      && equalsIgnoringCase(
        range.lowerBound..<range.lowerBound &+ 12, lowercased: "x-forwarded-".utf8)
  }
}
