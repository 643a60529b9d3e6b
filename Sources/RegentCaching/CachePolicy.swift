// What the owner of a domain decided about its caching. The default changes nothing: RFC 9111 as it stands.
// Seconds everywhere, at most 2^31 - 1. Never read from the network; RegentConfig fills it.

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
    /// Serve what is stored at once, whatever its age, and revalidate behind it.
    case cacheThenNetwork = "cache-then-network"
    /// Serve stale within `stale` while revalidating behind it.
    case staleWhileRevalidate = "stale-while-revalidate"
  }

  /// The rule set.
  public var kind: Kind
  /// Replaces the freshness lifetime of a stored response below status 400, counted from its arrival here.
  public var ttl: Int32?
  /// How long after its freshness a response may be served while it is revalidated (RFC 5861 section 3).
  public var stale: Int32?
  /// How long after its freshness a response may replace an error of the origin (RFC 5861 section 4).
  public var staleIfError: Int32?
  /// The longest lifetime that heuristics may give (RFC 9111 section 4.2.2).
  public var heuristicMaximum: Int32
  /// Whether heuristics apply to targets with a query.
  public var heuristicForQueries: Bool
  /// Whether the client's Cache-Control and Pragma count (RFC 9111 section 5.2.1).
  public var honoursRequestDirectives: Bool

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
}
