// The key under which a record is stored: its bytes, and a hash that only locates and never identifies.

/// A key's bytes with their hash, keyed at random for each process so that nobody can aim at a bucket.
public struct RecordKey: Sendable, Hashable {
  public let bytes: [UInt8]
  public let hash: UInt64

  public init(_ bytes: [UInt8]) {
    var hasher = Hasher()
    // Unsafe: the pointer does not leave the closure.
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    self.init(bytes, hash: UInt64(truncatingIfNeeded: hasher.finalize()))
  }

  /// A key with a chosen hash, for tests that force collisions.
  init(_ bytes: [UInt8], hash: UInt64) {
    self.bytes = bytes
    self.hash = hash
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
