// The parsed heads of a request and of a response: places in one array of bytes, and what they mean for
// the framing. Values only; they are made by the parsers and never changed.

/// How much of a message head is taken before it is refused (TRUST D2).
public struct MessageLimits: Sendable, Equatable {
  /// The head in bytes, from the first byte of the start line through the empty line.
  public var head = 32 << 10
  /// One line in bytes, without its CRLF.
  public var line = 8 << 10
  /// The number of field lines.
  public var fields = 100

  public init() {}

  public init(head: Int, line: Int, fields: Int) {
    self.head = head
    self.line = line
    self.fields = fields
  }

  /// 32 KiB a head, 8 KiB a line, 100 fields.
  public static let standard = MessageLimits()
}

/// How a message's content is delimited (RFC 9112 section 6.3).
public enum BodyFraming: Sendable, Equatable {
  /// No content, not even an empty one.
  case none
  /// Exactly so many bytes; 0 where `Content-Length: 0` was said.
  case length(Int)
  case chunked
  /// Everything until the peer closes; responses only.
  case untilClose
}

/// A request target (RFC 9112 section 3.2) as ranges of the head's ``Fields/bytes``.
public struct RequestTarget: Sendable, Equatable {
  public enum Form: UInt8, Sendable { case origin, absolute, authority, asterisk }

  /// The scheme that an absolute form names.
  public enum Scheme: UInt8, Sendable { case http, https }

  public let form: Form
  /// The scheme of an absolute form; nil for the other forms.
  public let scheme: Scheme?
  /// The whole target as it came.
  public let raw: Range<Int>
  /// The path as it came, beginning with "/". It is empty for the asterisk and authority forms, and for an
  /// absolute form without a path: that one means "/" (``pathIsRoot``), or "*" with OPTIONS.
  public let path: Range<Int>
  /// The query without its "?"; nil where there is no "?", empty where nothing follows it.
  public let query: Range<Int>?

  /// Whether the target is an absolute form with an empty path, which stands for "/" (RFC 9110 section 4.2.3).
  public var pathIsRoot: Bool { form == .absolute && path.isEmpty }
}

/// The head of a request.
public struct RequestHead: Sendable {
  public let method: Method
  public let version: HTTPVersion
  public let target: RequestTarget
  /// The field lines; their bytes hold the whole head from its first byte.
  public let fields: Fields
  /// How the content is delimited; never ``BodyFraming/untilClose``.
  public let framing: BodyFraming
  /// Whether the client wants the connection kept (RFC 9112 section 9.3).
  public let keepAlive: Bool
  /// Whether an HTTP/1.1 client waits for a 100 before it sends content (RFC 9110 section 10.1.1).
  public let expectsContinue: Bool
  /// Whether the client asks for another protocol: an Upgrade field that Connection names, on HTTP/1.1
  /// (RFC 9110 section 7.8).
  public let upgrades: Bool
  /// The host in ``fields``' bytes: lowercase, an IPv6 literal with its brackets, without port and without
  /// one trailing dot. Empty only for an HTTP/1.0 request that names none.
  public let host: Range<Int>
  /// The port that was written after the host; nil where there was none.
  public let port: UInt16?
}

extension RequestHead {
  /// The same head over other fields, whose bytes begin with those of its own; nil where they do not.
  public func with(_ other: Fields) -> RequestHead? {
    guard other.bytes.count >= fields.bytes.count else { return nil }
    return RequestHead(
      method: method, version: version, target: target, fields: other, framing: framing, keepAlive: keepAlive,
      expectsContinue: expectsContinue, upgrades: upgrades, host: host, port: port)
  }
}

/// The head of a response.
// A class: it is handed through many steps, and the same one serves again where an origin sends the same.
public final class ResponseHead: Sendable {
  /// 100 to 599.
  public let status: Int
  public let version: HTTPVersion
  /// The reason phrase in ``fields``' bytes; it may be empty.
  public let reason: Range<Int>
  /// The field lines; their bytes hold the whole head from its first byte.
  public let fields: Fields
  /// Whether the server keeps the connection, as far as its fields say; content until close ends it too.
  public let keepAlive: Bool
  /// What Content-Length or Transfer-Encoding say; nil where there is neither.
  let announced: BodyFraming?

  init(
    status: Int, version: HTTPVersion, reason: Range<Int>, fields: Fields, keepAlive: Bool,
    announced: BodyFraming?
  ) {
    self.status = status
    self.version = version
    self.reason = reason
    self.fields = fields
    self.keepAlive = keepAlive
    self.announced = announced
  }

  /// A head that no server sent, such as a stored or canned one; nil where the status is not 100 to 599 or
  /// Content-Length is no number.
  public convenience init?(status: Int, fields: Fields) {
    guard status >= 100, status <= 599 else { return nil }
    var announced: BodyFraming?
    if fields.contains(.transferEncoding) {
      announced = .chunked
    } else if let value = fields.first(.contentLength) {
      guard let length = Decimal.parse(value) else { return nil }
      announced = .length(length)
    }
    self.init(
      status: status, version: .http11, reason: 0..<0, fields: fields, keepAlive: true, announced: announced)
  }

  /// The number that Content-Length announces; nil where there is none.
  public var contentLength: Int? { if case .length(let length)? = announced { length } else { nil } }

  /// How the content of this answer to a request with this method is delimited (RFC 9112 section 6.3).
  ///
  /// HEAD, 1xx, 204, 304 and a 2xx to CONNECT have none, whatever the fields announce. What contradicts
  /// itself was refused by the parser.
  public func framing(answering method: Method) throws(ParseError) -> BodyFraming {
    if method == .head || status < 200 || status == 204 || status == 304 { return .none }
    if method == .connect && status < 300 { return .none }
    return announced ?? .untilClose
  }
}
