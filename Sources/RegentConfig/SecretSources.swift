// Where secrets come from: the environment, files, systemd's credentials. Read once, while the configuration is loaded;
// a secret that is not there is a finding with the line that names it.

import FoundationEssentials

/// The places that secrets are read from.
struct SecretSources {
  /// The folder that relative paths start at, with its slash; empty for the working one.
  let folder: String
  var environment = ProcessInfo.processInfo.environment

  /// The most bytes of a secret.
  static let largest = 64 << 10

  /// A secret's value, without the line end at its end.
  func read(_ source: SecretText.Source) throws(Refusal) -> String {
    switch source {
    case .environment(let name):
      guard let value = environment[name] else { throw Refusal("the environment has no \(name)") }
      return try checked(value[...], of: source)
    case .file(let path): return try contents(path.hasPrefix("/") ? path : folder + path, of: source)
    case .credential(let name):
      guard let credentials = environment["CREDENTIALS_DIRECTORY"], !credentials.isEmpty else {
        throw Refusal("\(source) needs systemd's $CREDENTIALS_DIRECTORY, which is not set")
      }
      return try contents("\(credentials)/\(name)", of: source)
    }
  }

  private func contents(_ path: String, of source: SecretText.Source) throws(Refusal) -> String {
    let data: Data
    do { data = try Data(contentsOf: URL(filePath: path)) } catch {
      throw Refusal("\(source) cannot be read")
    }
    guard data.count <= Self.largest, let text = String(validating: data, as: UTF8.self) else {
      throw Refusal("\(source) is no text of at most \(ByteCount(bytes: Self.largest))")
    }
    var value = text[...]
    while value.last?.isNewline == true { value.removeLast() }
    return try checked(value, of: source)
  }

  private func checked(_ value: Substring, of source: SecretText.Source) throws(Refusal) -> String {
    guard !value.isEmpty else { throw Refusal("\(source) is empty") }
    let isPlain = value.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    guard isPlain, value.first != " ", value.last != " " else {
      throw Refusal("\(source) holds a line end, a control character, or white space around it")
    }
    return String(value)
  }
}

extension Configuration {
  /// Fills in what the environment and files say: secrets, and the proxies that lead to origins.
  mutating func consultSurroundings(_ sources: SecretSources, findings: inout Findings) {
    readSecrets(sources, findings: &findings)
    chooseProxies(sources.environment, findings: &findings)
  }

  /// Reads every secret that a domain names.
  mutating func readSecrets(_ sources: SecretSources, findings: inout Findings) {
    for index in domains.indices {
      var manners = domains[index].manners
      for number in manners.fields.indices {
        note("request-fields", of: index, &findings) { () throws(Refusal) in
          try manners.fields[number].value.resolve(sources.read)
        }
      }
      for number in manners.query.indices {
        note("request-query", of: index, &findings) { () throws(Refusal) in
          try manners.query[number].value.resolve(sources.read)
        }
      }
      domains[index].manners = manners
    }
  }

  private func note(
    _ key: String, of domain: Int, _ findings: inout Findings, _ read: () throws(Refusal) -> Void
  ) {
    do {
      try read()
    } catch {
      findings.add("\"domain.\(key)\": \(error)", key: "domain.\(key)", at: at(domain, key))
    }
  }
}
