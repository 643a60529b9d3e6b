// The digests are those of FIPS 180-4, however their bytes come.

import RegentLoop
import Testing

@Suite("A digest")
struct MessageDigestTests {
  struct Vector: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let sha256: String
    let sha512: String
  }

  /// NIST's examples for FIPS 180-4.
  static let vectors = [
    Vector(
      testDescription: "of nothing", bytes: [],
      sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      sha512: "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
        + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"),
    Vector(
      testDescription: "of abc", bytes: Array("abc".utf8),
      sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      sha512: "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"),
    Vector(
      testDescription: "of a million letters", bytes: [UInt8](repeating: 0x61, count: 1_000_000),
      sha256: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
      sha512: "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
        + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"),
  ]

  @Test("is that of its standard, in one piece and in many", arguments: vectors)
  func standard(_ vector: Vector) throws {
    for (algorithm, expected) in [
      (MessageDigest.Algorithm.sha256, vector.sha256), (.sha512, vector.sha512),
    ] {
      for step in [1 << 20, 64 << 10, 4099] {
        let digest = try #require(MessageDigest(algorithm))
        for start in stride(from: 0, to: vector.bytes.count, by: step) {
          digest.update(vector.bytes[start..<min(start + step, vector.bytes.count)].span)
        }
        #expect(Self.text(digest.finish()) == expected)
      }
    }
  }

  @Test("of SHA-1 is that of RFC 3174")
  func sha1() throws {
    for (text, expected) in [
      ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"), ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ] {
      let digest = try #require(MessageDigest(.sha1))
      digest.update(Array(text.utf8).span)
      #expect(Self.text(digest.finish()) == expected)
    }
  }

  private static func text(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
