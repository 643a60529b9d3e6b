// Writing JSON (RFC 8259) a piece at a time: escaped, indented, and never larger than what is asked of it.

struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  /// Whether each value has a line of its own.
  private let isIndented: Bool
  private var depth = 0
  private var isFirst = true

  init(isIndented: Bool = true) { self.isIndented = isIndented }

  mutating func object(_ key: String? = nil, _ body: (inout JSONWriter) -> Void) {
    begin(key)
    bytes.append(0x7B)
    nest(body, close: 0x7D)
  }

  mutating func array(_ key: String, _ body: (inout JSONWriter) -> Void) {
    begin(key)
    bytes.append(0x5B)
    nest(body, close: 0x5D)
  }

  mutating func value(_ key: String?, _ number: Int) {
    begin(key)
    bytes.append(contentsOf: "\(number)".utf8)
  }

  mutating func value(_ key: String?, _ text: String) {
    begin(key)
    append(quoted: text)
  }

  /// A part of a whole, from 0 to 1 with three decimals.
  mutating func value(_ key: String?, thousandths: Int) {
    begin(key)
    let digits = String(thousandths % 1000)
    let padded = String(repeating: "0", count: 3 - digits.count) + digits
    bytes.append(contentsOf: "\(thousandths / 1000).\(padded)".utf8)
  }

  private mutating func nest(_ body: (inout JSONWriter) -> Void, close: UInt8) {
    depth += 1
    isFirst = true
    body(&self)
    depth -= 1
    if !isFirst { newLine() }
    isFirst = false
    bytes.append(close)
  }

  private mutating func begin(_ key: String?) {
    if !isFirst { bytes.append(0x2C) }
    if depth > 0 { newLine() }
    isFirst = false
    guard let key else { return }
    append(quoted: key)
    bytes.append(contentsOf: ": ".utf8)
  }

  private mutating func newLine() {
    guard isIndented else { return }
    bytes.append(0x0A)
    for _ in 0..<depth { bytes.append(contentsOf: "  ".utf8) }
  }

  private mutating func append(quoted text: String) {
    bytes.append(0x22)
    for byte in text.utf8 {
      switch byte {
      case 0x22, 0x5C: bytes.append(contentsOf: [0x5C, byte])
      // `<` too, so that no page that includes the text can be ended by it.
      case 0..<0x20, 0x3C, 0x7F:
        let digits = Array("0123456789abcdef".utf8)
        bytes.append(contentsOf: "\\u00".utf8)
        bytes.append(contentsOf: [digits[Int(byte >> 4)], digits[Int(byte & 15)]])
      default: bytes.append(byte)
      }
    }
    bytes.append(0x22)
  }
}
