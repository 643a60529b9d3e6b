// RFC 9111 section 2: what names a stored response. Every component is preceded by its length, so that no two
// targets can share a key, whatever bytes they are made of. GET and HEAD share keys: the method is not in it.
// Path and query are taken as they came; only the host's case is folded.

public import RegentHTTP

/// Builds the bytes of a cache key.
public enum CacheKey {
  /// The scheme's tag in a key.
  public enum Scheme: UInt8, Sendable {
    case http = 1
    case https = 2
  }

  /// Appends the key of a target.
  ///
  /// - Parameters:
  ///   - host: As parsed from the authority, without the port.
  ///   - port: The port in force, also where it is the scheme's default.
  ///   - query: Without the question mark; nil where there is none, which differs from an empty one.
  @inlinable
  public static func append(
    scheme: Scheme, host: some Collection<UInt8>, port: UInt16, path: some Collection<UInt8>,
    query: (some Collection<UInt8>)?, onto key: inout [UInt8]
  ) {
    key.append(scheme.rawValue)
    key.append(UInt8(truncatingIfNeeded: port))
    key.append(UInt8(truncatingIfNeeded: port &>> 8))
    append(count: host.count, onto: &key)
    let start = key.count
    key.append(contentsOf: host)
    for index in start..<key.count where key[index] &- 0x41 < 26 { key[index] |= 0x20 }
    append(component: path, onto: &key)
    key.append(query == nil ? 0 : 1)
    if let query { append(component: query, onto: &key) }
  }

  /// Appends one more length-prefixed component, such as a partition of the key space.
  @inlinable
  public static func append(component: some Collection<UInt8>, onto key: inout [UInt8]) {
    append(count: component.count, onto: &key)
    key.append(contentsOf: component)
  }

  /// The count in groups of seven bits, least significant first.
  @inlinable
  static func append(count: Int, onto key: inout [UInt8]) {
    var rest = UInt(bitPattern: count)
    while rest >= 0x80 {
      key.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest = rest &>> 7
    }
    key.append(UInt8(truncatingIfNeeded: rest))
  }
}

extension CacheKey {
  /// Appends path and query to a key that begins with the origin's identity.
  @inlinable
  public static func appendTarget(
    path: some Collection<UInt8>, query: (some Collection<UInt8>)?, onto key: inout [UInt8]
  ) {
    append(component: path, onto: &key)
    key.append(query == nil ? 0 : 1)
    if let query { append(component: query, onto: &key) }
  }
}

extension CacheKey {
  /// The fields that carry credentials: who sends other values is another client.
  static let credentials: [FieldName] = [.authorization, .cookie]
  /// The length, in bytes, of what tells how often a target with keyed fields was invalidated.
  public static let generationCount = 4

  /// Appends the partition of a cache with scope `private`: all credentials of the request, each with its field and
  /// length. A request without any has a partition of its own, whose components no credentials can make.
  public static func append(credentialsOf fields: Fields, onto key: inout [UInt8]) {
    for name in credentials {
      let lines = fields.contains(name) ? fields.lines.filter { $0.name == name } : []
      append(count: lines.count, onto: &key)
      for line in lines { append(component: fields.bytes[line.valueRange], onto: &key) }
    }
  }
}

extension CachePolicy {
  /// Whether what answers this request may be kept as one client's. Without credentials nothing tells clients
  /// apart, and the rules of a shared cache hold (RFC 9111 section 5.2.2.7).
  ///
  /// - Parameter names: Which names occur among the request's fields.
  public func isPrivate(for names: FieldNameSet) -> Bool {
    scope == .private && (names.contains(.authorization) || names.contains(.cookie))
  }
}
