// A key that is set on the command line, over what the file says.

/// A key with its value as words of the command line.
public struct Override: Sendable, Equatable {
  /// The option as it was typed, for messages: "--memory 64x".
  public let option: String
  /// The key: a path such as `memory.size`, or `domain.NAME.ttl` for the domain of that name.
  public let key: String
  /// The value, without quotation marks; a list has commas.
  public let value: String

  public init(option: String, key: String, value: String) {
    self.option = option
    self.key = key
    self.value = value
  }

  /// The override that "KEY=VALUE", the argument of `--set`, stands for.
  public init(set argument: String) throws(Refusal) {
    guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else {
      throw Refusal("this is not KEY=VALUE, such as memory.size=64MiB")
    }
    self.init(
      option: "--set \(argument)", key: String(argument[..<equals]),
      value: String(argument[equals...].dropFirst()))
  }
}

extension Configuration {
  /// The configuration with `overrides`, in their order, or all that is wrong with it then.
  public func applying(_ overrides: [Override]) throws(ConfigurationErrors) -> Configuration {
    var findings = Findings(file: Findings.commandLine)
    var configuration = applying(overrides, findings: &findings)
    configuration.check(&findings)
    configuration.consultSurroundings(SecretSources(folder: ""), findings: &findings)
    try findings.settle()
    return configuration
  }

  func applying(_ overrides: [Override], findings: inout Findings) -> Configuration {
    var configuration = self
    for override in overrides {
      if let key = KeyTable.top.first(where: { $0.path == override.key }) {
        override.apply(key, to: &configuration, findings: &findings)
      } else if override.key.hasPrefix("domain.") {
        override.applyToDomain(of: &configuration, findings: &findings)
      } else {
        let paths = KeyTable.top.map(\.path)
        override.addUnknown(nearest: Nearest.candidate(to: override.key, among: paths), to: &findings)
      }
    }
    return configuration
  }
}

extension Override {
  fileprivate func apply<Owner>(_ key: Key<Owner>, to owner: inout Owner, findings: inout Findings) {
    let node = Node.word(value)
    do {
      try key.read(node, &owner)
    } catch {
      findings.add(error, of: key, node: node, at: .option(option))
    }
  }

  /// `domain.NAME.KEY` sets a key of a domain that is there.
  fileprivate func applyToDomain(of configuration: inout Configuration, findings: inout Findings) {
    let parts = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3 else {
      findings.add("a domain's key is written domain.NAME.KEY", option: option, key: key)
      return
    }
    let names = configuration.domains.map(\.name)
    guard let index = names.firstIndex(of: parts[1]) else {
      let nearest = Nearest.candidate(to: parts[1], among: names)
      findings.add("no domain is named \(parts[1].quoted)", option: option, key: key, nearest: nearest)
      return
    }
    guard let row = KeyTable.domain.first(where: { $0.name == parts[2] }) else {
      let nearest = Nearest.candidate(to: parts[2], among: KeyTable.domain.map(\.name))
      addUnknown(nearest: nearest.map { "domain.\(parts[1]).\($0)" }, to: &findings)
      return
    }
    apply(row, to: &configuration.domains[index], findings: &findings)
  }

  fileprivate func addUnknown(nearest: String?, to findings: inout Findings) {
    findings.add("unknown key \(key.quoted)", option: option, key: key, nearest: nearest)
  }
}
