// RFC 9111 section 4.4: a successful unsafe request makes what is stored about its target untrue, and about the
// same-origin targets that its response names. To invalidate too much is safe; another origin's is never touched.

public import RegentHTTP

/// When a request invalidates stored responses, and which.
public enum Invalidation {
  /// Whether stored responses for the target are to be invalidated, and those for
  /// ``sameOriginTarget(_:of:path:)`` of the response's Location and Content-Location.
  ///
  /// Methods that are not registered as safe count as unsafe; an error changes nothing.
  public static func applies(method: Method, status: UInt16) -> Bool {
    !method.isSafe && status >= 200 && status < 400
  }

  /// The target that a reference names, if it is of the same origin; nil otherwise (RFC 3986 section 5.2).
  ///
  /// - Parameters:
  ///   - reference: The value of Location or Content-Location.
  ///   - path: The path of the request, against which a relative reference is read.
  public static func sameOriginTarget(
    _ reference: ArraySlice<UInt8>, of origin: Origin, path: ArraySlice<UInt8>
  ) -> Target? {
    var rest = reference.prefix { $0 != 0x23 }
    let hasScheme = consumeScheme(&rest, origin)
    guard hasScheme != nil else { return nil }
    let hasAuthority = rest.starts(with: [0x2F, 0x2F])
    if hasAuthority {
      let authority = rest.dropFirst(2).prefix { $0 != 0x2F && $0 != 0x3F }
      guard origin.isNamed(by: authority) else { return nil }
      rest = rest[authority.endIndex...]
    } else if hasScheme == true {
      return nil
    }
    let ownPath = rest.prefix { $0 != 0x3F }
    let query = ownPath.endIndex < rest.endIndex ? Array(rest[(ownPath.endIndex + 1)...]) : nil
    if ownPath.isEmpty { return Target(path: hasAuthority ? [0x2F] : Array(path), query: query) }
    let isAbsolute = ownPath.first == 0x2F
    let directory = path.lastIndex(of: 0x2F).map { path[...$0] } ?? []
    return Target(path: withoutDots(isAbsolute ? ownPath : directory + ownPath), query: query)
  }

  /// Whether there was the origin's scheme; nil where there was another.
  private static func consumeScheme(_ rest: inout ArraySlice<UInt8>, _ origin: Origin) -> Bool? {
    guard let colon = rest.firstIndex(where: { [0x3A, 0x2F, 0x3F].contains($0) }), rest[colon] == 0x3A
    else { return false }
    let name = origin.scheme == .http ? "http" : "https"
    guard rest[..<colon].equalsIgnoringCase(name.utf8) else { return nil }
    rest = rest[(colon + 1)...]
    return true
  }

  /// Resolves the segments `.` and `..` (RFC 3986 section 5.2.4).
  private static func withoutDots(_ path: ArraySlice<UInt8>) -> [UInt8] {
    var kept: [ArraySlice<UInt8>] = []
    let segments = path.dropFirst().split(separator: 0x2F, omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isUp = segment.elementsEqual([0x2E, 0x2E])
      guard isUp || segment.elementsEqual([0x2E]) else {
        kept.append(segment)
        continue
      }
      if isUp { _ = kept.popLast() }
      if index == segments.count - 1 { kept.append([]) }
    }
    return [0x2F] + Array(kept.joined(separator: [0x2F]))
  }
}

extension Invalidation {
  /// One of the names under which a target is known: to clients, or to its origin.
  public struct Place: Sendable {
    public var origin: Origin
    /// The path of the request under this name.
    public var path: [UInt8]
    /// Its query, which an empty reference names with it; nil where there is none.
    public var query: [UInt8]?
    /// The part in front of it that a key leaves out; empty, or with a slash at its beginning and none at its end.
    public var base: [UInt8]

    public init(_ origin: Origin, path: [UInt8], query: [UInt8]? = nil, base: [UInt8] = []) {
      self.origin = origin
      self.path = path
      self.query = query
      self.base = base
    }

    /// The target that a reference names here, as it stands in a key; nil where it names none of this place.
    public func target(_ reference: ArraySlice<UInt8>) -> Target? {
      guard var target = Invalidation.sameOriginTarget(reference, of: origin, path: path[...]) else {
        return nil
      }
      if reference.first ?? 0x23 == 0x23 { target.query = query }
      guard target.path.starts(with: base) else { return nil }
      let rest = target.path.dropFirst(base.count)
      guard base.isEmpty || rest.isEmpty || rest.first == 0x2F else { return nil }
      target.path = rest.isEmpty ? [0x2F] : Array(rest)
      return target
    }
  }

  /// The host and the port of a reference that has an authority; the host as it is written, the port of its scheme
  /// where it names none. Nil for all others, also for those with user information.
  public static func authority(
    of reference: ArraySlice<UInt8>
  ) -> (scheme: CacheKey.Scheme, host: ArraySlice<UInt8>, port: UInt16)? {
    guard let colon = reference.firstIndex(of: 0x3A) else { return nil }
    let name = reference[..<colon]
    let isTLS = name.equalsIgnoringCase("https".utf8)
    guard isTLS || name.equalsIgnoringCase("http".utf8), reference[(colon + 1)...].starts(with: [0x2F, 0x2F])
    else { return nil }
    let whole = reference[(colon + 3)...].prefix { ![0x2F, 0x3F, 0x23].contains($0) }
    guard !whole.isEmpty, !whole.contains(0x40) else { return nil }
    let afterLiteral = whole.lastIndex(of: 0x5D) ?? whole.startIndex
    let end = whole[afterLiteral...].firstIndex(of: 0x3A) ?? whole.endIndex
    let digits = whole[end...].dropFirst()
    guard let port = digits.isEmpty ? (isTLS ? 443 : 80) : Decimal.parse(digits),
      let port = UInt16(exactly: port)
    else { return nil }
    return (isTLS ? .https : .http, whole[..<end], port)
  }
}

extension Invalidation {
  /// A path with its query, as they stand in a key.
  public struct Target: Sendable, Equatable {
    public var path: [UInt8]
    /// Without the question mark; nil where there is none.
    public var query: [UInt8]?
  }

  /// What makes two targets of one origin (RFC 9110 section 4.3.1).
  public struct Origin: Sendable {
    public var scheme: CacheKey.Scheme
    public var host: [UInt8]
    public var port: UInt16

    public init(scheme: CacheKey.Scheme, host: [UInt8], port: UInt16) {
      self.scheme = scheme
      self.host = host
      self.port = port
    }

    /// Whether an authority without user information is this origin's.
    func isNamed(by authority: ArraySlice<UInt8>) -> Bool {
      let afterLiteral = authority.lastIndex(of: 0x5D) ?? authority.startIndex
      let colon = authority[afterLiteral...].firstIndex(of: 0x3A) ?? authority.endIndex
      guard authority[..<colon].equalsIgnoringCase(host) else { return false }
      let digits = authority[colon...].dropFirst()
      return (digits.isEmpty ? (scheme == .http ? 80 : 443) : Decimal.parse(digits)) == Int(port)
    }
  }
}
