// The boundaries of answers with several ranges: 128 bits from a random seed, so that nobody can put one into a body
// beforehand, and by chance none occurs there. Tests give the seed.

/// Makes boundaries, each another one (RFC 2046 section 5.1.1).
struct Boundaries {
  private var state: UInt64
  private let salt: UInt64

  init(seed: UInt64, salt: UInt64) {
    state = seed
    self.salt = salt
  }

  /// A source that nobody can foresee.
  init() {
    var random = SystemRandomNumberGenerator()
    self.init(seed: random.next(), salt: random.next())
  }

  mutating func next() -> [UInt8] {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.digits(Self.mix(state)) + Self.digits(Self.mix(state ^ salt))
  }

  private static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  private static func digits(_ value: UInt64) -> [UInt8] {
    stride(from: 60, through: 0, by: -4).map { shift in
      let digit = UInt8(truncatingIfNeeded: value >> UInt64(shift) & 15)
      return digit < 10 ? 0x30 + digit : 0x57 + digit
    }
  }
}
