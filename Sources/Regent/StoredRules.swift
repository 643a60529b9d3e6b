// By which rules stored responses are judged while no daemon is asked: those of a configuration's domains, or HTTP's own
// where there is no configuration.

import RegentCaching
import RegentConfig

/// The domains that a cache's directory may be about.
struct StoredRules: Sendable {
  /// Nil without a configuration.
  private let domains: [[UInt8]: Domain]?
  let router: Router?
  private let names: [[UInt8]]
  /// Those in force; nil where the directory keeps none.
  private let generations: TargetGenerations?

  init(_ configuration: Configuration?, _ generations: TargetGenerations?) {
    self.generations = generations
    guard let configuration else {
      (domains, router, names) = (nil, nil, [])
      return
    }
    let all = configuration.domains.enumerated().map { Domain(number: $0, $1) }
    domains = Dictionary(all.map { ($0.nameBytes, $0) }) { first, _ in first }
    router = Router(
      configuration.domains, admin: all.count, pathPrefixes: configuration.server.pathPrefixes)
    names = all.map(\.nameBytes)
  }

  func domain(_ name: [UInt8]) -> Domain? { domains?[name] }

  /// The domain with this number; nil for the admin pages' own.
  func domain(number: Int) -> Domain? { number < names.count ? domains?[names[number]] : nil }

  func policy(_ parts: CacheKeyParts) -> CachePolicy { domain(parts.domain)?.policy ?? CachePolicy() }

  /// Why no request has this key any more; nil where one may have it, or where nobody can tell.
  func obstacle(_ key: [UInt8], _ parts: CacheKeyParts) -> String? {
    if let changed = change(key, parts) { return changed }
    guard let generations, let (target, generation) = parts.generation(in: key) else { return nil }
    return generations.current(of: target) == generation
      ? nil : "invalidated: another generation of its target is in force"
  }

  /// What the configuration has changed since the key was made.
  private func change(_ key: [UInt8], _ parts: CacheKeyParts) -> String? {
    guard domains != nil else { return nil }
    guard let domain = domain(parts.domain) else {
      return "the configuration has no domain \"\(Shown.text(parts.domain))\""
    }
    if !key.starts(with: domain.keyPrefix) { return "its domain has another origin or scope now" }
    if domain.policy.scope == .shared, parts.credentials != nil { return "its domain is shared now" }
    let keyed = domain.hasKeyRules ? domain.keyRules.fields.count : 0
    return keyed == parts.fields.count ? nil : "its domain keys other fields now"
  }

  /// The names of the fields that the key has values of; nil where they are not known.
  func fieldNames(_ parts: CacheKeyParts) -> [[UInt8]]? {
    guard let fields = domain(parts.domain)?.keyRules.fields, fields.count == parts.fields.count else {
      return nil
    }
    return fields
  }
}
