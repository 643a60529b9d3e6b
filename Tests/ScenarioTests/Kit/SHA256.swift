// SHA-256 (FIPS 180-4) for the origins of the tests: code of its own, so that the daemon's digests are compared with another's.

/// The digest of some bytes.
enum SHA256 {
  /// The member of a dictionary of RFC 9530 for these bytes.
  static func member(_ bytes: [UInt8]) -> String { "sha-256=:\(base64(digest(bytes))):" }

  static func digest(_ bytes: [UInt8]) -> [UInt8] {
    var message = bytes + [0x80]
    message += [UInt8](repeating: 0, count: (120 - message.count % 64) % 64)
    for shift in stride(from: 56, through: 0, by: -8) {
      message.append(UInt8(truncatingIfNeeded: (bytes.count * 8) >> shift))
    }
    var state = start
    var words = [UInt32](repeating: 0, count: 64)
    for block in stride(from: 0, to: message.count, by: 64) {
      for index in 0..<16 {
        words[index] = (0..<4).reduce(0) { $0 << 8 | UInt32(message[block + index * 4 + $1]) }
      }
      for index in 16..<64 {
        let (two, fifteen) = (words[index - 2], words[index - 15])
        let low = turned(fifteen, 7) ^ turned(fifteen, 18) ^ fifteen >> 3
        let high = turned(two, 17) ^ turned(two, 19) ^ two >> 10
        words[index] = words[index - 16] &+ low &+ words[index - 7] &+ high
      }
      mix(words, into: &state)
    }
    return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(24 - 8 * $0)) } }
  }

  private static func mix(_ words: [UInt32], into state: inout [UInt32]) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let first = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
      let next = h &+ first &+ (e & f ^ ~e & g) &+ rounds[index] &+ words[index]
      let second = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)
      let other = second &+ (a & b ^ a & c ^ b & c)
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ next, c, b, a, next &+ other)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }

  private static func turned(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word >> count | word << (32 - count)
  }

  private static let primes: [Int] = (2...311).filter { number in
    (2..<number).allSatisfy { number % $0 != 0 }
  }

  /// The first 32 bits of the fractions of the square roots of the first eight primes.
  private static let start = primes.prefix(8).map { fraction($0) { $0 * $0 } }
  /// And of the cube roots of the first sixty-four.
  private static let rounds = primes.map { fraction($0) { $0 * $0 * $0 } }

  /// Bit by bit, with whole numbers: a root in units of 2 to the power of -32.
  private static func fraction(_ prime: Int, _ power: (UInt128) -> UInt128) -> UInt32 {
    var root: UInt128 = 0
    // 2 to the power of 96 times a prime below 2 to the power of 9 has room in 128 bits, as has the cube of a root below it.
    let wanted = power(1 << 32) * UInt128(prime)
    for bit in stride(from: 36, through: 0, by: -1) {
      let tried = root | 1 << UInt128(bit)
      if power(tried) <= wanted { root = tried }
    }
    return UInt32(truncatingIfNeeded: root)
  }

  static func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let three = (0..<3).map { start + $0 < bytes.count ? Int(bytes[start + $0]) : 0 }
      let bits = three[0] << 16 | three[1] << 8 | three[2]
      for place in 0..<4 {
        text.append(start + place > bytes.count ? "=" : digits[bits >> (18 - 6 * place) & 63])
      }
    }
    return text
  }
}
