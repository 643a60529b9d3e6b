// RFC 9111 section 5.2 as the reference model reads it: Cache-Control as a list of names and arguments.

/// The members of a Cache-Control field.
struct Directives {
  /// In order; an argument that breaks the grammar is there, but marked.
  var all: [(name: String, argument: String?, isBroken: Bool)] = []

  init(_ fields: Lines) {
    for member in members(of: fields.values("cache-control")) {
      guard let equals = member.firstIndex(of: "=") else {
        all.append((member.lowercased(), nil, false))
        continue
      }
      let name = String(member[..<equals])
      let argument = String(member[member.index(after: equals)...])
      let isSpaced = name != trimmed(name) || argument != trimmed(argument)
      all.append((trimmed(name).lowercased(), unquoted(trimmed(argument)), isSpaced))
    }
  }

  func has(_ name: String) -> Bool { all.contains { $0.name == name } }

  /// Section 5.2.2.4 and 5.2.2.7: whether it stands there for the whole response.
  func isWhole(_ name: String) -> Bool {
    all.contains { $0.name == name && ($0.argument == nil || $0.argument == "" || $0.isBroken) }
  }

  /// The fields that `no-cache="…"` or `private="…"` name.
  func fields(of name: String) -> [String] {
    all.filter { $0.name == name }.flatMap { members(of: [$0.argument ?? ""]) }.map { $0.lowercased() }
  }

  /// Whether a permission stands there as it must be written.
  func permits(_ name: String) -> Bool {
    all.contains { $0.name == name && $0.argument == nil && !$0.isBroken }
  }

  /// Section 1.2.2: the seconds of the first one, 0 where they cannot be read; nil where there is none. Section 4.2.1:
  /// of several the first may be used, or the response is stale: more than the first never is right.
  func seconds(_ name: String) -> Int64? {
    guard let first = all.first(where: { $0.name == name }) else { return nil }
    return first.isBroken ? 0 : deltaSeconds(first.argument ?? "") ?? 0
  }

  /// The most lenient reading of a request's directive: the largest readable number.
  func greatest(_ name: String) -> Int64? {
    all.filter { $0.name == name && !$0.isBroken }.compactMap { deltaSeconds($0.argument ?? "") }.max()
  }

  /// The least readable number, where all can be read.
  func least(_ name: String) -> Int64? {
    all.filter { $0.name == name && !$0.isBroken }.compactMap { deltaSeconds($0.argument ?? "") }.min()
  }
}

private func unquoted(_ text: String) -> String {
  text.count >= 2 && text.first == "\"" && text.last == "\"" ? String(text.dropFirst().dropLast()) : text
}

/// RFC 9111 section 1.2.2: digits only; what is too large is 2^31.
func deltaSeconds(_ text: String) -> Int64? {
  guard !text.isEmpty, text.allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
  return text.count > 10 ? 1 << 31 : min(Int64(text) ?? 1 << 31, 1 << 31)
}
