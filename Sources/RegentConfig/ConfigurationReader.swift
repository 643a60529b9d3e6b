// From nodes to the configuration, by the table of keys. It judges each value for itself; what
// contradicts what is for `ConfigurationChecks`.

/// One reading of a file's root table.
struct ConfigurationReader {
  var findings: Findings

  /// Reads the root table.
  mutating func read(_ root: [String: Node]) -> Configuration {
    var configuration = Configuration()
    for (name, node) in root.sorted(by: { $0.key < $1.key }) {
      let path = [Step.key(name)]
      switch name {
      case "domain": configuration.domains = elements(of: node, at: path).map { domain($0, at: $1) }
      case "provider": configuration.providers = elements(of: node, at: path).map { provider($0, at: $1) }
      case _ where KeyTable.sections.contains(name):
        guard case .table(let section) = node else {
          findings.add("\"\(name)\" must be a table, not \(node.shown)", key: name, at: path)
          continue
        }
        let keys = KeyTable.top.filter { $0.path.hasPrefix(name + ".") }
        read(section, of: name, into: &configuration, keys: keys, at: path)
      default: addUnknown(name, in: "", among: KeyTable.sections + ["domain", "provider"], at: path)
      }
    }
    return configuration
  }

  private mutating func domain(_ table: [String: Node], at path: [Step]) -> Domain {
    var domain = Domain(name: "")
    read(table, of: "domain", into: &domain, keys: KeyTable.domain, tables: ["fixture"], at: path)
    if let node = table["fixture"] {
      domain.fixtures = elements(of: node, at: path + [.key("fixture")]).map { fixture($0, at: $1) }
    }
    return domain
  }

  private mutating func fixture(_ table: [String: Node], at path: [Step]) -> Fixture {
    var fixture = Fixture(path: "")
    read(table, of: "domain.fixture", into: &fixture, keys: KeyTable.fixture, at: path)
    if table["body"] != nil, table["file"] != nil {
      let sentence = "\"domain.fixture.body\" and \"domain.fixture.file\" exclude each other"
      findings.add(sentence, key: "domain.fixture.file", at: path + [.key("file")])
    }
    return fixture
  }

  private mutating func provider(_ table: [String: Node], at path: [Step]) -> ProviderEntry {
    var provider = ProviderEntry(kind: .memory)
    read(table, of: "provider", into: &provider, keys: KeyTable.provider, at: path)
    return provider
  }

  /// The tables of an array of tables, each with its path.
  private mutating func elements(of node: Node, at path: [Step]) -> [([String: Node], [Step])] {
    var name = ""
    for case .key(let part) in path { name += name.isEmpty ? part : ".\(part)" }
    guard case .array(let nodes) = node else {
      findings.add("\"\(name)\" must be written [[\(name)]], once for each", key: name, at: path)
      return []
    }
    var elements: [([String: Node], [Step])] = []
    for (index, node) in nodes.enumerated() {
      if case .table(let table) = node {
        elements.append((table, path + [.index(index)]))
      } else {
        findings.add("\"\(name)\" must be a list of tables, not of \(node.shown)", key: name, at: path)
      }
    }
    return elements
  }

  /// Reads a table's keys into `owner`; `tables` are names that the caller reads itself.
  private mutating func read<Owner>(
    _ table: [String: Node], of prefix: String, into owner: inout Owner, keys: [Key<Owner>],
    tables: [String] = [], at path: [Step]
  ) {
    for (name, node) in table.sorted(by: { $0.key < $1.key }) where !tables.contains(name) {
      let place = path + [.key(name)]
      guard let key = keys.first(where: { $0.name == name }) else {
        addUnknown(name, in: prefix + ".", among: keys.map(\.name) + tables, at: place)
        continue
      }
      do {
        try key.read(node, &owner)
      } catch {
        findings.add(error, of: key, node: node, at: .path(place))
      }
    }
    for key in keys where key.isRequired && table[key.name] == nil {
      findings.add("\"\(key.path)\" is missing", key: key.path, at: path)
    }
  }

  private mutating func addUnknown(
    _ name: String, in prefix: String, among candidates: [String], at path: [Step]
  ) {
    let near = Nearest.candidate(to: name, among: candidates).map { prefix + $0 }
    // A key that is right but stands in the wrong table.
    let elsewhere = KeyTable.all.first { $0.path.hasSuffix("." + name) }?.path
    findings.add(
      "unknown key \((prefix + name).quoted)", key: prefix + name, at: path, nearest: near ?? elsewhere)
  }
}
