// What of an origin's digests is taken (RFC 9530), and that nothing it may write there does harm.

import RegentCaching
import RegentHTTP
import TestKit
import Testing

/// A response's fields, and the algorithms and first bytes of what is expected.
struct DigestRow: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let fields: String
  let status: Int
  let expected: [String]

  init(_ rule: String, _ fields: String, status: Int = 200, _ expected: [String]) {
    (testDescription, self.fields, self.status, self.expected) = (rule, fields, status, expected)
  }

  /// Thirty-two zeroes, thirty-two ones, and sixty-four zeroes.
  static let zeroes = String(repeating: "A", count: 43) + "="
  static let ones = String(repeating: "AQEB", count: 10) + "AQE="
  static let long = String(repeating: "A", count: 86) + "=="

  static let rows: [DigestRow] = [
    .init("none", "Digest: sha-256=\(zeroes)", []),
    .init("9530 2 Content-Digest", "Content-Digest: sha-256=:\(zeroes):", ["sha-256 0"]),
    .init("9530 3 Repr-Digest", "Repr-Digest: sha-256=:\(ones):", ["sha-256 1"]),
    .init("9530 5 sha-512", "Repr-Digest: sha-512=:\(long):", ["sha-512 0"]),
    .init(
      "both algorithms are to hold", "Content-Digest: sha-512=:\(long):, sha-256=:\(ones):",
      ["sha-256 1", "sha-512 0"]),
    .init(
      "both fields are to hold", "Content-Digest: sha-256=:\(zeroes):\nRepr-Digest: sha-256=:\(ones):",
      ["sha-256 0", "sha-256 1"]),
    .init(
      "the same twice is one", "Content-Digest: sha-256=:\(zeroes):\nRepr-Digest: sha-256=:\(zeroes):",
      ["sha-256 0"]),
    .init("9530 3 a part has the whole's Repr-Digest", "Repr-Digest: sha-256=:\(zeroes):", status: 206, []),
    .init("9530 3 as has a difference", "Repr-Digest: sha-256=:\(zeroes):", status: 226, []),
    .init(
      "9530 2 a part has its own Content-Digest", "Content-Digest: sha-256=:\(ones):", status: 206,
      ["sha-256 1"]),
    .init(
      "9530 3 an error's representation is its own", "Repr-Digest: sha-256=:\(ones):", status: 404,
      ["sha-256 1"]),
    .init(
      "9530 5 others are left out", "Content-Digest: md5=:AAAA:, unixsum=:AA==:, sha-256=:\(ones):",
      ["sha-256 1"]),
    .init("9530 5 others alone", "Content-Digest: md5=:AAAAAAAAAAAAAAAAAAAAAA==:, sha=:AA==:", []),
    .init("parameters are left out", "Content-Digest: sha-256=:\(ones):;x=1", ["sha-256 1"]),
    .init(
      "9651 4.2.2 the last of one key counts", "Content-Digest: sha-256=:\(zeroes):, sha-256=:\(ones):",
      ["sha-256 1"]),
    .init(
      "9651 4.2 several lines", "Content-Digest: sha-256=:\(zeroes):\nContent-Digest: sha-512=:\(long):",
      ["sha-256 0", "sha-512 0"]),
    .init("9651 4.2 a malformed member spoils the field", "Content-Digest: sha-256=:\(ones):, &", []),
    .init(
      "9651 4.2 and no other field", "Content-Digest: sha-256=:\(ones):,\nRepr-Digest: sha-256=:\(zeroes):",
      ["sha-256 0"]),
    .init("9651 3.1.2 keys are small", "Content-Digest: SHA-256=:\(ones):", []),
    .init("without colons it is no byte sequence", "Content-Digest: sha-256=\(ones)", []),
    .init("a string is none", "Content-Digest: sha-256=\"\(ones)\"", []),
    .init("nor is an inner list", "Content-Digest: sha-256=(:\(ones):)", []),
    .init("nor is a key alone", "Content-Digest: sha-256", []),
    .init("one that is too short is none", "Content-Digest: sha-256=:AAAA:", []),
    .init("one that is too long is none", "Content-Digest: sha-256=:\(long):", []),
    .init("an empty one is none", "Content-Digest: sha-256=::", []),
    .init("sha-256 in place of sha-512 is none", "Content-Digest: sha-512=:\(ones):", []),
    .init("without padding", "Content-Digest: sha-256=:\(zeroes.dropLast()):", ["sha-256 0"]),
    .init("an empty field", "Content-Digest: ", []),
  ]
}

@Suite("Digests that are expected")
struct DigestTests {
  private static func written(_ digest: ExpectedDigest) -> String {
    "\(digest.algorithm.rawValue) \(digest.bytes.first.map(String.init) ?? "")"
  }

  @Test("are those that can be checked on the content", arguments: DigestRow.rows)
  func rows(_ row: DigestRow) {
    #expect(ExpectedDigest.all(in: fields(row.fields), status: row.status).map(Self.written) == row.expected)
  }

  @Test(
    "are announced for the trailers by the names of their fields",
    arguments: [
      ("Trailer: Content-Digest", true), ("Trailer: expires,repr-digest", true),
      ("Trailer: Expires\nTrailer: ,\t, REPR-DIGEST", true), ("Trailer: Expires", false),
      ("Trailer: ", false), ("Trailer: X-Repr-Digest", false), ("Connection: Repr-Digest", false),
      ("", false),
    ])
  func announced(_ text: String, isAnnounced: Bool) {
    let fields = fields(text)
    #expect(ExpectedDigest.areAnnounced(in: fields) == isAnnounced)
    #expect(!isAnnounced || ExpectedDigest.mayBe(in: fields))
  }

  @Test("are as long as their algorithm gives, whatever the field holds")
  func hostile() {
    let seed = SeededGenerator.anySeed()
    var random = SeededGenerator(seed: seed)
    let pieces = [
      "sha-256", "sha-512", "=", ":", ",", ";", " ", "\t", "\"", "(", ")", "=:", ":,", "A", "/+", "==", "?1",
      "@1", "%\"",
      DigestRow.zeroes, DigestRow.ones, DigestRow.long, "\u{FF}",
    ]
    for _ in 0..<20_000 {
      let value = (0..<Int.random(in: 0...12, using: &random)).map { _ in
        pieces.randomElement(using: &random) ?? ""
      }.joined()
      var all = Fields()
      for name in [FieldName.contentDigest, .reprDigest, .contentDigest] where Bool.random(using: &random) {
        all.append(name, value.utf8)
      }
      for digest in ExpectedDigest.all(in: all, status: 200) {
        #expect(digest.bytes.count == digest.algorithm.count, "seed \(seed): \(value)")
      }
    }
  }
}
