// What people are shown of what others sent: nothing that speaks to their terminal, and no credentials. Whoever looks at
// what is stored need not be whom it was for (TRUST F7).

import RegentHTTP

enum Shown {
  /// Text as it came, but for characters that cannot be seen.
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    let decoded = String(decoding: Array(bytes), as: UTF8.self)
    guard decoded.unicodeScalars.contains(where: { !isPrintable($0) }) else { return decoded }
    var text = ""
    for scalar in decoded.unicodeScalars { text.unicodeScalars.append(isPrintable(scalar) ? scalar : "?") }
    return text
  }

  private static func isPrintable(_ scalar: UnicodeScalar) -> Bool {
    if scalar.isASCII { return scalar.value >= 0x20 && scalar.value < 0x7F }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
      return false
    default: return true
    }
  }

  /// A part of a URL: what is no visible ASCII character is percent-encoded.
  static func url(_ bytes: some Sequence<UInt8>) -> String {
    bytes.reduce(into: "") { text, byte in
      if (0x21..<0x7F).contains(byte) {
        text.unicodeScalars.append(UnicodeScalar(byte))
      } else {
        text += "%" + hexadecimal(byte)
      }
    }
  }

  static func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
  }

  /// A field's value; of one that may hold credentials only its length.
  static func value(_ bytes: some Collection<UInt8>, of name: some Collection<UInt8>) -> String {
    isSecret(name) ? "(\(bytes.count) bytes, not shown)" : text(bytes)
  }

  /// Whether a field of this name may hold what proves who somebody is.
  static func isSecret(_ name: some Collection<UInt8>) -> Bool {
    let name = String(decoding: Array(name), as: UTF8.self).lowercased()
    return secretNames.contains(name) || secretWords.contains { name.contains($0) }
  }

  private static let secretNames: Set<String> = [
    "authorization", "proxy-authorization", "authentication-info", "proxy-authentication-info",
  ]
  private static let secretWords = [
    "cookie", "token", "secret", "password", "credential", "session", "signature", "api-key", "apikey",
    "csrf", "xsrf", "x-auth", "-auth-",
  ]
}

extension Fields {
  /// The lines as people are shown them.
  var shown: [String] {
    lines.map { line in
      "\(Shown.text(name(of: line))): \(Shown.value(value(of: line), of: name(of: line)))"
    }
  }
}
