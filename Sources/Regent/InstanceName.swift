// What this very daemon is called in the Via of requests: the configured name, and a comment with a number that no
// other daemon has. A request that comes back with it has gone round in a circle.

import RegentHTTP

/// A daemon's name in Via (RFC 9110 section 7.6.3).
struct InstanceName: Sendable {
  /// The value of its own Via.
  let via: [UInt8]
  private let pseudonym: [UInt8]
  private let comment: [UInt8]

  /// How often the mere name may stand in a request. Others may be called alike and may take comments out on the way;
  /// so many of them in a row are a circle too.
  static let namesakes = 8

  init(_ name: String, random: inout some RandomNumberGenerator) {
    let digits = String(random.next() as UInt64, radix: 16)
    pseudonym = Array(name.utf8)
    comment = Array("(\(digits))".utf8)
    via = Array("1.1 \(name) (\(digits))".utf8)
  }

  /// Whether the request has passed this daemon before.
  func isIn(_ request: Fields) -> Bool {
    guard request.contains(.via) else { return false }
    var namesakes = 0
    for line in request.all(.via) {
      for hop in line.split(separator: 0x2C) {
        let words = hop.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 })
        guard words.count > 1, words[1].equalsIgnoringCase(pseudonym) else { continue }
        namesakes += 1
        if words.count > 2, words[2].elementsEqual(comment) { return true }
      }
    }
    return namesakes > Self.namesakes
  }
}
