// One TLS connection over a stream's socket, or through another one's tunnel: the state machine is OpenSSL's, the waiting
// is ours.

import COpenSSL
import Glibc

@safe final class TLSSession {
  // Unsafe: owned here, freed in deinit; used on the stream's loop only.
  let ssl: OpaquePointer
  /// The session whose tunnel this one goes through; nil over the socket itself.
  private let outer: TLSSession?

  init(adopting ssl: OpaquePointer, through outer: TLSSession? = nil) {
    unsafe self.ssl = unsafe ssl
    self.outer = outer
  }

  deinit { unsafe SSL_free(ssl) }

  /// Takes another session's tunnel for its socket.
  // Unsafe: this session owns the BIO from now on, and keeps alive the outer one, which the BIO refers to.
  func pass(through outer: TLSSession) throws(TLSFailure) {
    guard let bio = unsafe BIO_new(BIO_f_ssl()) else { throw .configuration(lastOpenSSLError()) }
    _ = unsafe BIO_ctrl(bio, BIO_C_SET_SSL, Int(BIO_NOCLOSE), UnsafeMutableRawPointer(outer.ssl))
    unsafe SSL_set_bio(ssl, bio, bio)
  }

  enum Want { case nothing, read, write }

  /// Goes as far with the handshake as it can without waiting.
  func advanceHandshake() throws(StreamError) -> Want {
    ERR_clear_error()
    if outer != nil { errno = 0 }
    let result = unsafe SSL_do_handshake(ssl)
    if result == 1 { return .nothing }
    let code = errno
    switch unsafe SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return .read
    case SSL_ERROR_WANT_WRITE: return .write
    case SSL_ERROR_SYSCALL where ERR_peek_error() == 0 && code != 0:
      throw .system(SystemError(call: "TLS handshake", code: code))
    default:
      let verdict = unsafe SSL_get_verify_result(ssl)
      if verdict != Int(X509_V_OK) {
        ERR_clear_error()
        // Unsafe: a constant string of OpenSSL's.
        throw .tls(.certificate(unsafe String(cString: X509_verify_cert_error_string(verdict))))
      }
      throw .tls(.handshake(lastOpenSSLError()))
    }
  }

  /// Whether decrypted bytes wait here, of which the socket's readiness says nothing. Of a record that is only partly
  /// here there is nothing to read yet: its rest makes the socket readable.
  var hasDecrypted: Bool { unsafe SSL_pending(ssl) > 0 || outer?.hasDecrypted == true }

  /// Whether any bytes were received that nobody has read, decrypted or not.
  var hasUnread: Bool { unsafe SSL_has_pending(ssl) == 1 || outer?.hasUnread == true }

  // An outer session leaves no number of an error behind, and an old one must not stand in for it.
  func read(_ start: UnsafeMutablePointer<UInt8>, _ count: Int) -> Attempt {
    ERR_clear_error()
    if outer != nil { errno = 0 }
    let result = unsafe SSL_read(ssl, start, Int32(clamping: count))
    return result > 0 ? .bytes(Int(result)) : verdict(result, "read")
  }

  func write(_ start: UnsafePointer<UInt8>, _ count: Int) -> Attempt {
    ERR_clear_error()
    if outer != nil { errno = 0 }
    let result = unsafe SSL_write(ssl, start, Int32(clamping: count))
    return result > 0 ? .bytes(Int(result)) : verdict(result, "write")
  }

  private func verdict(_ result: Int32, _ call: String) -> Attempt {
    let code = errno
    switch unsafe SSL_get_error(ssl, result) {
    // TLS 1.3 has no renegotiation, and for 1.2 OpenSSL refuses it by default: a read wants reads, a write writes.
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wouldBlock
    case SSL_ERROR_ZERO_RETURN: return .end
    case SSL_ERROR_SYSCALL where code != 0: return .failed(.system(SystemError(call: call, code: code)))
    case SSL_ERROR_SYSCALL: return .failed(.truncated)
    default:
      // OpenSSL 3 reports an end without close_notify so.
      let isTruncation = regent_is_unexpected_eof(ERR_peek_error()) != 0
      let reason = lastOpenSSLError()
      return .failed(isTruncation ? .truncated : .tls(.record(reason)))
    }
  }

  /// Whether an earlier connection's session spared most of the handshake.
  var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

  /// Sends close_notify if that needs no waiting.
  func shutdown() {
    ERR_clear_error()
    if unsafe SSL_is_init_finished(ssl) == 1 { unsafe SSL_shutdown(ssl) }
    ERR_clear_error()
    outer?.shutdown()
  }
}

extension ByteStream {
  /// Makes the stream a TLS one: shakes hands, verifies the chain and the host's name. One that is TLS already, to a proxy
  /// that tunnels, carries the new session within the old one.
  public func startTLS(_ context: TLSContext, host: String) async throws(StreamError) {
    let session: TLSSession
    do { session = try context.makeSession(descriptor: descriptor, host: host, through: tls) } catch {
      throw .tls(error)
    }
    while true {
      switch try session.advanceHandshake() {
      case .nothing:
        tls = session
        return
      case .read: try await readable()
      case .write: try await writable()
      }
    }
  }

  /// Whether the TLS handshake was a short one.
  public var isResumed: Bool { tls?.isResumed == true }

  /// Lets the context remember the TLS session for the next handshake.
  public func rememberSession(in context: TLSContext) {
    if let tls { context.remember(tls) }
  }
}
