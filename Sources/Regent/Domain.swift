// A domain as the daemon serves it: its number, its rules, and the identity under which its responses are stored.

public import RegentCaching
import RegentConfig
import RegentHTTP

/// One domain of the configuration.
public final class Domain: Sendable {
  /// The domain's number, from 0: its place in ``RequestDomain`` sets and in the counters.
  public let number: Int
  public let name: String
  let nameBytes: [UInt8]
  public let policy: CachePolicy
  /// What every key of the domain begins with: the origin's scheme, host and port.
  let keyPrefix: [UInt8]
  /// What the owner decided about keys, and whether that is anything.
  let keyRules: KeyRules
  let hasKeyRules: Bool
  /// For each target how often it was invalidated, where its keys hold more than the target.
  let generations: TargetGenerations?
  let names: DomainNames
  /// The protocols, in lower case, that its requests may go on with.
  let upgrades: [String]

  init(
    number: Int, name: String, policy: CachePolicy, keyPrefix: [UInt8], keyRules: KeyRules = KeyRules(),
    names: DomainNames = DomainNames(), upgrades: [String] = [],
    generations: TargetGenerations = TargetGenerations()
  ) {
    self.names = names
    self.upgrades = upgrades
    self.number = number
    self.name = name
    nameBytes = Array(name.utf8)
    self.policy = policy
    self.keyPrefix = keyPrefix
    self.keyRules = keyRules
    // What is never stored needs no key, and goes to the origin as it came.
    hasKeyRules = !keyRules.isPlain && policy.kind != .networkOnly
    self.generations = keyRules.fields.isEmpty ? nil : generations
  }

  /// What the key of a request begins with: the domain's prefix, and in a private one the partition of those who
  /// send these credentials.
  func keyStart(_ request: Fields, room: Int = 0) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(keyPrefix.count + room)
    key.append(contentsOf: keyPrefix)
    if policy.scope == .private { CacheKey.append(credentialsOf: request, onto: &key) }
    return key
  }

  /// The domain of a configuration's entry.
  convenience init(
    number: Int, _ entry: RegentConfig.Domain, generations: TargetGenerations = TargetGenerations()
  ) {
    var prefix: [UInt8] = []
    if let upstream = entry.upstream {
      CacheKey.append(
        scheme: upstream.scheme == .https ? .https : .http, host: upstream.host.utf8, port: upstream.port,
        path: upstream.basePath.utf8, query: String.UTF8View?.none, onto: &prefix)
    }
    // Domains of one origin may differ in their rules and in what their fixtures hold: they share nothing.
    CacheKey.append(component: entry.name.utf8, onto: &prefix)
    let policy = CachePolicy(entry)
    // What was stored for all is not found by one client's key, nor the reverse, should the scope change.
    if policy.scope == .private { CacheKey.append(component: "private".utf8, onto: &prefix) }
    self.init(
      number: number, name: entry.name, policy: policy, keyPrefix: prefix, keyRules: KeyRules(entry),
      names: DomainNames(entry), upgrades: entry.upgrade, generations: generations)
  }
}

extension CachePolicy {
  init(_ entry: RegentConfig.Domain) {
    self.init(
      kind: CachePolicy.Kind(rawValue: entry.policy.rawValue) ?? .http, ttl: entry.ttl?.wholeSeconds,
      stale: entry.stale?.wholeSeconds, staleIfError: entry.staleIfError?.wholeSeconds,
      heuristicMaximum: entry.heuristicMaximum.wholeSeconds, heuristicForQueries: entry.heuristicForQueries,
      honoursRequestDirectives: entry.requestDirectives)
    minimumTTL = entry.minimumTTL?.wholeSeconds ?? 0
    maximumTTL = entry.maximumTTL?.wholeSeconds ?? .max
    heuristicPercent = Int32(clamping: entry.heuristicPercent)
    scope = entry.scope
    setCookie = entry.setCookie
    for row in entry.negativeTTL.rows { negativeTTL.append(row.statuses, seconds: row.ttl.wholeSeconds) }
  }
}

extension KeyRules {
  init(_ entry: RegentConfig.Domain) {
    self.init(
      ignoredQuery: entry.ignoreQuery.map { NamePattern($0) }, sortsQuery: entry.sortQuery,
      // The origin is told which host the client asked, and may answer by it.
      fields: entry.keyFields + (entry.manners.forwarded == .none ? [] : ["host"]),
      normalizes: entry.normalize.compactMap { NegotiationField(rawValue: $0.rawValue) })
  }
}

extension Duration {
  /// Whole seconds, clamped to what RFC 9111 section 1.2.2 asks of delta-seconds.
  var wholeSeconds: Int32 { Int32(clamping: components.seconds) }
}
