// A text in which secrets are named instead of written: `${env:NAME}`, `${file:PATH}`, `${credential:NAME}`. They are
// read once, at the start. What they are is for the origin alone: no description and no mirror of the value shows it.

/// A text and the secrets that it names.
public struct SecretText: Sendable, Equatable {
  /// Where a secret is read from.
  public enum Source: Sendable, Equatable {
    /// An environment variable.
    case environment(String)
    /// A file: an absolute path, or one relative to the configuration's folder.
    case file(String)
    /// A file in the folder that systemd names in $CREDENTIALS_DIRECTORY.
    case credential(String)
  }

  /// A part of the text.
  public enum Piece: Sendable, Equatable {
    /// As it was written.
    case literal(String)
    /// Named, and not read yet.
    case reference(Source)
    /// Read.
    case secret(String)
  }

  /// The parts, in their order.
  public private(set) var pieces: [Piece]

  /// The text that `template` stands for; throws one sentence where a reference cannot be meant.
  public init(_ template: String) throws(Refusal) {
    pieces = []
    var rest = template[...]
    while let start = rest.firstRange(of: "${") {
      guard let end = rest[start.upperBound...].firstIndex(of: "}") else {
        throw Refusal("a reference that begins with ${ ends with }")
      }
      append(literal: rest[..<start.lowerBound])
      pieces.append(.reference(try Source(rest[start.upperBound..<end])))
      rest = rest[end...].dropFirst()
    }
    append(literal: rest)
  }

  private mutating func append(literal: Substring) {
    if !literal.isEmpty { pieces.append(.literal(String(literal))) }
  }

  /// Puts the secrets in the place of their names. `read` throws one sentence that names the source and never shows
  /// what is in it.
  mutating func resolve(_ read: (Source) throws(Refusal) -> String) throws(Refusal) {
    for index in pieces.indices {
      guard case .reference(let source) = pieces[index] else { continue }
      pieces[index] = .secret(try read(source))
    }
  }
}

extension SecretText.Source {
  /// The source that "env:NAME", "file:PATH" or "credential:NAME" names.
  fileprivate init(_ text: Substring) throws(Refusal) {
    let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { throw Refusal(Self.forms) }
    switch parts[0] {
    case "env": self = .environment(parts[1])
    case "file": self = .file(parts[1])
    case "credential":
      guard !parts[1].contains("/"), parts[1] != ".", parts[1] != ".." else {
        throw Refusal("a credential's name has no slash")
      }
      self = .credential(parts[1])
    default: throw Refusal(Self.forms)
    }
  }

  private static let forms =
    "a secret is named ${env:NAME}, ${file:PATH} or ${credential:NAME}"
}

extension SecretText.Source: CustomStringConvertible {
  public var description: String {
    switch self {
    case .environment(let name): "${env:\(name)}"
    case .file(let path): "${file:\(path)}"
    case .credential(let name): "${credential:\(name)}"
    }
  }
}

// What is printed, logged or dumped says that there is something, not what.
extension SecretText: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "(hidden)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
