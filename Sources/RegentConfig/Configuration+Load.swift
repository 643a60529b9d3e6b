// From a file to a configuration: its bytes, its surface, its TOML, its keys, the overrides, and at
// last what contradicts what. Foundation reads the file, since TOMLKit brings Foundation anyway.

import FoundationEssentials

extension Configuration {
  /// The largest file that is read.
  static let largestFile = 4 << 20

  /// The configuration of a TOML file, changed by `overrides`, or all that is wrong with it.
  public static func load(
    file: String, overrides: [Override] = []
  ) throws(ConfigurationErrors) -> Configuration {
    let text = try text(of: file)
    var configuration = try parse(text, file: file, overrides: overrides)
    var findings = Findings(file: file, map: SourceMap(text))
    configuration.resolvePaths(below: folder(of: file), findings: &findings)
    configuration.consultSurroundings(SecretSources(folder: folder(of: file)), findings: &findings)
    try findings.settle()
    return configuration
  }

  /// The configuration that a TOML text says; `file` is its name in messages.
  public static func parse(
    _ text: String, file: String, overrides: [Override] = []
  ) throws(ConfigurationErrors) -> Configuration {
    let map = SourceMap(text)
    let root: [String: Node]
    do {
      root = try TOMLText.parse(text, after: map)
    } catch {
      throw ConfigurationErrors([
        ConfigurationError(file: file, line: error.line, key: nil, sentence: error.sentence)
      ])
    }
    var reader = ConfigurationReader(findings: Findings(file: file, map: map))
    let configuration = reader.read(root).applying(overrides, findings: &reader.findings)
    configuration.check(&reader.findings)
    try reader.findings.settle()
    return configuration
  }

  private static func text(of file: String) throws(ConfigurationErrors) -> String {
    func failure(_ sentence: String, _ cause: ConfigurationErrors.Cause = .missingFile)
      -> ConfigurationErrors
    {
      ConfigurationErrors(
        cause: cause, [ConfigurationError(file: file, line: nil, key: nil, sentence: sentence)])
    }
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: file))
    } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
      throw failure("there is no such configuration file")
    } catch let error as CocoaError where error.code == .fileReadNoPermission {
      throw failure("no permission to read this file", .forbiddenFile)
    } catch {
      throw failure("this is no file that can be read")
    }
    guard data.count <= largestFile else {
      throw failure("a configuration has at most \(ByteCount(bytes: largestFile))", .content)
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw failure("this file is not UTF-8", .content)
    }
    return text
  }
}

// The files that a configuration names.
extension Configuration {
  private static func folder(of file: String) -> String {
    file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
  }

  /// Makes paths relative to the file's folder, and notes those where nothing is.
  private mutating func resolvePaths(below base: String, findings: inout Findings) {
    disk.path = disk.path.map { Self.resolved($0, below: base) }
    for index in domains.indices {
      if let folder = domains[index].folder {
        let path = Self.resolved(folder, below: base)
        domains[index].folder = path
        Self.note(path, isMissingFor: "domain.folder", at: at(index, "folder"), &findings)
      }
      for (key, file) in Self.tlsFiles {
        guard let path = domains[index][keyPath: file].map({ Self.resolved($0, below: base) }) else {
          continue
        }
        domains[index][keyPath: file] = path
        Self.note(path, isMissingFor: "domain.\(key)", at: at(index, key), &findings)
      }
      for number in domains[index].fixtures.indices {
        guard let file = domains[index].fixtures[number].file else { continue }
        let path = Self.resolved(file, below: base)
        domains[index].fixtures[number].file = path
        let place = at(index, "fixture") + [.index(number), .key("file")]
        Self.note(path, isMissingFor: "domain.fixture.file", at: place, &findings)
      }
    }
  }

  private static func resolved(_ path: String, below base: String) -> String {
    path.hasPrefix("/") ? path : base + path
  }

  private static func note(
    _ path: String, isMissingFor key: String, at place: [Step], _ findings: inout Findings
  ) {
    guard !FileManager.default.fileExists(atPath: path) else { return }
    findings.add("\"\(key)\" names \(path.quoted), which there is not", key: key, at: place)
  }
}
