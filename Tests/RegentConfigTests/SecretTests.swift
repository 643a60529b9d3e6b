// Secrets that a configuration names: how they are written, where they are read, and that nothing shows them.

import FoundationEssentials
import TestKit
import Testing

@testable import RegentConfig

@Suite("Secrets")
struct SecretTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("a text is literals and references, in order")
  func pieces() throws {
    #expect(try SecretText("plain $ {x} }").pieces == [.literal("plain $ {x} }")])
    #expect(
      try SecretText("Bearer ${env:TOKEN}, ${file:/a:b}${credential:c}.").pieces == [
        .literal("Bearer "), .reference(.environment("TOKEN")), .literal(", "), .reference(.file("/a:b")),
        .reference(.credential("c")), .literal("."),
      ])
    #expect(try SecretText("").pieces.isEmpty)
  }

  @Test(
    "a reference that cannot be meant is refused",
    arguments: ["${env:A", "${A}", "${}", "${vault:a}", "${env:}", "${credential:a/b}", "${credential:..}"])
  func refused(text: String) {
    #expect(throws: Refusal.self) { try SecretText(text) }
  }

  private func sources(_ files: [String: String], _ environment: [String: String]) throws -> SecretSources {
    for (name, text) in files { try folder.write(text, to: name) }
    var sources = SecretSources(folder: folder.path(""))
    sources.environment = environment
    return sources
  }

  @Test("they come from the environment, a file below the configuration's folder, and systemd's credentials")
  func places() throws {
    let sources = try sources(
      ["token": "from a file\n", "cred": "from systemd"],
      ["A": "from env", "CREDENTIALS_DIRECTORY": folder.path])
    #expect(try sources.read(.environment("A")) == "from env")
    #expect(try sources.read(.file("token")) == "from a file")
    #expect(try sources.read(.file(sources.folder + "token")) == "from a file")
    #expect(try sources.read(.credential("cred")) == "from systemd")
  }

  @Test("one that is missing, empty, split over lines or huge is refused by its name, without its content")
  func broken() throws {
    let files = [
      "empty": "\n", "lines": "hush\r\nX: y", "nul": "hush\0", "blank": " hush",
      "huge": String(repeating: "h", count: 65537),
    ]
    let sources = try sources(files, ["E": "", "L": "hush\nX: y"])
    let all: [SecretText.Source] =
      files.keys.map { .file($0) } + [
        .file("none"), .environment("NONE"), .environment("E"), .environment("L"), .credential("c"),
      ]
    for source in all {
      let refusal = #expect(throws: Refusal.self, "\(source)") { try sources.read(source) }
      #expect(refusal?.description.contains("hush") == false)
    }
  }

  private func loaded(_ lines: String, set: [String] = []) throws -> RegentConfig.Domain {
    let file = try folder.write(oneDomain + lines, to: "a.toml")
    return try Configuration.load(file: file, overrides: set.map { try Override(set: "domain.a.\($0)") })
      .domains[0]
  }

  @Test("a configuration that is loaded has them in place, and shows none in any description")
  func hidden() throws {
    // PATH is a variable that every process has.
    let path = try #require(ProcessInfo.processInfo.environment["PATH"])
    let domain = try loaded(
      "request-fields = ['Authorization: Bearer ${env:PATH}', 'X:  y ']\nrequest-query = ['k=${env:PATH}']")
    #expect(domain.manners.fields.map(\.name) == ["Authorization", "X"])
    #expect(domain.manners.fields[0].value.pieces == [.literal("Bearer "), .secret(path)])
    #expect(domain.manners.fields[1].value.pieces == [.literal("y")])
    #expect(domain.manners.query[0].value.pieces == [.secret(path)])
    var dumped = ""
    dump(domain, to: &dumped)
    #expect("\(domain) \(String(reflecting: domain)) \(dumped)".contains(path) == false)
    #expect(dumped.contains("hidden"))
  }

  @Test("a missing one names the key and the line")
  func missing() throws {
    for key in [
      "request-fields = ['A: ${env:REGENT_NO_SUCH}']", "request-query = ['a=${env:REGENT_NO_SUCH}']",
    ] {
      let errors = #expect(throws: ConfigurationErrors.self) { try loaded("ttl = '1s'\n" + key) }
      let error = try #require(errors?.errors.first)
      #expect(error.line == 5 && "\(error)".contains("REGENT_NO_SUCH"), "\(error)")
    }
  }

  @Test(
    "lines and parameters that cannot stand in a request are refused, and what they hold is not shown",
    arguments: [
      "request-fields = ['hush']", "request-fields = ['A B: hush']", "request-fields = ['Host: hush']",
      "request-fields = ['via: hush']", "request-fields = ['X-Forwarded-For: hush']",
      #"request-fields = ["A: hush\n"]"#,
      "request-fields = ['A: hush ${env']", "request-query = ['hush']", "request-query = ['=hush']",
      "request-query = ['a=hush hush']", "request-query = ['a=hush&b']", "request-query = ['a=hush#']",
      "host = 'a/hush'", "host = 'hush@a'", "forwarded = 'all'",
    ])
  func refusedKeys(line: String) throws {
    let errors = #expect(throws: ConfigurationErrors.self) { try loaded(line) }
    if !line.hasPrefix("host"), !line.hasPrefix("forwarded") {
      #expect("\(errors?.errors ?? [])".contains("hush") == false)
    }
  }

  @Test("each is set on the command line too")
  func commandLine() throws {
    let domain = try loaded(
      "", set: ["request-fields=A: b,C: d", "request-query=a=b", "forwarded=x-forwarded", "host=A.test:81"])
    #expect(domain.manners.fields.map(\.name) == ["A", "C"] && domain.manners.query.map(\.name) == ["a"])
    #expect(domain.manners.forwarded == .xForwarded && domain.manners.host?.text == "a.test:81")
  }
}
