// config/regent.toml against the table of keys: the file that people read first must be complete and
// true. A line that begins with # and no space is a key with its default, commented out.

import FoundationEssentials
import Testing

@testable import RegentConfig

@Suite("The sample file")
struct SampleFileTests {
  static let path =
    "\(#filePath)".split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/config/regent.toml"

  let text: String

  init() throws { text = try String(contentsOfFile: Self.path, encoding: .utf8) }

  /// The file with every commented key active.
  private var uncommented: String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.hasPrefix("#") && !line.hasPrefix("# ") && line != "#" ? line.dropFirst() : line
    }.joined(separator: "\n")
  }

  @Test("it loads, and changes no default but the demo domain")
  func loads() throws {
    var configuration = try Configuration.load(file: Self.path)
    #expect(configuration.domains.map(\.name) == ["demo"])
    #expect(configuration.domains.first?.isDefault == true)
    #expect(
      configuration.domains.first?.fixtures.map(\.path) == ["/", "/hello", "/stale", "/error", "/slow"])
    configuration.domains = []
    #expect(configuration == Configuration())
  }

  @Test("its demo answers are what the README shows")
  func demo() throws {
    let fixtures = try Configuration.load(file: Self.path).domains[0].fixtures
    let cacheControl = fixtures.map { $0.fields.first { $0.name == "Cache-Control" }?.value }
    #expect(
      cacheControl == ["no-store", "max-age=60", "max-age=1, stale-while-revalidate=600", nil, "max-age=60"])
    #expect(fixtures.map(\.status) == [200, 200, 200, 503, 200])
    #expect(fixtures.map(\.delay) == [nil, nil, nil, nil, .seconds(2)])
  }

  @Test("with every commented line active it is still valid")
  func uncommentedLoads() throws {
    let configuration = try Configuration.parse(uncommented, file: "f")
    #expect(configuration.domains.map(\.name) == ["github", "demo"])
    var server = Configuration().server
    // Only an example: unless set it is the system's.
    server.congestionControl = "reno"
    #expect(configuration.server == server)
    #expect(configuration.providers == Configuration().providers)
  }

  /// Each key of the uncommented file as a path of the table, with the value as written.
  private var mentions: [(path: String, value: String)] {
    var section = ""
    var mentions: [(path: String, value: String)] = []
    for line in uncommented.split(separator: "\n") {
      if line.hasPrefix("[") {
        section = String(line.filter { $0 != "[" && $0 != "]" })
      } else if let equals = line.firstRange(of: " = "), line.first != "#", line.first != " " {
        mentions.append(("\(section).\(line[..<equals.lowerBound])", String(line[equals.upperBound...])))
      }
    }
    return mentions
  }

  @Test("it shows every key of the table, those of the sections exactly once")
  func everyKey() {
    for key in KeyTable.all {
      let count = mentions.count { $0.path == key.path }
      let isInSection = KeyTable.sections.contains { key.path.hasPrefix("\($0).") }
      #expect(isInSection ? count == 1 : count >= 1, "\(key.path) is mentioned \(count) times")
    }
  }

  @Test("every value of a section that it shows is the default")
  func everyDefault() throws {
    for key in KeyTable.top {
      let shown = try #require(mentions.first { $0.path == key.path }?.value)
      let plain = Configuration()
      var read = plain
      try key.read(Self.node(shown), &read)
      // What is not set unless it is written can only be shown by an example.
      guard let standard = key.toml(plain) else { continue }
      #expect(key.toml(read) == standard, "\(key.path) = \(shown)")
    }
  }

  @Test("no line is longer than 110 characters")
  func lineLength() {
    for line in text.split(separator: "\n") { #expect(line.count <= 110, "\(line)") }
  }

  private static func node(_ value: String) throws -> Node {
    let text = "v = \(value)"
    return try #require(try TOMLText.parse(text, after: SourceMap(text))["v"])
  }
}
