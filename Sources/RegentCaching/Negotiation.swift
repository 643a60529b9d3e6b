// Lists with weights, as Accept-Encoding and Accept-Language have them (RFC 9110 sections 12.4.2, 12.5.3 and 12.5.4):
// when two of them mean the same (RFC 9111 section 4.1), and the one spelling that a domain may ask for. A list that
// is malformed or too long means only itself.

public import RegentHTTP

/// A field of content negotiation whose values can be normalized.
public enum NegotiationField: String, Sendable, CaseIterable {
  case acceptEncoding = "accept-encoding"
  case acceptLanguage = "accept-language"

  /// The field's name.
  public var name: FieldName {
    switch self {
    case .acceptEncoding: .acceptEncoding
    case .acceptLanguage: .acceptLanguage
    }
  }

  /// The one spelling for what a value means; nil where it is malformed and stays as it is.
  ///
  /// Accept-Encoding becomes one of 16 values: which of br, gzip and zstd are acceptable, and whether no coding is
  /// not. Accept-Language keeps its languages in the order of their weight, equal ones as they came, without case,
  /// repeats, and what is not acceptable.
  public func normalized(_ value: some Sequence<UInt8>) -> [UInt8]? {
    guard let list = WeightedList(value) else {
      return self == .acceptEncoding ? Array("identity".utf8) : nil
    }
    return switch self {
    case .acceptEncoding: list.normalizedEncodings
    case .acceptLanguage: list.normalizedLanguages
    }
  }
}

extension Validation {
  /// Whether a stored response's content coding, if it has one, is one that the request names as acceptable.
  ///
  /// Representations of one content often share a weak tag whatever their coding: a 304 alone does not say that the
  /// client can decode what is stored.
  public static func isDecodable(_ stored: Fields, by request: Fields) -> Bool {
    guard stored.isEncoded else { return true }
    let asked = request.all(.acceptEncoding).joined(separator: [.comma])
    guard let codings = WeightedList(stored.all(.contentEncoding).joined(separator: [.comma])),
      let accepted = WeightedList(asked)
    else { return false }
    return codings.members.allSatisfy { coding in
      accepted.members.contains { $0.name == coding.name && $0.weight > 0 }
    }
  }
}

/// The members of a list with weights.
struct WeightedList: Equatable {
  struct Member: Equatable {
    /// In small letters.
    var name: [UInt8]
    /// In thousandths.
    var weight: Int
  }

  /// Longer lists mean only themselves, so that no comparison is long.
  static let maximumMembers = 64
  private(set) var members: [Member] = []

  /// Reads a list; nil where a member is malformed.
  init?(_ value: some Sequence<UInt8>) {
    for part in Array(value).split(separator: .comma) {
      let text = part.filter { !$0.isBlank }.map(\.asciiLowercased)
      if text.isEmpty { continue }
      guard members.count < Self.maximumMembers, let member = Member(text) else { return nil }
      members.append(member)
    }
  }

  /// The same members in an order of their own: lists that mean the same are equal.
  ///
  /// The order of languages with equal weight has no meaning (RFC 9110 section 12.5.4); that of codings never has.
  var canonical: [Member] {
    let sorted = members.sorted {
      $0.weight != $1.weight ? $0.weight > $1.weight : $0.name.lexicographicallyPrecedes($1.name)
    }
    return sorted.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }

  fileprivate func weight(of name: String) -> Int? {
    members.first { $0.name.elementsEqual(name.utf8) }?.weight
  }

  fileprivate var normalizedEncodings: [UInt8] {
    var names: [String] = []
    let others = weight(of: "*")
    for name in ["br", "gzip", "zstd"] {
      let alias = name == "gzip" ? weight(of: "x-gzip") : nil
      if weight(of: name) ?? alias ?? others ?? 0 > 0 { names.append(name) }
    }
    let needsCoding = (weight(of: "identity") ?? others) == 0
    if needsCoding { names.append("identity;q=0") } else if names.isEmpty { names.append("identity") }
    return Array(names.joined(separator: ", ").utf8)
  }

  fileprivate var normalizedLanguages: [UInt8]? {
    let keepsRefused = members.contains { $0.name == [0x2A] }
    var seen: Set<[UInt8]> = []
    let kept = members.sorted { $0.weight > $1.weight }
      .filter { (keepsRefused || $0.weight > 0) && seen.insert($0.name).inserted }
    guard !kept.isEmpty else { return nil }
    return Array(kept.map(\.bytes).joined(separator: Array(", ".utf8)))
  }
}

extension WeightedList.Member {
  /// Reads `name` or `name;q=0.5`, without blanks and in small letters.
  fileprivate init?(_ text: [UInt8]) {
    let parts = text.split(separator: 0x3B, omittingEmptySubsequences: false)
    guard let name = parts.first, Array(name).hasToken(0..<name.count), parts.count <= 2 else { return nil }
    self.name = Array(name)
    weight = 1000
    guard parts.count == 2 else { return }
    guard let weight = Self.weight(parts[1]) else { return nil }
    self.weight = weight
  }

  /// Reads `q=`, 0 or 1, and up to three digits (RFC 9110 section 12.4.2).
  private static func weight(_ text: ArraySlice<UInt8>) -> Int? {
    guard text.starts(with: Array("q=".utf8)) else { return nil }
    let digits = text.dropFirst(2)
    guard let first = digits.first, first == 0x30 || first == 0x31 else { return nil }
    var weight = Int(first - 0x30) * 1000
    let rest = digits.dropFirst()
    guard rest.isEmpty || rest.first == 0x2E, rest.count <= 4 else { return nil }
    var unit = 100
    for digit in rest.dropFirst() {
      guard 0x30...0x39 ~= digit else { return nil }
      weight += Int(digit - 0x30) * unit
      unit /= 10
    }
    return weight <= 1000 ? weight : nil
  }

  fileprivate var bytes: [UInt8] {
    guard weight < 1000 else { return name }
    var digits = String(1000 + weight).dropFirst()
    while digits.last == "0" { digits.removeLast() }
    return name + Array((digits.isEmpty ? ";q=0" : ";q=0.\(digits)").utf8)
  }
}
