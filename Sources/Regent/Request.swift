// A request on its way through a chain: what was parsed, where it belongs, and what is known of it so far.
// Immutable: a provider that learns something throws it with `Unhandled`, and the chain hands on a new value.

public import RegentCaching
public import RegentHTTP
public import RegentLoop
public import RegentStorage

/// A request as providers see it.
public final class Request: Sendable {
  let routed: RoutedHead
  /// The request's own cache directives (RFC 9111 section 5.2.1).
  public let directives: RequestDirectives
  /// When it arrived: wall time in seconds, and monotonic time in nanoseconds.
  public let wall: Int64
  public let now: Int64
  /// The content, if there is any.
  public let body: (any RequestBody)?
  /// Whether there is any.
  var hasBody: Bool { body != nil }
  /// A stored response that could answer once it is validated.
  public let candidate: Candidate?
  /// Stored parts that could answer together with the one that is missing.
  public let missing: MissingPart?
  /// Stored responses none of which the request selects, most recent first: the origin may confirm one.
  public let variants: [Candidate]
  /// Why the nearest cache could not answer.
  public let forwarded: FwdReason
  /// Why what is stored in it could not answer by itself.
  let cause: MissReason?
  /// What the caches had removed when they passed the request on.
  let marks: RemovalMarks
  /// The method to be asked with: the client's own, or GET behind an answer to a HEAD.
  public let method: Method
  /// The client's connection, for interim responses; nil where no client waits.
  let client: LoopBound<ClientConnection>?
  /// Whether it is asked behind an answer that has left already.
  let isBehind: Bool
  let meters: LoopMeters

  init(
    _ routed: RoutedHead, directives: RequestDirectives, wall: Int64, now: Int64, body: (any RequestBody)?,
    candidate: Candidate? = nil, missing: MissingPart? = nil, variants: [Candidate] = [],
    forwarded: FwdReason = .bypass, cause: MissReason? = nil, marks: RemovalMarks = RemovalMarks(),
    method: Method? = nil,
    client: LoopBound<ClientConnection>? = nil, isBehind: Bool = false, meters: LoopMeters
  ) {
    self.isBehind = isBehind
    self.cause = cause
    self.marks = marks
    self.method = method ?? routed.head.method
    self.client = client
    self.routed = routed
    self.directives = directives
    self.wall = wall
    self.now = now
    self.body = body
    self.candidate = candidate
    self.missing = missing
    self.variants = variants
    self.forwarded = forwarded
    self.meters = meters
  }

  /// The head as it was parsed; conditions and ranges are the client's.
  public var head: RequestHead { routed.head }
  /// Its fields. `head.fields` would copy the whole head for them.
  var fields: Fields { routed.head.fields }
  /// The domain that the request belongs to.
  public var domain: Domain { routed.domain }
  /// Where path and query lie in the head's bytes; a domain's path prefix is left out already.
  public var path: Range<Int> { routed.path }
  public var query: Range<Int>? { routed.query }
  /// What the response is stored under: the origin's identity, the path and the query.
  public var key: RecordKey { routed.key }

  /// The protocols that it offers to go on with, as a field value; nil where it offers none that its domain lets through.
  var upgrade: [UInt8]? { isBehind ? nil : routed.upgrade }

  /// The path's bytes; "/" where the target had none.
  public var pathBytes: ArraySlice<UInt8> { path.isEmpty ? [0x2F] : fields.bytes[path] }
  /// The query's bytes, without the question mark; nil where there is none.
  public var queryBytes: ArraySlice<UInt8>? { query.map { fields.bytes[$0] } }

  /// The same request with what a provider found out.
  func learning(_ unhandled: Unhandled) -> Request {
    guard unhandled.candidate != nil || unhandled.reason != nil || unhandled.mark != nil else { return self }
    var marks = marks
    if let mark = unhandled.mark { marks.add(mark) }
    return Request(
      routed, directives: directives, wall: wall, now: now, body: body,
      candidate: Candidate.newer(candidate, unhandled.candidate), missing: missing ?? unhandled.missing,
      variants: variants.isEmpty ? unhandled.variants : variants,
      forwarded: forwarded.knowsNothing ? unhandled.reason ?? forwarded : forwarded,
      cause: cause ?? unhandled.cause, marks: marks, method: method, client: client,
      isBehind: isBehind, meters: meters)
  }

