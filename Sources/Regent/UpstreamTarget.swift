// What all loops share of a domain's origin: how it is, and how its failures are repeated.

import RegentConfig

extension UpstreamProvider {
  /// One domain's origin.
  final class Target: Sendable {
    let health: OriginHealth
    let retrying: RetryRules
    /// Nil where there is one address only.
    let addresses: AddressTable?
    /// Whether requests carry what the owner added, as whom they are then made: fields, parameters, a certificate.
    let speaksForOwner: Bool
    /// How long the origin may say nothing to an expectation.
    let expectWait: Duration

    private init(
      _ health: OriginHealth, _ retrying: RetryRules, _ domain: RegentConfig.Domain
    ) {
      self.health = health
      self.retrying = retrying
      addresses = AddressTable(domain)
      speaksForOwner =
        !domain.manners.fields.isEmpty || !domain.manners.query.isEmpty || domain.tls.certificate != nil
      expectWait = domain.manners.expectWait
    }

    /// The origins of a configuration, by the domains' numbers. Domains that are served by one origin, and have the same
    /// ideas of when it is ill, share its health.
    static func all(
      of configuration: Configuration, _ policies: [String: any RetryPolicy], _ log: ServerLog?
    ) -> [Target?] {
      var known: [(addresses: [UpstreamAddress], breaking: Breaking, budget: Int, health: OriginHealth)] = []
      return configuration.domains.map { domain in
        guard let url = domain.upstream else { return nil }
        let (breaking, budget) = (domain.breaking, domain.retrying.budget)
        let shared = known.first {
          $0.addresses.areSameOrigin(as: domain.upstreams) && $0.breaking == breaking && $0.budget == budget
        }
        let health =
          shared?.health
          ?? OriginHealth(
            url.origin, breaking: breaking, retryBudget: budget, log: log)
        if shared == nil { known.append((domain.upstreams, breaking, budget, health)) }
        return Target(health, RetryRules(domain.retrying, policy: policies[domain.name]), domain)
      }
    }
  }
}

extension UpstreamProvider {
  /// The health of the origins of these domains, by the domains' names.
  func healths(of domains: [Domain]) -> [(name: String, health: OriginHealth)] {
    zip(domains, targets).compactMap { domain, target in target.map { (domain.name, $0.health) } }
  }
}

extension UpstreamProvider {
  /// Whether one of a domain's addresses is out of turn.
  func isOut(_ address: Int, of domain: Int, now: Int64) -> Bool {
    targets[domain]?.addresses.map { $0.outUntil(address) > now } ?? false
  }
}

extension UpstreamURL {
  /// The URL without its path.
  fileprivate var origin: String { "\(scheme.rawValue)://\(socket.map { "unix:\($0)" } ?? authority)" }
}

extension [UpstreamAddress] {
  /// Whether both lead to the same servers, whatever the path there.
  fileprivate func areSameOrigin(as other: [UpstreamAddress]) -> Bool {
    map(\.url.origin) == other.map(\.url.origin)
  }
}
