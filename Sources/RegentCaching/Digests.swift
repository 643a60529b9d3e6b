// RFC 9530: what an origin says of the digests of a message's content. Only what can be checked on the bytes that arrive is
// taken; whatever is malformed, unknown, or of another length than its algorithm gives is as if it were not there.

public import RegentHTTP

/// A digest that the content of a message should have.
public struct ExpectedDigest: Sendable, Equatable {
  /// The algorithms of RFC 9530 section 5 that are not deprecated.
  public enum Algorithm: String, Sendable, CaseIterable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    /// The length of its digests in bytes.
    public var count: Int { self == .sha256 ? 32 : 64 }
  }

  public let algorithm: Algorithm
  public let bytes: [UInt8]

  /// What a response's fields, or its trailers, say of its content, as it arrives; empty where that is nothing that can be
  /// checked.
  ///
  /// Content-Digest is about the content (section 2). Repr-Digest is about the whole representation (section 3), which a
  /// 206 or a 226 carries a part of, or a difference to. The caller knows whether there is any content: a 304 and the answer to a HEAD
  /// speak of content that is elsewhere.
  public static func all(in fields: Fields, status: Int) -> [ExpectedDigest] {
    let isWhole = status != 206 && status != 226
    guard fields.contains(.contentDigest) || isWhole && fields.contains(.reprDigest) else { return [] }
    var all = digests(in: fields, .contentDigest)
    if isWhole {
      for digest in digests(in: fields, .reprDigest) where !all.contains(digest) { all.append(digest) }
    }
    return all
  }

  /// Whether a response has a field that might say something of its content, or of trailers that will.
  public static func mayBe(in fields: Fields) -> Bool {
    fields.contains(.contentDigest) || fields.contains(.reprDigest) || fields.contains(.trailer)
  }

  /// Whether a response says that digests of its content come in its trailers (RFC 9110 section 6.6.2, RFC 9530 section 2).
  public static func areAnnounced(in fields: Fields) -> Bool {
    guard fields.contains(.trailer) else { return false }
    return fields.lines.contains { line in
      guard line.name == .trailer else { return false }
      var scanner = DirectiveScanner(fields.bytes, line.valueRange)
      while let member = scanner.next() {
        let name = FieldName(fields.bytes[member.name])
        if name == .contentDigest || name == .reprDigest { return true }
      }
      return false
    }
  }

  private static func digests(in fields: Fields, _ name: FieldName) -> [ExpectedDigest] {
    guard let dictionary = StructuredDictionary(fields, name) else { return [] }
    return Algorithm.allCases.compactMap { algorithm in
      guard case .byteSequence(let range)? = dictionary.value(of: algorithm.rawValue) else { return nil }
      let bytes = dictionary.decoded(byteSequence: range)
      return bytes.count == algorithm.count ? ExpectedDigest(algorithm: algorithm, bytes: bytes) : nil
    }
  }
}
