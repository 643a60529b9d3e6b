// The statements of a TOML text, read without understanding its values. It must get through any
// bytes whatever: each step moves forward, and nothing here recurses. It refuses what makes the parser
// end the process instead of throwing: toml++ 3.4.0 asserts on "[[[", "a = [}" and "a = 2026-01-01T-".

/// A cursor over the statements of a TOML text.
struct Surface {
  /// A header or a key with its value.
  struct Statement {
    enum Kind { case table, arrayElement, keyValue }

    var kind: Kind
    var key: [String]
    var line: Int
  }

  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private(set) var refusal: TOMLRefusal?

  init(_ text: String) {
    bytes = Array(text.utf8)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  /// The next statement; nil at the end, or once something is refused.
  mutating func nextStatement() -> Statement? {
    while refusal == nil, let byte = peek() {
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): advance()
      case UInt8(ascii: "#"): skipComment()
      case UInt8(ascii: "["): return header()
      default: return keyValue()
      }
    }
    return nil
  }

  private mutating func header() -> Statement? {
    var statement = Statement(kind: .table, key: [], line: line)
    advance()
    if peek() == UInt8(ascii: "[") {
      advance()
      statement.kind = .arrayElement
    }
    while peek() == UInt8(ascii: " ") || peek() == UInt8(ascii: "\t") { advance() }
    if !beginsKey(peek()) { refuse("this is not TOML: a header without a name") }
    statement.key = key(until: UInt8(ascii: "]"))
    skipLine()
    return refusal == nil ? statement : nil
  }

  private func beginsKey(_ byte: UInt8?) -> Bool {
    guard let byte else { return false }
    let bare = [UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "\""), UInt8(ascii: "'")]
    return bare.contains(byte) || Character(Unicode.Scalar(byte)).isASCIIAlphanumeric
  }

  private mutating func keyValue() -> Statement? {
    var statement = Statement(kind: .keyValue, key: [], line: line)
    statement.key = key(until: UInt8(ascii: "="))
    skipValue()
    return refusal == nil ? statement : nil
  }

  /// The parts of a dotted key; the cursor stays on `end`, or at the end of the line.
  private mutating func key(until end: UInt8) -> [String] {
    var parts: [String] = []
    var part: [UInt8] = []
    while refusal == nil, let byte = peek(), byte != end, byte != UInt8(ascii: "\n") {
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"): advance()
      case UInt8(ascii: "\""): part += unescaped(string())
      case UInt8(ascii: "'"): part += string()
      case UInt8(ascii: "."):
        parts.append(String(decoding: part, as: UTF8.self))
        part = []
        if parts.count >= SourceMap.deepest { refuse("a key has more than \(SourceMap.deepest) parts") }
        advance()
      default:
        part.append(byte)
        advance()
      }
    }
    return parts + [String(decoding: part, as: UTF8.self)]
  }

  /// To the end of a value: the end of a line that no bracket and no string holds open.
  private mutating func skipValue() {
    var closers: [UInt8] = []
    while refusal == nil, let byte = peek() {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = string()
      case UInt8(ascii: "#"): skipComment()
      case UInt8(ascii: "\n") where closers.isEmpty: return
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        // In ASCII both closing brackets come two after their opening ones.
        closers.append(byte + 2)
        if closers.count > SourceMap.deepest { refuse("more than \(SourceMap.deepest) brackets are open") }
        advance()
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        if closers.popLast() != byte {
          refuse("this is not TOML: a \"\(Character(Unicode.Scalar(byte)))\" that closes nothing")
        }
        advance()
      case UInt8(ascii: "0")...UInt8(ascii: "9"): skipNumber()
      default: advance()
      }
    }
  }

  /// Past a number; dates and times, which begin like one, are nothing that a key takes.
  private mutating func skipNumber() {
    var last = UInt8(ascii: " ")
    while refusal == nil, let byte = peek(), !Self.afterValues.contains(byte) {
      let isDate = byte == UInt8(ascii: "-") && UInt8(ascii: "0")...UInt8(ascii: "9") ~= last
      if isDate || byte == UInt8(ascii: ":") { refuse("no key takes a date or a time") }
      last = byte
      advance()
    }
  }

  private static let afterValues = Array(" \t\r\n,#=[]{}\"'".utf8)

  /// The content of the string that begins here, escapes as they stand.
  private mutating func string() -> [UInt8] {
    guard let quote = peek() else { return [] }
    let isLong = peek(1) == quote && peek(2) == quote
    let closing = isLong ? 3 : 1
    advance(closing)
    var content: [UInt8] = []
    while refusal == nil, let byte = peek() {
      if byte == quote, !isLong || (peek(1) == quote && peek(2) == quote) {
        advance(closing)
        // A long string may end in one or two quotation marks of its own.
        while isLong, peek() == quote { advance() }
        return content
      }
      if byte == UInt8(ascii: "\n"), !isLong { return content }
      if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") { content.append(escape()) }
      if let byte = peek() { content.append(byte) }
      advance()
    }
    return content
  }

  /// The content of a quoted key, its escapes replaced (TOML 1.0, "String").
  private func unescaped(_ content: [UInt8]) -> [UInt8] {
    guard content.contains(UInt8(ascii: "\\")) else { return content }
    var text = ""
    var rest = String(decoding: content, as: UTF8.self).unicodeScalars[...]
    while let scalar = rest.popFirst() {
      guard scalar == "\\", let letter = rest.popFirst() else {
        text.unicodeScalars.append(scalar)
        continue
      }
      let count = letter == "u" ? 4 : letter == "U" ? 8 : 0
      let code = UInt32(String(rest.prefix(count)), radix: 16).flatMap(Unicode.Scalar.init)
      rest = rest.dropFirst(count)
      text.unicodeScalars.append(code ?? Self.escapes[letter] ?? letter)
    }
    return Array(text.utf8)
  }

  private static let escapes: [Unicode.Scalar: Unicode.Scalar] = [
    "b": "\u{8}", "t": "\t", "n": "\n", "f": "\u{C}", "r": "\r",
  ]

  /// Past a backslash, which is returned; the escaped character is next.
  private mutating func escape() -> UInt8 {
    advance()
    let digits = peek() == UInt8(ascii: "u") ? 4 : peek() == UInt8(ascii: "U") ? 8 : 0
    if digits > 0, (1...digits).allSatisfy({ peek($0) == UInt8(ascii: "0") }) {
      refuse("a NUL character")
    }
    return UInt8(ascii: "\\")
  }

  private mutating func skipComment() {
    while let byte = peek(), byte != UInt8(ascii: "\n") { advance() }
  }

  /// To the end of a header's line.
  private mutating func skipLine() { skipComment() }

  private mutating func refuse(_ sentence: String) {
    if refusal == nil { refusal = TOMLRefusal(line: line, sentence: sentence) }
  }

  private func peek(_ offset: Int = 0) -> UInt8? {
    position + offset < bytes.count ? bytes[position + offset] : nil
  }

  private mutating func advance(_ count: Int = 1) {
    for _ in 0..<count {
      guard let byte = peek() else { return }
      if byte == UInt8(ascii: "\n") { line += 1 }
      if byte == 0 { refuse("a NUL character") }
      position += 1
    }
  }
}

extension Character {
  fileprivate var isASCIIAlphanumeric: Bool { isASCII && (isLetter || isNumber) }
}