  /// The same request, to be asked for the whole of what the stored response was to stand for.
  func withoutCandidate() -> Request {
    Request(
      routed, directives: directives, wall: wall, now: now, body: body, forwarded: forwarded,
      cause: cause, marks: marks, method: method, client: client, isBehind: isBehind, meters: meters)
  }

  /// The same request with content that can be read again.
  func sending(_ content: any RequestBody) -> Request {
    Request(
      routed, directives: directives, wall: wall, now: now, body: content, candidate: candidate,
      missing: missing, variants: variants, forwarded: forwarded, cause: cause, marks: marks, method: method,
      client: client, isBehind: isBehind, meters: meters)
  }

  /// The request that revalidates a candidate behind an answer that has left already: no client, no directives, and
  /// GET, because what is stored is the response to one.
  func revalidating(_ candidate: Candidate) -> Request {
    var marks = marks
    if let mark = candidate.mark { marks.add(mark) }
    return Request(
      routed, directives: .none, wall: wall, now: now, body: nil, candidate: candidate, forwarded: .stale,
      marks: marks, method: .get, isBehind: true, meters: meters)
  }
}

extension FwdReason {
  /// Whether the cache that gave it had nothing stored: what the next one says is told instead.
  fileprivate var knowsNothing: Bool { self == .bypass || self == .uriMiss || self == .miss }
}

/// A request's content as it arrives. One provider reads it, once.
public protocol RequestBody: AnyObject, Sendable {
  /// How the content is framed.
  var framing: BodyFraming { get }
  /// Whether all of it was read.
  var isComplete: Bool { get }
  /// The next bytes; nil at the content's end. Throws when the client breaks off.
  func next() async throws -> Slice?
  /// Nobody wants the rest: whoever waits for it is woken and told so.
  func abandon()
}

/// A stored response that may answer after validation, or when the origin cannot.
// A class, and so is what is missing: most requests have none, and need no room for one.
public final class Candidate: Sendable {
  public let metadata: StoredMetadata
  public let body: ResponseBody
  /// The parts that the body is, where the response is not stored whole.
  public let parts: Parts?
  /// What the cache had removed when it was found.
  public let mark: RemovalMark?
  /// What its cache knows it by.
  let source: DiskRecord?
  private let stored: ResponseFields

  /// Its fields. They are taken apart only here: a stale answer needs them only if nobody revalidates already.
  public var fields: Fields { stored.parsed }

  public convenience init(metadata: StoredMetadata, fields: Fields, body: ResponseBody, parts: Parts? = nil) {
    self.init(metadata: metadata, fields: .parsed(fields), body: body, parts: parts, mark: nil)
  }

  init(
    metadata: StoredMetadata, fields: ResponseFields, body: ResponseBody, parts: Parts? = nil,
    mark: RemovalMark?, source: DiskRecord? = nil
  ) {
    self.metadata = metadata
    self.body = body
    self.parts = parts
    self.mark = mark
    self.source = source
    stored = fields
  }

  /// Of what two caches hold that which arrived later; the first one's where both arrived at once.
  static func newer(_ one: Candidate?, _ other: Candidate?) -> Candidate? {
    guard let one, let other else { return one ?? other }
    return other.metadata.responseTime > one.metadata.responseTime ? other : one
  }
}

/// Stored parts of a representation of which one contiguous piece is missing for a request (RFC 9111 section 3.4).
public final class MissingPart: Sendable {
  /// The stored response; its body is the parts, one behind the other.
  public let stored: Candidate
  /// Its parts.
  public let parts: Parts
  public let gap: Parts.Gap
  /// What identifies the representation; without it nothing can be combined.
  public let validator: StrongValidator?

  public init(stored: Candidate, parts: Parts, gap: Parts.Gap) {
    self.stored = stored
    self.parts = parts
    self.gap = gap
    validator = StrongValidator(stored.fields, date: stored.metadata.date)
  }
}
