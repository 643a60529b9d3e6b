// SHA-1 and SHA-2 digests (FIPS 180-4) over bytes that come one run after the other: OpenSSL's, which uses the processor's own
// instructions where there are any.

import COpenSSL

/// A digest that is being worked out. One task updates it at a time.
@safe public final class MessageDigest {
  /// SHA-1 is for what a protocol fixes, and no proof against anybody who means harm.
  public enum Algorithm: Sendable { case sha1, sha256, sha512 }

  // Unsafe: owned here, freed in deinit; never handed out.
  private let context: OpaquePointer

  /// Nil where OpenSSL has no memory for it, or is configured not to know the algorithm.
  public init?(_ algorithm: Algorithm) {
    guard let context = unsafe EVP_MD_CTX_new() else { return nil }
    guard unsafe EVP_DigestInit_ex(context, algorithm.constant, nil) == 1 else {
      unsafe EVP_MD_CTX_free(context)
      return nil
    }
    unsafe self.context = context
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  public func update(_ bytes: Span<UInt8>) {
    // Unsafe: reads the span's own bytes.
    unsafe bytes.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      _ = unsafe EVP_DigestUpdate(context, start, buffer.count)
    }
  }

  /// The digest of everything so far, which ends it: nothing may follow.
  public func finish() -> [UInt8] {
    // Unsafe: OpenSSL writes at most EVP_MAX_MD_SIZE bytes, and says how many.
    unsafe [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      var length: UInt32 = 0
      let isDone = unsafe EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1
      count = isDone ? Int(length) : 0
    }
  }
}

extension MessageDigest.Algorithm {
  // Unsafe: constants of OpenSSL's.
  fileprivate var constant: OpaquePointer? {
    switch self {
    case .sha1: unsafe EVP_sha1()
    case .sha256: unsafe EVP_sha256()
    case .sha512: unsafe EVP_sha512()
    }
  }
}
