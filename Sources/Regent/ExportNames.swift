// Names of files for URLs. A URL is anybody's text, so nothing of it can leave the tree, hide a file, look like an option,
// or be longer than a file system takes. Readable where it can be; which URL it is stands in the head beside it.

/// The place of a stored response in an exported tree.
struct ExportName: Sendable, Equatable {
  /// The folders, outermost first: the host, and those of the path.
  let folders: [String]
  /// The file's name within the innermost.
  let file: String

  /// The longest name that is not shortened, in bytes: behind it goes what tells files of one name apart.
  static let longest = 180
  /// The most folders, and bytes of all their names together.
  static let deepest = 24
  static let longestPath = 1024

  init(host: String, path: [UInt8], query: [UInt8]?) {
    var names = path.drop { $0 == 0x2F }.split(separator: 0x2F, omittingEmptySubsequences: false).map(
      Array.init)
    var last = names.popLast() ?? []
    if last.isEmpty { last = Array("index".utf8) }
    if let query { last += [0x3F] + query }
    let own = names.map(Self.name)
    let isDeep =
      own.count >= Self.deepest || own.reduce(0) { $0 + $1.utf8.count } > Self.longestPath
    if isDeep {
      // All of the path in one name, which is shortened.
      folders = [Self.name(Array(host.utf8))]
      file = Self.name(Array((names + [last]).joined(separator: [0x2F])))
    } else {
      folders = [Self.name(Array(host.utf8))] + own
      file = Self.name(last)
    }
  }

  /// One name: letters, digits and a few signs as they are, everything else percent-encoded. No two differ only in what
  /// was encoded, none begins with a dot or a dash, none has a tilde.
  static func name(_ bytes: [UInt8]) -> String {
    guard !bytes.isEmpty else { return "%2F" }
    var name = ""
    var cut = ""
    for (index, byte) in bytes.enumerated() {
      let isFirst = index == 0 && (byte == 0x2E || byte == 0x2D)
      if isPlain(byte), !isFirst {
        name.unicodeScalars.append(UnicodeScalar(byte))
      } else {
        name += "%" + Shown.hexadecimal(byte)
      }
      if name.utf8.count <= longest / 2 { cut = name }
      if name.utf8.count > longest { return "\(cut)~\(digits(hash(bytes)))" }
    }
    return name
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    // . _ - = , + @
    case 0x2E, 0x5F, 0x2D, 0x3D, 0x2C, 0x2B, 0x40: true
    default: false
    }
  }

  /// FNV-1a, 64 bits: only to tell long names apart. Two that are alike get different names all the same.
  private static func hash(_ bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  private static func digits(_ number: UInt64) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}
