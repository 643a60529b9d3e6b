// SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012): a hash that nobody can aim without the
// secret, and that is the same after a restart, as Swift's own Hasher is not.

/// The secret of a hash.
struct SipKey: Sendable, Equatable {
  var first: UInt64
  var second: UInt64

  /// The hash of these bytes.
  func hash(_ bytes: Span<UInt8>) -> UInt64 {
    var state = SipState(self)
    let whole = bytes.count & ~7
    var index = 0
    while index < whole {
      state.absorb(bytes.number(UInt64.self, at: index))
      index += 8
    }
    var last = UInt64(bytes.count & 255) << 56
    while index < bytes.count {
      last |= UInt64(bytes[index]) << UInt64(8 * (index & 7))
      index += 1
    }
    state.absorb(last)
    return state.finish()
  }
}

private struct SipState {
  var (a, b, c, d): (UInt64, UInt64, UInt64, UInt64)

  init(_ key: SipKey) {
    a = key.first ^ 0x736f_6d65_7073_6575
    b = key.second ^ 0x646f_7261_6e64_6f6d
    c = key.first ^ 0x6c79_6765_6e65_7261
    d = key.second ^ 0x7465_6462_7974_6573
  }

  mutating func absorb(_ word: UInt64) {
    d ^= word
    round()
    round()
    a ^= word
  }

  mutating func finish() -> UInt64 {
    c ^= 0xff
    for _ in 0..<4 { round() }
    return a ^ b ^ c ^ d
  }

  private mutating func round() {
    a &+= b
    b = rotated(b, 13) ^ a
    a = rotated(a, 32)
    c &+= d
    d = rotated(d, 16) ^ c
    a &+= d
    d = rotated(d, 21) ^ a
    c &+= b
    b = rotated(b, 17) ^ c
    c = rotated(c, 32)
  }

  private func rotated(_ word: UInt64, _ by: UInt64) -> UInt64 { word << by | word >> (64 - by) }
}
