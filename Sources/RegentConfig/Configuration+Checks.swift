// What no single key can know: values that contradict each other. One function a rule, all of them
// listed at the top; each rule reports everything that it finds.

extension Configuration {
  /// Notes every contradiction.
  func check(_ findings: inout Findings) {
    checkListeners(&findings)
    checkSizes(&findings)
    checkNames(&findings)
    checkSources(&findings)
    checkTLS(&findings)
    checkLifetimes(&findings)
    checkFixtures(&findings)
    checkRoutes(&findings)
    checkDefaults(&findings)
    checkLoops(&findings)
    checkProviders(&findings)
    checkCoverage(&findings)
  }

  private func checkListeners(_ findings: inout Findings) {
    let path = [Step.key("server"), .key("listen")]
    guard findings.isSound(path) else { return }
    var seen: Set<ListenAddress> = []
    for address in server.listen where !address.hasAnyPort {
      if !seen.insert(address).inserted {
        findings.add("\"server.listen\" names \(address) twice", key: "server.listen", at: path)
      }
    }
  }

  private func checkSizes(_ findings: inout Findings) {
    if limits.line > limits.head, findings.isSound([.key("limits")]) {
      let sentence = "\"limits.line\" (\(limits.line)) is larger than \"limits.head\" (\(limits.head))"
      findings.add(sentence, key: "limits.line", at: [.key("limits"), .key("line")])
    }
    if disk.maxObject > disk.size, findings.isSound([.key("disk")]) {
      let sentence = "\"disk.max-object\" (\(disk.maxObject)) is larger than \"disk.size\" (\(disk.size))"
      findings.add(sentence, key: "disk.max-object", at: [.key("disk"), .key("max-object")])
    }
    if memory.maxObject > memory.size, findings.isSound([.key("memory")]) {
      let sentence =
        "\"memory.max-object\" (\(memory.maxObject)) is larger than \"memory.size\" (\(memory.size))"
      findings.add(sentence, key: "memory.max-object", at: [.key("memory"), .key("max-object")])
    }
  }

  private func checkNames(_ findings: inout Findings) {
    var seen: Set<String> = []
    for (index, domain) in domains.enumerated() where !domain.name.isEmpty {
      if !seen.insert(domain.name).inserted {
        findings.add(
          "two domains are named \(domain.name.quoted)", key: "domain.name", at: at(index, "name"))
      }
    }
  }

  private func checkSources(_ findings: inout Findings) {
    for (index, domain) in domains.enumerated() where findings.isSound(at(index)) {
      if domain.upstream == nil, domain.fixtures.isEmpty, domain.folder == nil {
        findings.add(
          "domain \(domain.name.quoted) has nothing that answers: give it an upstream, fixtures or a folder",
          key: "domain.upstream", at: at(index))
      }
    }
  }

  private func checkLifetimes(_ findings: inout Findings) {
    for (index, domain) in domains.enumerated() where findings.isSound(at(index)) {
      guard let least = domain.minimumTTL, let most = domain.maximumTTL, least > most else { continue }
      findings.add(
        "\"domain.ttl-min\" (\(least.configured)) is longer than \"domain.ttl-max\" (\(most.configured))",
        key: "domain.ttl-min", at: at(index, "ttl-min"))
    }
  }

  private func checkFixtures(_ findings: inout Findings) {
    for (index, domain) in domains.enumerated() {
      var seen: Set<String> = []
      for (number, fixture) in domain.fixtures.enumerated() where !fixture.path.isEmpty {
        if !seen.insert(fixture.path).inserted {
          findings.add(
            "domain \(domain.name.quoted) has two fixtures for \(fixture.path.quoted)",
            key: "domain.fixture.path",
            at: at(index, "fixture") + [.index(number), .key("path")])
        }
      }
    }
  }

  private func checkDefaults(_ findings: inout Findings) {
    let defaults = domains.indices.filter { domains[$0].isDefault }
    for index in defaults.dropFirst() {
      let both = "\(domains[defaults[0]].name.quoted) and \(domains[index].name.quoted)"
      findings.add(
        "two domains are the default: \(both)", key: "domain.default", at: at(index, "default"))
    }
  }

  private func checkProviders(_ findings: inout Findings) {
    guard findings.areSound("domain") else { return }
    let names = domains.map(\.name)
    for (index, provider) in providers.enumerated() {
      let path = [Step.key("provider"), .index(index), .key("domains")]
      guard case .named(let wanted) = provider.domains, findings.isSound(path) else { continue }
      for name in wanted where !names.contains(name) {
        findings.add(
          "\"provider.domains\" names the domain \(name.quoted), which there is not",
          key: "provider.domains", at: path, nearest: Nearest.candidate(to: name, among: names))
      }
    }
  }

  /// Each domain's own sources must have a provider, and no kind of provider may serve it twice.
  private func checkCoverage(_ findings: inout Findings) {
    guard findings.areSound("domain"), findings.areSound("provider") else { return }
    for (index, domain) in domains.enumerated() {
      for kind in ProviderEntry.Kind.allCases {
        let serving = providers.indices.filter {
          providers[$0].kind == kind && providers[$0].domains.contains(domain.name)
        }
        if serving.isEmpty, domain.needs(kind) {
          findings.add(
            "no provider of kind \"\(kind.rawValue)\" serves the domain \(domain.name.quoted), which needs one",
            key: "provider.kind", at: at(index, "name"))
        }
        if serving.count > 1 {
          findings.add(
            "two providers of kind \"\(kind.rawValue)\" serve the domain \(domain.name.quoted)",
            key: "provider.domains", at: [.key("provider"), .index(serving[1])])
        }
      }
    }
  }

  /// The path of a domain's key, or of the domain.
  func at(_ domain: Int, _ key: String? = nil) -> [Step] {
    [.key("domain"), .index(domain)] + (key.map { [.key($0)] } ?? [])
  }
}

extension ListenAddress {
  /// Whether the system chooses the port, so that the same text means another address each time.
  fileprivate var hasAnyPort: Bool {
    switch self {
    case .tcp(_, let port), .anyAddress(let port): port == 0
    case .unix: false
    }
  }
}

extension ProviderEntry.Domains {
  fileprivate func contains(_ name: String) -> Bool {
    switch self {
    case .any: true
    case .named(let names): names.contains(name)
    }
  }
}

extension Domain {
  fileprivate func needs(_ kind: ProviderEntry.Kind) -> Bool {
    switch kind {
    case .memory, .disk: false
    case .fixtures: !fixtures.isEmpty || folder != nil
    case .upstream: upstream != nil
    }
  }
}
