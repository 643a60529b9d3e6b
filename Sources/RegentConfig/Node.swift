// A value as it was written, in a file or on the command line, before any key has judged it.

/// A written value and its type.
enum Node: Sendable, Equatable {
  case string(String)
  case integer(Int)
  case boolean(Bool)
  case array([Node])
  case table([String: Node])
  /// A value of a type that no key takes, named with its article.
  case other(String)
  /// A value from the command line, whose type is for the key to say.
  case word(String)
}

extension Node {
  var string: String? {
    switch self {
    case .string(let text), .word(let text): text
    default: nil
    }
  }

  var integer: Int? {
    switch self {
    case .integer(let number): number
    case .word(let text): Int(text)
    default: nil
    }
  }

  var boolean: Bool? {
    switch self {
    case .boolean(let truth): truth
    case .word(let text): Bool(text)
    default: nil
    }
  }

  /// The elements; on the command line they stand between commas.
  var array: [Node]? {
    switch self {
    case .array(let elements): elements
    case .word(let text): text.isEmpty ? [] : text.split(separator: ",").map { .word(String($0)) }
    default: nil
    }
  }

  /// The value as an error message shows it.
  var shown: String {
    switch self {
    case .string(let text), .word(let text): text.quoted
    case .integer(let number): "\(number)"
    case .boolean(let truth): "\(truth)"
    case .array: "a list"
    case .table: "a table"
    case .other(let type): type
    }
  }
}

extension String {
  /// The text in quotation marks, made harmless and short enough for one line of a message.
  var quoted: String {
    var shown = ""
    for scalar in unicodeScalars.prefix(80) {
      shown += scalar.properties.generalCategory == .control ? scalar.escaped(asASCII: true) : String(scalar)
    }
    return "\"\(shown)\(unicodeScalars.count > 80 ? "..." : "")\""
  }
}
