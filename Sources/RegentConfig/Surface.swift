// The statements of a TOML text, read without understanding its values. It must get through any
// bytes whatever: each step moves forward, and nothing here recurses.

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
    statement.key = key(until: UInt8(ascii: "]"))
    skipLine()
    return refusal == nil ? statement : nil
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
      case UInt8(ascii: "\""), UInt8(ascii: "'"): part += string()
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
    var depth = 0
    while refusal == nil, let byte = peek() {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = string()
      case UInt8(ascii: "#"): skipComment()
      case UInt8(ascii: "\n") where depth <= 0: return
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        if depth > SourceMap.deepest { refuse("more than \(SourceMap.deepest) brackets are open") }
        advance()
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        depth -= 1
        advance()
      default: advance()
      }
    }
  }

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
