// Host names, IP addresses and ports as text: which spellings are valid, and the one that is kept.
// Only the plain spellings pass; octal, hexadecimal or shortened addresses do not (TRUST.md, E6).

/// Why a text is not what it should be: one sentence without a full stop.
public struct Refusal: Error, Equatable, Sendable, CustomStringConvertible {
  public let description: String

  init(_ sentence: String) { description = sentence }
}

enum HostName {
  /// The host name in lower case, or the IPv4 address; nil for anything else.
  static func canonical(_ text: Substring) -> String? {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= 253, labels.allSatisfy(isLabel) else { return nil }
    // A name whose last label is a number is an address in disguise unless it is a plain one.
    if let last = labels.last, last.utf8.first.map({ 0x30...0x39 ~= $0 }) == true {
      if last.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) || last.lowercased().hasPrefix("0x") {
        return IPAddress.v4(text)
      }
    }
    return text.lowercased()
  }

  /// Whether the text is a label: letters, digits, hyphens and underscores, no hyphen at its ends.
  static func isLabel(_ text: Substring) -> Bool {
    guard 1...63 ~= text.utf8.count, text.first != "-", text.last != "-" else { return false }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
      default: false
      }
    }
  }
}

enum PortNumber {
  /// The port that one to five digits stand for, without a sign and without zeros in front.
  static func parse(_ text: Substring) -> UInt16? {
    guard 1...5 ~= text.utf8.count, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    guard text.utf8.count == 1 || text.first != "0" else { return nil }
    return UInt16(text)
  }
}

enum IPAddress {
  /// The address in dotted decimal form, four numbers from 0 to 255 without zeros in front.
  static func v4(_ text: Substring) -> String? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, parts.allSatisfy({ PortNumber.parse($0).map { $0 <= 255 } == true })
    else { return nil }
    return String(text)
  }

  /// The address in lower case (RFC 4291 section 2.2), without brackets and without a zone.
  static func v6(_ text: Substring) -> String? {
    guard text.utf8.count <= 45 else { return nil }
    let halves = text.replacing("::", with: "|").split(separator: "|", omittingEmptySubsequences: false)
    guard halves.count <= 2, !text.contains(":::"), !text.contains("|") else { return nil }
    var groups = 0
    for (index, half) in halves.enumerated() where !half.isEmpty {
      guard let count = groupCount(half, mayEndInV4: index == halves.count - 1) else { return nil }
      groups += count
    }
    return (halves.count == 2 ? groups <= 7 : groups == 8) ? text.lowercased() : nil
  }

  private static func groupCount(_ text: Substring, mayEndInV4: Bool) -> Int? {
    let groups = text.split(separator: ":", omittingEmptySubsequences: false)
    var count = 0
    for (index, group) in groups.enumerated() {
      if mayEndInV4, index == groups.count - 1, v4(group) != nil {
        count += 2
        continue
      }
      guard 1...4 ~= group.utf8.count, group.allSatisfy(\.isHexDigit), group.utf8.count == group.count
      else { return nil }
      count += 1
    }
    return count
  }
}
