// The incremental parser of response heads, as strict with an origin as the other one is with a client.
// Interim responses (1xx) come out like any other: the caller goes on to the next head.

/// A parser of response heads (RFC 9112 section 4).
public struct ResponseParser: Sendable {
  public let limits: MessageLimits
  /// Where the head that was last parsed ends in its input.
  public private(set) var consumed = 0
  private var section = HeadSection()
  private var failure: ParseError?
  private var line: StatusLine?
  /// The head that came last: the next one has most of its lines, too, and may be the same.
  private var last: ResponseHead?
  /// Longer heads are not remembered: many connections may be open.
  private static let longest = 2048

  public init(limits: MessageLimits = .standard) { self.limits = limits }

  /// How many bytes were searched for line ends so far.
  var visited: Int { section.visited }

  /// Forgets the current message; `consumed` stays.
  public mutating func reset() {
    section = HeadSection()
    failure = nil
    line = nil
  }

  /// The head, or nil where more input is needed.
  ///
  /// `input` is everything received of this message so far, from its first byte. After a head was returned
  /// the parser is ready for the next message, which begins at ``consumed``. After an error the connection
  /// can only be closed: every further call throws the same (TRUST A15), until ``reset()``.
  public mutating func parse(_ input: Span<UInt8>) throws(ParseError) -> ResponseHead? {
    if let failure { throw failure }
    do throws(ParseError) {
      return try advance(input)
    } catch {
      failure = error
      throw error
    }
  }

  private mutating func advance(_ input: Span<UInt8>) throws(ParseError) -> ResponseHead? {
    if line == nil {
      if let last, section.visited == 0, last.isStarting(input) {
        if last.isStanding(input) {
          consumed = last.fields.bytes.count
          return last
        }
        let same = StatusLine(of: last)
        line = same
        section.passStartLine(same.count)
      } else {
        guard
          let range = try section.nextLine(
            input, limits, tooLong: .fieldLineTooLong, tooLarge: .headTooLarge)
        else { return nil }
        line = try StatusLine(input, range)
      }
    }
    guard let line, try fieldSection(input, line) else { return nil }
    consumed = section.lineStart
    let facts = section.facts
    let fields = Fields(
      bytes: Array(copying: input, through: consumed), lines: section.takeLines(), facts)
    reset()
    let head = ResponseHead(
      status: line.status, version: line.version, reason: line.reason, fields: fields,
      keepAlive: facts.keepAlive(line.version), announced: facts.announced)
    last = consumed <= Self.longest ? head : nil
    return head
  }
}

extension ResponseParser {
  private mutating func fieldSection(_ input: Span<UInt8>, _ line: StatusLine) throws(ParseError) -> Bool {
    guard let last else { return try section.parseFields(input, limits, line.version, request: false) }
    return try section.parseFields(input, limits, line.version, request: false, known: last.fields)
  }
}

extension ResponseHead {
  /// Whether the input begins with the same status line.
  fileprivate func isStarting(_ input: Span<UInt8>) -> Bool {
    let bytes = fields.bytes
    return input.equals(0..<StatusLine(of: self).count, bytes.span, from: 0)
  }

  /// Whether the input begins with the same head, as far as the rest of it goes.
  fileprivate func isStanding(_ input: Span<UInt8>) -> Bool {
    let (start, bytes) = (StatusLine(of: self).count, fields.bytes)
    return input.equals(start..<bytes.count, bytes.span, from: start)
  }
}

/// A status line taken apart.
private struct StatusLine: Sendable {
  let version: HTTPVersion
  let status: Int
  let reason: Range<Int>
  /// Its length in bytes with its CRLF.
  var count: Int { reason.upperBound &+ 2 }

  init(of head: ResponseHead) { (version, status, reason) = (head.version, head.status, head.reason) }

  init(_ input: Span<UInt8>, _ line: Range<Int>) throws(ParseError) {
    var end = line.lowerBound
    while end < line.upperBound, input[end] != 0x20 { end &+= 1 }
    version = try HTTPVersion(input, line.lowerBound..<end)
    let code = end &+ 1
    guard line.upperBound >= code &+ 3, let status = Decimal.parse(input, code..<code &+ 3) else {
      throw ParseError(.malformedStatusLine, at: end)
    }
    guard status >= 100, status <= 599 else { throw ParseError(.invalidStatus, at: code) }
    self.status = status
    // Many servers leave out the space before an empty reason, which RFC 9112 section 4 asks for.
    let space = code &+ 3
    guard space == line.upperBound || input[space] == 0x20 else {
      throw ParseError(.malformedStatusLine, at: space)
    }
    reason = min(space &+ 1, line.upperBound)..<line.upperBound
  }
}
