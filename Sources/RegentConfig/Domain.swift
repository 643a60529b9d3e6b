// A domain as configured: which requests are its own, and where their answers come from.

public import RegentCaching

/// A set of requests that share an origin and a policy.
public struct Domain: Sendable, Equatable {
  /// The name: a DNS label in lower case, unique; the domain answers at `name.localhost`.
  public var name: String
  /// The further host names that it answers at; the port is never looked at.
  public var hosts: [HostPattern] = []
  /// The paths that are its own; empty stands for every path.
  public var paths: [PathPattern] = []
  /// The methods that are its own, in upper case; empty stands for every method.
  public var methods: [String] = []
  /// The origin's addresses; none for a domain that fixtures alone answer.
  public var upstreams: [UpstreamAddress] = []
  /// How requests are spread over them.
  public var balance = Balance()
  /// Canned answers, written in the configuration itself.
  public var fixtures: [Fixture] = []
  /// A folder of canned answers: an absolute path, or one relative to where the daemon started.
  public var folder: String?
  /// How stored responses and the origin are weighed.
  public var policy = Policy.http
  /// The freshness lifetime of its responses, whatever the origin says.
  public var ttl: Duration?
  /// The least that a freshness lifetime may be,
  public var minimumTTL: Duration?
  /// and the most.
  public var maximumTTL: Duration?
  /// How long beyond its freshness lifetime a stored response may be served while Regent revalidates it.
  public var stale: Duration?
  /// How long beyond its freshness lifetime a stored response may stand in for an origin that fails.
  public var staleIfError: Duration?
  /// How long errors are fresh, by their status.
  public var negativeTTL = NegativeTTLs()
  /// The longest lifetime that is guessed where the origin names none.
  public var heuristicMaximum = Duration.seconds(86_400)
  /// The share of the time since Last-Modified that is guessed, in per cent.
  public var heuristicPercent = 10
  /// Whether lifetimes are guessed for targets with a query.
  public var heuristicForQueries = false
  /// Whether the clients' Cache-Control and Pragma count.
  public var requestDirectives = true
  /// Who may be given what is stored.
  public var scope = CachePolicy.Scope.shared
  /// What becomes of responses with Set-Cookie.
  public var setCookie = CachePolicy.SetCookie.store
  /// Query parameters that are neither keyed nor sent on; `*` at the end stands for any rest.
  public var ignoreQuery: [String] = []
  /// Whether query parameters are keyed and sent in the order of their names.
  public var sortQuery = false
  /// Request fields whose values are part of the key.
  public var keyFields: [String] = []
  /// Negotiation fields whose values are keyed, compared and sent in one spelling.
  public var normalize: [NegotiationField] = []
  /// How requests are repeated that the origin failed.
  public var retrying = Retrying()
  /// When the origin is left alone.
  public var breaking = Breaking()
  /// How the proxy that leads to the origin is chosen.
  public var proxy = ProxyChoice.environment
  /// How the origin and Regent prove who they are.
  public var tls = TLS()
  /// How the origin is asked.
  public var manners = Manners()
  /// The protocols, in lower case, that its connections may be switched to.
  public var upgrade = ["websocket"]
  /// Whether it answers for localhost itself; true for one domain at most.
  public var isDefault = false

  public init(name: String) { self.name = name }

  /// Fields of content negotiation.
  public enum NegotiationField: String, CaseIterable, Sendable {
    case acceptEncoding = "accept-encoding"
    case acceptLanguage = "accept-language"
  }

  /// How stored responses and the origin are weighed.
  public enum Policy: String, CaseIterable, Sendable {
    /// As RFC 9111 says.
    case http
    /// The origin answers always.
    case networkOnly = "network-only"
    /// What is stored answers, whatever its age; the origin answers what is not.
    case cacheFirst = "cache-first"
    /// What is stored answers at once, and the origin's answer replaces it.
    case cacheThenNetwork = "cache-then-network"
    /// What is stored answers within `stale`, and is revalidated behind.
    case staleWhileRevalidate = "stale-while-revalidate"
  }
}

/// A host name that a domain answers at, in lower case.
public enum HostPattern: Sendable, Hashable {
  /// This host alone; an IPv6 address stands in its brackets.
  case exact(String)
  /// Every host that ends in a dot and this, as "*.example.org" does for `example.org`.
  case suffix(String)
}

/// The paths that a domain answers for.
public enum PathPattern: Sendable, Hashable {
  /// This path alone.
  case exact(String)
  /// Every path that begins so, as "/api/*" does for `/api/`.
  case prefix(String)
}

/// An answer that is written in the configuration.
public struct Fixture: Sendable, Equatable {
  /// The path that it answers, without a query.
  public var path: String
  /// The status code, 200 to 599.
  public var status = 200
  /// The field lines, in order.
  public var fields: [FixtureField] = []
  public var body = Body.text("")
  /// How long the answer is held back.
  public var delay: Duration?
  /// The age that the answer claims, in whole seconds (RFC 9111 section 5.1).
  public var age: Duration?

  public init(path: String) { self.path = path }

  /// Where a fixture's body comes from.
  public enum Body: Sendable, Equatable {
    case text(String)
    /// A file: an absolute path, or one relative to where the daemon started.
    case file(String)
  }
}

/// A field line of a fixture.
public struct FixtureField: Sendable, Equatable {
  public var name: String
  public var value: String

  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// A provider in the chain, and the domains that it serves.
public struct ProviderEntry: Sendable, Equatable {
  public var kind: Kind
  public var domains = Domains.any

  public init(kind: Kind, domains: Domains = .any) {
    self.kind = kind
    self.domains = domains
  }

  /// The providers there are, in the default order of the chain.
  public enum Kind: String, CaseIterable, Sendable {
    case memory, disk, fixtures, upstream
  }

  /// The domains that a provider serves.
  public enum Domains: Sendable, Equatable {
    case any
    case named([String])
  }
}
