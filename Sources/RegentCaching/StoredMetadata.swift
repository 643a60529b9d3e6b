// What is known of a stored response for deciding its reuse: a fixed-size value that lives encoded inside the
// record, so that a lookup decides without touching the head. Times are wall-clock seconds since 1970.

public import RegentHTTP

/// The facts about a stored response on which its reuse depends (RFC 9111 section 4.2).
public struct StoredMetadata: Sendable, Equatable {
  /// The directives and properties that count after storing. The bits are part of the record's format.
  public struct Flags: OptionSet, Sendable, Equatable {
    public let rawValue: UInt16
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let mustRevalidate = Flags(rawValue: 1 << 0)
    public static let proxyRevalidate = Flags(rawValue: 1 << 1)
    /// The lifetime comes from `s-maxage`, which implies `proxy-revalidate` (section 5.2.2.10).
    public static let sharedMaxAge = Flags(rawValue: 1 << 2)
    /// `no-cache` for the whole response.
    public static let noCache = Flags(rawValue: 1 << 3)
    public static let hasETag = Flags(rawValue: 1 << 4)
    public static let hasLastModified = Flags(rawValue: 1 << 5)
    /// The lifetime is a guess (section 4.2.2).
    public static let heuristic = Flags(rawValue: 1 << 6)
    public static let hasVary = Flags(rawValue: 1 << 7)
    /// The origin gave a lifetime that cannot be read; the response counts as stale.
    public static let invalidFreshness = Flags(rawValue: 1 << 8)
    /// Set-Cookie in a shared cache: only the origin's own lifetime counts, never the domain's `ttl`.
    public static let hasSetCookie = Flags(rawValue: 1 << 9)
    /// A request with Authorization brought or confirmed it: without the origin's permission it is not shared, even
    /// where a later 304 to somebody else leaves the permission out (section 3.5).
    public static let authorized = Flags(rawValue: 1 << 15)
    /// The lifetime is the domain's `negative-ttl`.
    public static let negative = Flags(rawValue: 1 << 13)
    /// The request that brought it had Cookie or Authorization, others may get it, and it is not `public`: as with
    /// ``hasSetCookie``, the origin's word alone counts (TRUST F6).
    public static let askedWithCredentials = Flags(rawValue: 1 << 14)

    /// What forbids the owner's settings to make a response fresher or more reusable than its origin did.
    static let originAlone: Flags = [.hasSetCookie, .askedWithCredentials]
  }

  public var status: UInt16
  public var flags: Flags
  /// When the response arrived.
  public var responseTime: Int64
  /// The origin's Date, or the arrival where there was none.
  public var date: Int64
  /// The age at arrival: corrected_initial_age of section 4.2.3.
  public var initialAge: Int32
  /// The freshness lifetime that the origin's fields give; 0 where they give none.
  public var lifetime: Int32
  /// RFC 5861 section 3, from the response; 0 where it has none.
  public var staleWhileRevalidate: Int32
  /// RFC 5861 section 4, from the response; 0 where it has none.
  public var staleIfError: Int32

  @inlinable
  public init(
    status: UInt16, flags: Flags = [], responseTime: Int64, date: Int64, initialAge: Int32 = 0,
    lifetime: Int32, staleWhileRevalidate: Int32 = 0, staleIfError: Int32 = 0
  ) {
    self.status = status
    self.flags = flags
    self.responseTime = responseTime
    self.date = date
    self.initialAge = initialAge
    self.lifetime = lifetime
    self.staleWhileRevalidate = staleWhileRevalidate
    self.staleIfError = staleIfError
  }

  /// The facts about a response that has just arrived, or has just been freshened.
  ///
  /// - Parameters:
  ///   - fields: The response's fields; after a 304, what ``Validation/freshened(stored:by:limit:)`` gave.
  ///   - received: The fields of the message that just came, where Date and Age are read; a 304's own.
  ///   - requestFields: The fields of the request that it answers: whether it came with credentials.
  ///   - requestTime: When the request left, for the delay in section 4.2.3.
  ///   - hasQuery: Whether the target has a query, to which heuristics do not apply by default.
  ///   - known: What `fields` say of caching, where that was read already.
  public init(
    status: UInt16, fields: borrowing Fields, received: Fields? = nil,
    requestFields: borrowing Fields = Fields(), requestTime: Int64, responseTime: Int64, policy: CachePolicy,
    hasQuery: Bool = false,
    directives known: ResponseDirectives? = nil
  ) {
    let directives = known ?? ResponseDirectives(fields)
    let isPrivate = policy.isPrivate(for: requestFields.present)
    let (date, age) =
      if let received {
        Age.initial(received, requestTime: requestTime, responseTime: responseTime)
      } else {
        Age.initial(fields, requestTime: requestTime, responseTime: responseTime)
      }
    let mayGuess = !hasQuery || policy.heuristicForQueries
    let freshness = Freshness(
      status: status, fields: fields, directives: directives, isPrivate: isPrivate, date: date,
      heuristics: .init(
        maximum: mayGuess ? policy.heuristicMaximum : 0, percent: policy.heuristicPercent))
    self.init(
      status: status, flags: freshness.flags, responseTime: responseTime, date: date,
      initialAge: age,
      lifetime: freshness.lifetime,
      staleWhileRevalidate: directives.staleWhileRevalidate.value ?? 0,
      staleIfError: directives.staleIfError.value ?? 0)
    note(directives, isPrivate: isPrivate)
    note(fields)
    if !isPrivate { note(fields, requestFields, isPublic: directives.flags.contains(.public)) }
    applyNegativeTTL(policy)
  }

  private mutating func note(_ directives: ResponseDirectives, isPrivate: Bool) {
    if directives.flags.contains(.mustRevalidate) { flags.insert(.mustRevalidate) }
    // It is not for one client's cache (section 5.2.2.8).
    if directives.flags.contains(.proxyRevalidate), !isPrivate { flags.insert(.proxyRevalidate) }
    if directives.flags.contains(.noCache) { flags.insert(.noCache) }
  }

  private mutating func note(_ fields: Fields) {
    if fields.contains(.etag) { flags.insert(.hasETag) }
    if fields.contains(.lastModified) { flags.insert(.hasLastModified) }
    if fields.contains(.vary) { flags.insert(.hasVary) }
  }

  /// What others might get of one client's.
  private mutating func note(_ fields: Fields, _ request: Fields, isPublic: Bool) {
    if fields.contains(.setCookie) { flags.insert(.hasSetCookie) }
    if !isPublic, request.contains(.cookie) || request.contains(.authorization) {
      flags.insert(.askedWithCredentials)
      // A guess is not the origin's word.
      if flags.contains(.heuristic) { lifetime = 0 }
    }
  }

  /// The owner's lifetime of an error counts from the arrival, whatever its age says.
  private mutating func applyNegativeTTL(_ policy: CachePolicy) {
    guard status >= 400, isOwners, let seconds = policy.negativeTTL.seconds(status)
    else { return }
    let sum = initialAge.addingReportingOverflow(min(seconds, policy.maximumTTL))
    lifetime = sum.overflow ? .max : sum.partialValue
    flags.insert(.negative)
    flags.remove([.heuristic, .invalidFreshness])
  }

  /// Whether the owner's settings may make the response fresher or more reusable than its origin did.
  @inline(__always)
  var isOwners: Bool { flags.isDisjoint(with: .originAlone) }

  /// Whether the origin can be asked with a condition.
  public var hasValidator: Bool { !flags.isDisjoint(with: [.hasETag, .hasLastModified]) }
}
