// All that is found wrong while a configuration is read: nothing stops at the first. What a finding
// damaged is remembered, so that no contradiction is reported that is only its echo.

/// The findings of one reading.
struct Findings {
  let file: String
  let map: SourceMap
  private(set) var errors: [ConfigurationError] = []
  private var damaged: Set<[Step]> = []

  init(file: String, map: SourceMap = SourceMap()) {
    self.file = file
    self.map = map
  }

  /// Notes what is wrong with the value at `path`.
  mutating func add(
    _ sentence: String, key: String? = nil, at path: [Step] = [], nearest: String? = nil
  ) {
    errors.append(
      ConfigurationError(
        file: file, line: map.line(of: path), key: key, sentence: sentence, nearest: nearest))
    damaged.insert(Self.part(of: path))
  }

  /// Notes what is wrong with an option of the command line.
  mutating func add(_ sentence: String, option: String, key: String? = nil, nearest: String? = nil) {
    errors.append(
      ConfigurationError(file: option, line: nil, key: key, sentence: sentence, nearest: nearest))
  }

  /// Notes a failure to read the value of `key`.
  mutating func add<Owner>(_ failure: KeyFailure, of key: Key<Owner>, node: Node, at place: Place) {
    var sentence: String
    var hint: String?
    switch failure {
    case .mismatch(let nearest):
      sentence = "\"\(key.path)\" must be \(key.expectation), not \(node.shown)"
      hint = nearest
    case .refused(let value, let reason):
      sentence = "\"\(key.path)\" cannot be \(value): \(reason)"
    }
    switch place {
    case .path(let path): add(sentence, key: key.path, at: path, nearest: hint)
    case .option(let option): add(sentence, option: option, key: key.path, nearest: hint)
    }
  }

  /// Where a value was written.
  enum Place {
    case path([Step])
    case option(String)
  }

  /// Whether nothing is wrong so far with the domain, provider or section that `path` leads into.
  func isSound(_ path: [Step]) -> Bool { !damaged.contains(Self.part(of: path)) }

  /// Whether nothing is wrong so far with any element of the array `key`.
  func areSound(_ key: String) -> Bool { !damaged.contains { $0.first == .key(key) } }

  /// The name under which contradictions are reported where there is no file.
  static let commandLine = "the command line"

  /// Throws the findings if there are any.
  func settle() throws(ConfigurationErrors) {
    guard !errors.isEmpty else { return }
    let isTyped = errors.allSatisfy { $0.file == Self.commandLine || $0.file.hasPrefix("--") }
    throw ConfigurationErrors(cause: isTyped ? .commandLine : .content, sorted)
  }

  /// The findings in the order of their lines; those without a line come last.
  private var sorted: [ConfigurationError] {
    errors.enumerated().sorted { left, right in
      (left.element.line ?? .max, left.offset) < (right.element.line ?? .max, right.offset)
    }.map(\.element)
  }

  /// The element of an array, or the section, that a path leads into.
  private static func part(of path: [Step]) -> [Step] {
    if path.count > 1, case .index = path[1] { return Array(path.prefix(2)) }
    return Array(path.prefix(1))
  }
}
