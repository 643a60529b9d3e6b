// What is wrong with a configuration: each finding has its place, its key and one sentence.

/// One thing that is wrong with a configuration.
public struct ConfigurationError: Error, Sendable, Equatable {
  /// The file as it was named, or the option of the command line, such as `--set memory.size=1`.
  public let file: String
  /// The line, from 1; nil if the finding is about no line, or not about a file.
  public let line: Int?
  /// The key, such as `memory.size`; nil if the finding is about none.
  public let key: String?
  /// What is wrong, without a full stop.
  public let sentence: String
  /// The nearest valid key or value, if one is near.
  public let nearest: String?

  public init(file: String, line: Int?, key: String?, sentence: String, nearest: String? = nil) {
    self.file = file
    self.line = line
    self.key = key
    self.sentence = sentence
    self.nearest = nearest
  }
}

extension ConfigurationError: CustomStringConvertible {
  /// The finding as the user reads it: `FILE:LINE: SENTENCE (did you mean "NEAREST"?)`.
  public var description: String {
    let place = line.map { "\(file):\($0)" } ?? file
    let hint = nearest.map { " (did you mean \"\($0)\"?)" } ?? ""
    return "\(place): \(sentence)\(hint)"
  }
}

/// All that is wrong with a configuration, at least one finding, in the order of the lines.
public struct ConfigurationErrors: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of failure it is, for the exit code.
  public enum Cause: Sendable {
    /// The file is not there, or cannot be read.
    case missingFile
    /// The file may not be read.
    case forbiddenFile
    /// Something in the file is wrong.
    case content
    /// Only what the command line says is wrong.
    case commandLine
  }

  public let cause: Cause
  public let errors: [ConfigurationError]

  public init(cause: Cause = .content, _ errors: [ConfigurationError]) {
    self.cause = cause
    self.errors = errors
  }

  /// The findings, one on each line.
  public var description: String { errors.map(\.description).joined(separator: "\n") }
}
