// On which line of a TOML text each key stands, which TOMLKit does not tell. It reads the text's
// surface alone (headers, keys, strings, brackets) and never fails: what is not TOML is for the parser
// to refuse. It runs first and refuses what the parser must not see: deep nesting and NUL.

/// A step on the way from the root table to a value.
enum Step: Hashable, Sendable {
  case key(String)
  case index(Int)
}

/// The lines of a text's keys, from 1.
struct SourceMap: Sendable {
  /// The most brackets around a value, and the most parts of a dotted key.
  static let deepest = 32

  private(set) var lines: [[Step]: Int] = [:]
  /// The first thing that the parser must not see.
  private(set) var refusal: TOMLRefusal?

  private var tableCounts: [[Step]: Int] = [:]

  /// The line of the value at `path`, or else of the nearest table around it.
  func line(of path: [Step]) -> Int? {
    var path = path
    while !path.isEmpty {
      if let line = lines[path] { return line }
      path.removeLast()
    }
    return nil
  }

  init() {}

  init(_ text: String) {
    var surface = Surface(text)
    var table: [Step] = []
    while refusal == nil, let statement = surface.nextStatement() {
      switch statement.kind {
      case .table: table = resolved(statement.key)
      case .arrayElement: table = element(statement.key)
      case .keyValue: break
      }
      note(statement.kind == .keyValue ? table + statement.key.map { .key($0) } : table, statement.line)
    }
    refusal = surface.refusal
  }

  /// Notes the line of what is at `path`, and of the tables around it that begin with it.
  private mutating func note(_ path: [Step], _ line: Int) {
    var path = path
    while !path.isEmpty, lines[path] == nil {
      lines[path] = line
      path.removeLast()
    }
  }

  /// The path of a header: an array of tables stands for its last element so far.
  private func resolved(_ key: [String]) -> [Step] {
    var path: [Step] = []
    for part in key {
      path.append(.key(part))
      if let count = tableCounts[path] { path.append(.index(count - 1)) }
    }
    return path
  }

  /// The path of the element that a `[[header]]` begins.
  private mutating func element(_ key: [String]) -> [Step] {
    guard let last = key.last else { return [] }
    let array = resolved(key.dropLast()) + [.key(last)]
    let count = tableCounts[array, default: 0]
    tableCounts[array] = count + 1
    return array + [.index(count)]
  }
}
