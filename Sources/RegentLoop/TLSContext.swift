// TLS as a client: what is trusted and how, shared by the connections of one upstream identity.
// Verification of the chain and of the host's name is always on; there is no way to turn it off.

import COpenSSL
import Synchronization

/// What an origin's connections trust and show. Part of the origin's identity: nothing is shared across two of them.
public struct TLSSettings: Sendable, Hashable {
  /// A PEM file with the only authorities that are trusted; nil for the system's.
  public var authorities: String?
  /// PEM files with the certificate chain and with the key that Regent shows.
  public var certificate: String?
  public var key: String?
  /// Whether TLS 1.3 is the oldest version that is spoken, and not 1.2.
  public var isOnlyTLS13 = false

  public init() {}
}

/// The trust and the session memory with which an origin is met. One for each upstream identity and loop.
@safe public final class TLSContext {
  // Unsafe: OpenSSL's objects, owned here, freed in deinit; used on one loop's thread.
  private let context: OpaquePointer
  private var session: OpaquePointer?

  /// Throws where a file is missing, empty, broken, or of another pair: nothing is ever trusted instead.
  public init(_ settings: TLSSettings = TLSSettings()) throws(TLSFailure) {
    ERR_clear_error()
    guard let context = unsafe SSL_CTX_new(TLS_client_method()) else {
      throw .configuration(lastOpenSSLError())
    }
    unsafe self.context = context
    unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    _ = unsafe regent_SSL_CTX_set_min_proto_version(
      context, settings.isOnlyTLS13 ? TLS1_3_VERSION : TLS1_2_VERSION)
    // OpenSSL's own cache would keep every session of every connection: one is kept here instead.
    _ = unsafe regent_SSL_CTX_set_session_cache_mode(
      context, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE))
    _ = unsafe regent_SSL_CTX_set_mode(
      context,
      Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS))
    let protocols: [UInt8] = [8] + Array("http/1.1".utf8)
    // Unsafe: OpenSSL copies the list.
    _ = unsafe SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count))
    try trust(settings.authorities)
    if let certificate = settings.certificate { try show(certificate, key: settings.key ?? certificate) }
  }

  /// Trusts the authorities in a file alone; or the system's store, or what the environment's SSL_CERT_FILE and
  /// SSL_CERT_DIR name.
  private func trust(_ authorities: String?) throws(TLSFailure) {
    let isRead =
      if let authorities {
        unsafe SSL_CTX_load_verify_file(context, authorities)
      } else {
        unsafe SSL_CTX_set_default_verify_paths(context)
      }
    if isRead != 1 {
      throw .configuration("\(authorities ?? "the system's authorities"): \(lastOpenSSLError())")
    }
  }

  private func show(_ certificate: String, key: String) throws(TLSFailure) {
    unsafe regent_SSL_CTX_ask_no_passphrase(context)
    guard unsafe SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
      throw .configuration("\(certificate): \(lastOpenSSLError())")
    }
    guard unsafe SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1,
      unsafe SSL_CTX_check_private_key(context) == 1
    else {
      throw .configuration("\(key): \(lastOpenSSLError())")
    }
  }

  deinit {
    unsafe SSL_SESSION_free(session)
    unsafe SSL_CTX_free(context)
  }

  /// Makes a TLS session over a connected socket, or through another session over it. `host` is a DNS name or an IP
  /// address literal without brackets.
  // Unsafe: the session owns what OpenSSL makes for it.
  func makeSession(
    descriptor: Int32, host: String, through outer: TLSSession?
  ) throws(TLSFailure) -> TLSSession {
    let made = try unsafe TLSSession(adopting: makeObject(), through: outer)
    let ssl = unsafe made.ssl
    if let outer { try made.pass(through: outer) } else { unsafe SSL_set_fd(ssl, descriptor) }
    unsafe SSL_set_connect_state(ssl)
    let parameters = unsafe SSL_get0_param(ssl)
    if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, host) != 1 {
      // A name is a SAN's, never the subject's; a wildcard is a whole label (RFC 9525 section 6.3).
      unsafe X509_VERIFY_PARAM_set_hostflags(
        parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
      guard unsafe SSL_set1_host(ssl, host) == 1, unsafe regent_SSL_set_tlsext_host_name(ssl, host) == 1
      else {
        throw .configuration(lastOpenSSLError())
      }
    }
    if let session = unsafe session { unsafe SSL_set_session(ssl, session) }
    return made
  }

  // Unsafe: the object is the caller's to free.
  private func makeObject() throws(TLSFailure) -> OpaquePointer {
    guard let ssl = unsafe SSL_new(context) else { throw .configuration(lastOpenSSLError()) }
    return unsafe ssl
  }

  /// Keeps what a good connection learnt, so that the next handshake is short.
  func remember(_ tls: TLSSession) {
    guard let fresh = unsafe SSL_get1_session(tls.ssl) else { return }
    guard unsafe SSL_SESSION_is_resumable(fresh) == 1 else { return unsafe SSL_SESSION_free(fresh) }
    unsafe SSL_SESSION_free(session)
    unsafe session = fresh
  }
}

/// OpenSSL's oldest queued error in words; the queue is emptied.
func lastOpenSSLError() -> String {
  let code = ERR_get_error()
  ERR_clear_error()
  guard code != 0 else { return "no reason given" }
  // Unsafe: a constant string of OpenSSL's, or nil.
  guard let text = unsafe ERR_reason_error_string(code) else { return "error \(code)" }
  return unsafe String(cString: text)
}
