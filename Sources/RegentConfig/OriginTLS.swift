// How a domain's origin proves who it is, and how Regent proves itself to it. Verification cannot be turned off.

extension Domain {
  /// What the domain's TLS connections trust and show.
  public struct TLS: Sendable, Equatable {
    /// A PEM file with the only authorities that are trusted, in place of the system's.
    public var authorities: String?
    /// PEM files with the certificate, its chain behind it, and with the key that Regent shows.
    public var certificate: String?
    public var key: String?
    /// The oldest version that is spoken.
    public var minimum = Minimum.tls12
    /// The name that is asked for (SNI) and verified, in place of the upstream's own.
    public var name: VerifiedName?

    public init() {}
  }

  /// A version of TLS.
  public enum Minimum: String, CaseIterable, Sendable {
    case tls12 = "1.2"
    case tls13 = "1.3"
  }
}

/// A name that a certificate must bear: a DNS name in lower case, or an IP address without brackets.
public struct VerifiedName: Sendable, Equatable {
  public let text: String

  init?(_ text: String) {
    guard let name = HostName.canonical(text[...]) ?? IPAddress.v6(text[...]) else { return nil }
    self.text = name
  }
}

extension Domain.Minimum: Word {}

extension VerifiedName: KeyValue {
  static var expectation: String { "a host name or an IP address" }
  static func read(_ node: Node) throws(KeyFailure) -> VerifiedName {
    try expect(node.string.flatMap { VerifiedName($0) })
  }
  var toml: String? { text.quoted }
}

extension Configuration {
  /// Certificates without keys, and TLS without an origin that speaks it.
  func checkTLS(_ findings: inout Findings) {
    for (index, domain) in domains.enumerated() where findings.isSound(at(index)) {
      let tls = domain.tls
      if (tls.certificate == nil) != (tls.key == nil) {
        findings.add(
          "\"domain.tls-certificate\" and \"domain.tls-key\" need each other", key: "domain.tls-key",
          at: at(index, tls.key == nil ? "tls-certificate" : "tls-key"))
      } else if tls != Domain.TLS(), domain.upstream?.scheme != .https {
        findings.add(
          "domain \(domain.name.quoted) has \"tls-\" keys, but no upstream that begins with https://",
          key: "domain.upstream", at: at(index))
      }
    }
  }

  /// The domain's files, by their keys.
  static let tlsFiles: [(key: String, path: any WritableKeyPath<Domain, String?> & Sendable)] = [
    ("tls-ca", \.tls.authorities), ("tls-certificate", \.tls.certificate), ("tls-key", \.tls.key),
  ]
}
