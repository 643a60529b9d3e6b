// What the owner of a domain decided about its caching. The default changes nothing: RFC 9111 as it stands.
// Seconds everywhere, at most 2^31 - 1. Never read from the network; RegentConfig fills it. Plain bytes: a
// policy is read on every hit by every loop, so nothing in it may count references.

/// A domain's caching policy: which rules apply, and the settings that override the origin's.
public struct CachePolicy: Sendable, Equatable {
  /// The rule set, under the name that the configuration uses.
  public enum Kind: String, Sendable, CaseIterable {
    /// RFC 9111 and RFC 5861.
    case http
    /// Always fetch; neither store nor reuse.
    case networkOnly = "network-only"
    /// Serve what is stored and within `ttl`, whatever the origin said of its reuse; else fetch.
    case cacheFirst = "cache-first"
    /// Serve what is stored at once, whatever its age, and revalidate behind it, fresh or not.
    case cacheThenNetwork = "cache-then-network"
    /// Serve stale within `stale` while revalidating behind it.
    case staleWhileRevalidate = "stale-while-revalidate"
  }

  /// Who may be given a stored response (RFC 9111 section 1).
  public enum Scope: String, Sendable, CaseIterable {
    /// Every client.
    case shared
    /// The clients that send the same credentials; see ``CacheKey/append(credentialsOf:onto:)``.
    case `private`
  }

  /// What becomes of a response with Set-Cookie in a shared cache.
  public enum SetCookie: String, Sendable, CaseIterable {
    /// It is stored where its own fields give it explicit freshness or `public`.
    case store
    /// It is stored, and sent, without its Set-Cookie.
    case strip
    /// It is not stored.
    case refuse
  }

  /// The rule set.
  public var kind: Kind
  /// Replaces the freshness lifetime of a stored response below status 400, counted from its arrival here.
  public var ttl: Int32?
  /// The shortest lifetime of a response below status 400, whatever the origin says.
  public var minimumTTL: Int32 = 0
  /// The longest lifetime of any response, whatever the origin says.
  public var maximumTTL: Int32 = .max
  /// How long after its freshness a response may be served while it is revalidated (RFC 5861 section 3).
  public var stale: Int32?
  /// How long after its freshness a response may replace an error of the origin (RFC 5861 section 4).
  public var staleIfError: Int32?
  /// The longest lifetime that heuristics may give (RFC 9111 section 4.2.2); 0 forbids to guess.
  public var heuristicMaximum: Int32
  /// The share of the time since Last-Modified that a guess gives, in per cent.
  public var heuristicPercent: Int32 = 10
  /// Whether heuristics apply to targets with a query.
  public var heuristicForQueries: Bool
  /// Whether the client's Cache-Control and Pragma count (RFC 9111 section 5.2.1).
  public var honoursRequestDirectives: Bool
  /// Who may be given a stored response.
  public var scope = Scope.shared
  /// What becomes of Set-Cookie.
  public var setCookie = SetCookie.store
  /// How long errors are fresh.
  public var negativeTTL = NegativeTTL()

  public init(
    kind: Kind = .http, ttl: Int32? = nil, stale: Int32? = nil, staleIfError: Int32? = nil,
    heuristicMaximum: Int32 = 86_400, heuristicForQueries: Bool = false,
    honoursRequestDirectives: Bool = true
  ) {
    self.kind = kind
    self.ttl = ttl
    self.stale = stale
    self.staleIfError = staleIfError
    self.heuristicMaximum = heuristicMaximum
    self.heuristicForQueries = heuristicForQueries
    self.honoursRequestDirectives = honoursRequestDirectives
  }

  /// Whether the owner overruled `no-cache`: by saying what is to be served without asking.
  var overrulesNoCache: Bool { kind == .cacheThenNetwork || kind == .cacheFirst && ttl != nil }

  /// Whether an owner's setting alone may make a response below status 400 worth keeping.
  var keepsWhatOriginsDoNot: Bool {
    ttl ?? 0 > 0 || minimumTTL > 0 || kind == .cacheThenNetwork || stale ?? 0 > 0 || staleIfError ?? 0 > 0
  }
}
