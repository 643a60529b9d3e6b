// A key taken apart again, for people who look at what is stored. The bytes may be anybody's: what no domain's key can
// be is nil, each length is written in one way only, and nothing here can trap.
//
// A key is [origin: scheme, port, host, its base path, no query; not where a domain has none] [the domain's name]
// [in a private one "private", then for each field with credentials how many lines, and each] [path and query]
// [where request fields are keyed: how often the target was invalidated, and each field, present or not].

/// What a key was made of.
public struct CacheKeyParts: Sendable, Equatable {
  /// Where the responses come from.
  public struct Origin: Sendable, Equatable {
    public var scheme: CacheKey.Scheme
    /// In small letters; an IPv6 address without brackets.
    public var host: [UInt8]
    public var port: UInt16
    /// What precedes every path; empty or beginning with a slash.
    public var basePath: [UInt8]

    public init(scheme: CacheKey.Scheme, host: [UInt8], port: UInt16, basePath: [UInt8] = []) {
      (self.scheme, self.host, self.port, self.basePath) = (scheme, host, port, basePath)
    }
  }

  /// Nil for a domain without an upstream.
  public var origin: Origin?
  public var domain: [UInt8]
  /// How many lines of credentials tell whose it is; nil where it is for all. The credentials themselves are not told.
  public var credentials: Int?
  public var path: [UInt8]
  /// Nil where there is none, which differs from an empty one.
  public var query: [UInt8]?
  /// The values of the keyed request fields, in the domain's order; nil for one that the request did not have.
  public var fields: [[UInt8]?]

  public init(
    origin: Origin?, domain: [UInt8], credentials: Int? = nil, path: [UInt8], query: [UInt8]? = nil,
    fields: [[UInt8]?] = []
  ) {
    (self.origin, self.domain, self.credentials) = (origin, domain, credentials)
    (self.path, self.query, self.fields) = (path, query, fields)
  }

  /// Takes a key apart; nil for bytes that are none.
  public init?(_ key: [UInt8]) {
    // A domain of one or two letters without an origin begins like a scheme: then what follows is no origin.
    guard let parts = Self.read(key, hasOrigin: true) ?? Self.read(key, hasOrigin: false) else { return nil }
    self = parts
  }

  /// The key of the target alone, and what tells how often that was invalidated, out of the key that these are the parts
  /// of; nil where no fields are keyed.
  public func generation(in key: [UInt8]) -> (target: [UInt8], generation: [UInt8])? {
    guard !fields.isEmpty else { return nil }
    var after: [UInt8] = []
    for field in fields {
      after.append(field == nil ? 0 : 1)
      if let field { CacheKey.append(component: field, onto: &after) }
    }
    // Its length takes one byte.
    let target = key.count - after.count - CacheKey.generationCount - 1
    guard target > 0 else { return nil }
    return (Array(key[..<target]), Array(key[(target + 1)...].prefix(CacheKey.generationCount)))
  }

  private static func read(_ key: [UInt8], hasOrigin: Bool) -> CacheKeyParts? {
    var reader = CacheKeyReader(key)
    var origin: Origin?
    if hasOrigin {
      origin = reader.origin()
      guard origin != nil else { return nil }
    }
    guard let domain = reader.component(), isName(domain), var next = reader.component() else { return nil }
    var credentials: Int?
    // A path begins with a slash.
    if next == Array("private".utf8) {
      credentials = reader.credentials()
      guard credentials != nil, let path = reader.component() else { return nil }
      next = path
    }
    guard next.first == 0x2F, isVisible(next), let query = reader.optionalComponent(),
      isVisible(query ?? []), let fields = reader.fields()
    else { return nil }
    return CacheKeyParts(
      origin: origin, domain: domain, credentials: credentials, path: next, query: query, fields: fields)
  }

  /// Whether these bytes may name a domain: a DNS label.
  private static func isName(_ bytes: [UInt8]) -> Bool {
    (1...63).contains(bytes.count)
      && bytes.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
  }

  /// Whether a parser lets these bytes be part of a target.
  static func isVisible(_ bytes: [UInt8]) -> Bool { bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F } }
}

/// Reads a key from its first byte on.
private struct CacheKeyReader {
  private let key: [UInt8]
  private var position = 0

  init(_ key: [UInt8]) { self.key = key }

  private mutating func byte() -> UInt8? {
    guard position < key.count else { return nil }
    defer { position += 1 }
    return key[position]
  }

  /// A count, of no more bytes than there are.
  private mutating func count() -> Int? {
    var (value, shift) = (0, 0)
    while let byte = byte(), shift <= 28 {
      value |= Int(byte & 0x7F) << shift
      if byte < 0x80 { return byte == 0 && shift > 0 || value > key.count ? nil : value }
      shift += 7
    }
    return nil
  }

  mutating func component() -> [UInt8]? {
    guard let count = count(), count <= key.count - position else { return nil }
    defer { position += count }
    return Array(key[position..<position + count])
  }

  /// A mark and, where that says so, a component: nil inside, where it does not, and outside, where neither is there.
  mutating func optionalComponent() -> [UInt8]?? {
    switch byte() {
    case 0: return .some(nil)
    case 1: return component().map { .some($0) }
    default: return .none
    }
  }

  mutating func origin() -> CacheKeyParts.Origin? {
    guard let scheme = byte().flatMap(CacheKey.Scheme.init), let low = byte(), let high = byte(),
      let host = component(), !host.isEmpty, CacheKeyParts.isVisible(host),
      !host.contains(where: { (0x41...0x5A).contains($0) }), let basePath = component(),
      basePath.isEmpty || basePath[0] == 0x2F, CacheKeyParts.isVisible(basePath), byte() == 0
    else { return nil }
    return CacheKeyParts.Origin(
      scheme: scheme, host: host, port: UInt16(low) | UInt16(high) << 8, basePath: basePath)
  }

  /// How many lines of credentials there are, over all the fields that may have them.
  mutating func credentials() -> Int? {
    var lines = 0
    for _ in CacheKey.credentials {
      guard let count = count() else { return nil }
      for _ in 0..<count where component() == nil { return nil }
      lines += count
    }
    return lines
  }

  /// The keyed fields; none where the key ends with its target.
  mutating func fields() -> [[UInt8]?]? {
    guard position < key.count else { return [] }
    guard component()?.count == CacheKey.generationCount else { return nil }
    var fields: [[UInt8]?] = []
    while position < key.count {
      guard let field = optionalComponent() else { return nil }
      fields.append(field)
    }
    return fields.isEmpty ? nil : fields
  }
}
