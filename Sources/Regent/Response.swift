// A response on its way back: a status, fields, a body, and how it came about.

public import RegentCaching
public import RegentHTTP
public import RegentLoop
public import RegentStorage

/// What a provider answers.
public struct Response: Sendable {
  public var status: Int
  public var fields: ResponseFields
  public var body: ResponseBody
  /// What the caches did (RFC 9211).
  public var cacheStatus: CacheStatus
  /// Whether the rules allow the caches that the request passed to store it.
  public var storability: Storability
  /// What is known of its freshness; nil for responses that no cache has or may have.
  public var metadata: StoredMetadata?
  /// The age in seconds to be sent, for a response from a store.
  public var age: Int32?
  /// What few responses have, kept apart so that the others stay small in every task they pass through.
  private var aside: Aside?

  private struct Rarities {
    var revalidation: Candidate?
    var failure: Failure?
    var parts: Parts?
    var seat: BodyReader?
    var switching: Switching?
  }

  private final class Aside: Sendable {
    let rarities: Rarities
    init(_ rarities: Rarities) { self.rarities = rarities }
  }

  private mutating func change(_ body: (inout Rarities) -> Void) {
    var rarities = aside?.rarities ?? Rarities()
    body(&rarities)
    aside = Aside(rarities)
  }

  /// The stored response to revalidate behind this one, which is served stale.
  public var revalidation: Candidate? {
    get { aside?.rarities.revalidation }
    set { change { $0.revalidation = newValue } }
  }

  /// What went wrong on the way, for Proxy-Status (RFC 9209).
  public var failure: Failure? {
    get { aside?.rarities.failure }
    set { change { $0.failure = newValue } }
  }

  /// The parts of a representation that the body is, one behind the other; nil for every other response. One with parts
  /// is a store's: what of it the client asked for is cut out as it leaves.
  public var parts: Parts? {
    get { aside?.rarities.parts }
    set { change { $0.parts = newValue } }
  }

  /// A reader at the body's first byte, for one that others read already: without it the beginning could be gone before
  /// this response's turn comes.
  var seat: BodyReader? {
    get { aside?.rarities.seat }
    set { change { $0.seat = newValue } }
  }

  /// What the connection becomes behind a 101; nil for every other response.
  var switching: Switching? {
    get { aside?.rarities.switching }
    set { change { $0.switching = newValue } }
  }

  public init(
    status: Int, fields: ResponseFields, body: ResponseBody,
    cacheStatus: CacheStatus = CacheStatus(.forwarded(.bypass)),
    storability: Storability = .refuse(.method), metadata: StoredMetadata? = nil
  ) {
    self.status = status
    self.fields = fields
    self.body = body
    self.cacheStatus = cacheStatus
    self.storability = storability
    self.metadata = metadata
  }

  /// A short answer of Regent's own in plain text, which nobody stores.
  public init(status: Int, text: String, fields extra: [(FieldName, String)] = []) {
    var fields = Fields()
    fields.append(.contentType, "text/plain; charset=utf-8".utf8)
    fields.append(.cacheControl, "no-store".utf8)
    for (name, value) in extra { fields.append(name, value.utf8) }
    self.init(status: status, fields: .parsed(fields), body: .whole(Slice(Array(text.utf8))))
  }
}

/// The fields of a response: parsed, or as a store keeps them, ready to be sent.
public enum ResponseFields: Sendable {
  case parsed(Fields)
  /// Lines as they are sent: those that many records share, and the record's own.
  case stored(shared: Block?, own: Slice)

  /// The fields, taken apart where they come from a store.
  public var parsed: Fields {
    switch self {
    case .parsed(let fields): return fields
    case .stored(let shared, let own):
      var fields = Fields()
      shared?.withBytes { StoredFields.append(linesOf: $0, to: &fields) }
      own.withBytes { StoredFields.append(linesOf: $0, to: &fields) }
      return fields
    }
  }
}

/// The body of a response.
public enum ResponseBody: Sendable {
  case empty
  case whole(Slice)
  case stream(BodyStream)
  /// On the disk, and read as it is sent.
  case file(DiskRecord)
  /// Put together from others.
  case composed(BodyPieces)

  /// Tells whoever fetches the body that nobody will read it: unless a store keeps it, the rest is not fetched. A body
  /// that is neither read nor left unread would hold its origin's connection for ever.
  func leaveUnread() {
    switch self {
    case .empty, .whole, .file: break
    case .stream(let stream): stream.makeReader()?.leave()
    case .composed(let pieces): for stream in pieces.streams { stream.makeReader()?.leave() }
    }
  }

  /// The length in bytes, where it is known already.
  public var count: Int? {
    switch self {
    case .empty: 0
    case .whole(let slice): slice.count
    case .stream(let stream): stream.isWhole ? stream.total : stream.expected
    case .file(let record): record.bodyCount
    case .composed(let pieces): pieces.count
    }
  }
}
