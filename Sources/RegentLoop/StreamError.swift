// Why a byte stream, or the attempt to open one, came to its end.

/// Why a stream failed. An orderly end is no failure: it is a read of nothing.
public enum StreamError: Error, Sendable, Equatable {
  /// The deadline passed.
  case timedOut
  /// This side closed the stream, or the task was told to stop.
  case closed
  /// The peer reset the connection, or it broke.
  case system(SystemError)
  /// The name has no address: the resolver's own sentence.
  case nameNotFound(String)
  /// The resolver did not answer in time.
  case nameTimedOut
  /// The outgoing proxy opened no tunnel: what it did instead.
  case proxyRefused(String)
  /// The TLS handshake or a TLS record failed.
  case tls(TLSFailure)
  /// The peer ended the connection without TLS's close_notify: what came before may be cut short.
  case truncated
}

/// How TLS failed (the words of RFC 9209 section 2.3 in the comments).
public enum TLSFailure: Error, Sendable, Equatable {
  /// tls_certificate_error: the certificate was refused, and why.
  case certificate(String)
  /// tls_protocol_error: what came was not TLS, or not TLS that we speak.
  case handshake(String)
  /// tls_alert_received and other failures after the handshake.
  case record(String)
  /// The handshake did not end in time.
  case timedOut
  /// The trust store could not be read.
  case configuration(String)
}

extension StreamError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .timedOut: "timed out"
    case .closed: "closed"
    case .system(let error): error.description
    case .nameNotFound(let reason): "name not found: \(reason)"
    case .proxyRefused(let reason): "the outgoing proxy opened no tunnel: \(reason)"
    case .nameTimedOut: "the name was not resolved in time"
    case .tls(.certificate(let reason)): "certificate refused: \(reason)"
    case .tls(.handshake(let reason)): "TLS handshake failed: \(reason)"
    case .tls(.record(let reason)): "TLS failed: \(reason)"
    case .tls(.timedOut): "the TLS handshake did not end in time"
    case .tls(.configuration(let reason)): "TLS configuration: \(reason)"
    case .truncated: "TLS ended without close_notify"
    }
  }
}
