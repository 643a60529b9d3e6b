// How `regent` ends: the codes of sysexits.h, each with its meaning, which the help text lists.

import RegentConfig

/// A way for the process to end, other than well.
struct ExitCode: Equatable {
  let rawValue: Int32

  static let negative = ExitCode(rawValue: 1)
  static let usage = ExitCode(rawValue: 64)
  static let data = ExitCode(rawValue: 65)
  static let missingFile = ExitCode(rawValue: 66)
  static let unavailable = ExitCode(rawValue: 69)
  static let `internal` = ExitCode(rawValue: 70)
  static let system = ExitCode(rawValue: 71)
  static let cannotCreate = ExitCode(rawValue: 73)
  static let permission = ExitCode(rawValue: 77)
  static let configuration = ExitCode(rawValue: 78)

  /// Every code with what it means.
  static let meanings: [(code: ExitCode, meaning: String)] = [
    (.negative, "cache verify found damage, or cache show nothing"),
    (.usage, "the command line is wrong"),
    (.data, "what was named is no cache directory of this version's"),
    (.missingFile, "a file is missing"),
    (.unavailable, "something is unavailable, such as a port in use"),
    (.internal, "an error inside Regent"),
    (.system, "the operating system refuses something"),
    (.cannotCreate, "a file cannot be made"),
    (.permission, "a permission is missing"),
    (.configuration, "the configuration is wrong"),
  ]

  /// The codes as the help text shows them.
  static var table: String {
    meanings.reduce("Exit codes:\n  0   all is well") { $0 + "\n  \($1.code.rawValue)  \($1.meaning)" }
  }
}

/// The end of a command that could not do its work.
struct Failure: Error {
  /// What went wrong, as the user reads it: one sentence, or one line for each finding.
  let message: String
  let code: ExitCode

  init(message: String, code: ExitCode) {
    self.message = "regent: \(message)"
    self.code = code
  }
  /// The end that a refused configuration means.
  init(_ errors: ConfigurationErrors) {
    // Each line begins with its file already.
    message = errors.description
    code =
      switch errors.cause {
      case .missingFile: .missingFile
      case .forbiddenFile: .permission
      case .content: .configuration
      case .commandLine: .usage
      }
  }
}
