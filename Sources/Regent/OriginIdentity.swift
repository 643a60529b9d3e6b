// Who an origin is: where it is reached, what it must prove, what it is asked with. Connections, TLS sessions and what
// is known of its health belong to one identity.

import RegentConfig
import RegentHTTP
import RegentLoop

/// What identifies an origin and how it is reached. Connections are shared by requests of one identity only.
final class OriginIdentity: Sendable {
  let host: String
  let port: UInt16
  /// The Unix socket that leads there, in place of host and port.
  let socket: String?
  let isTLS: Bool
  /// The proxy that leads there, and the host and port that it is asked for.
  let proxy: ProxyRoute?
  let destination: [UInt8]
  /// What stands before the path where a proxy is asked in clear (RFC 9112 section 3.2.2); else nothing.
  let absolutePrefix: [UInt8]
  /// The name that its certificate must bear, and what its connections trust and show.
  let verifiedName: String
  let tls: TLSSettings
  /// The Host field.
  let hostLine: PreparedLine
  let basePath: [UInt8]
  /// What the owner adds to each request.
  let additions: RequestAdditions

  init(
    _ url: UpstreamURL, _ manners: RegentConfig.Domain.Manners = .init(),
    _ tls: RegentConfig.Domain.TLS = .init(), proxy: ProxyURL? = nil
  ) {
    self.proxy = proxy.map(ProxyRoute.init)
    destination = Array("\(url.bracketedHost):\(url.port)".utf8)
    absolutePrefix = proxy != nil && url.scheme == .http ? Array("http://\(url.authority)".utf8) : []
    verifiedName = tls.name?.text ?? url.host
    self.tls = TLSSettings(tls)
    host = url.host
    port = url.port
    socket = url.socket
    isTLS = url.scheme == .https
    hostLine = PreparedLine(.host, Array((manners.host?.text ?? url.authority).utf8))
    basePath = Array(url.basePath.utf8)
    additions = RequestAdditions(manners)
  }
}

/// An outgoing proxy.
struct ProxyRoute: Sendable {
  let host: String
  let port: UInt16
  /// Whether it is spoken to over TLS, whatever goes through it.
  let isTLS: Bool
  /// What is written into Proxy-Authorization.
  let authorization: FieldValue?

  init(_ proxy: ProxyURL) {
    host = proxy.url.host
    port = proxy.url.port
    isTLS = proxy.url.scheme == .https
    authorization = proxy.authorization.flatMap { FieldValue(validating: $0.plainBytes) }
  }
}

extension OriginIdentity {
  /// Whether a connection speaks TLS, with the origin or with the proxy before it.
  var isEncrypted: Bool { isTLS || proxy?.isTLS == true }

  /// Proxy-Authorization for requests that the proxy reads itself.
  var proxyAuthorization: FieldValue? { isTLS ? nil : proxy?.authorization }
}

extension TLSSettings {
  init(_ tls: RegentConfig.Domain.TLS) {
    self.init()
    authorities = tls.authorities
    certificate = tls.certificate
    key = tls.key
    isOnlyTLS13 = tls.minimum == .tls13
  }
}
