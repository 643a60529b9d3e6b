// Keys set on the command line, over the file; and files that cannot be read at all.

import TestKit
import Testing

@testable import RegentConfig

@Suite("The command line's keys, and files")
struct OverrideTests {
  static let file = "[memory]\nsize = '8 MiB'\n[[domain]]\nname = 'site'\nupstream = 'http://a.test'\n"

  private func read(_ arguments: [String]) throws -> Configuration {
    try Configuration.parse(Self.file, file: "f", overrides: arguments.map { try Override(set: $0) })
  }

  @Test("a key of the command line wins over the file, and the last one over those before")
  func wins() throws {
    let configuration = try read([
      "memory.size=1MiB", "memory.size=16 MiB", "server.listen=localhost:1,unix:/a=b", "server.workers=3",
      "server.path-prefixes=false", "server.name=123", "timeouts.connect=250ms", "log.level=error",
      "domain.site.ttl=5m", "domain.site.hosts=a.test,*.b.test", "domain.site.default=true",
    ])
    #expect(configuration.memory.size == .mebibytes(16))
    #expect(configuration.server.listen.map(\.description) == ["127.0.0.1:1", "[::1]:1", "unix:/a=b"])
    #expect(configuration.server.workers == 3)
    #expect(configuration.server.name == "123")
    #expect(!configuration.server.pathPrefixes)
    #expect(configuration.timeouts.connect == .milliseconds(250))
    #expect(configuration.log.level == .error)
    #expect(configuration.domains[0].ttl == .seconds(300))
    #expect(configuration.domains[0].hosts == [.exact("a.test"), .suffix("b.test")])
    #expect(configuration.domains[0].isDefault)
  }

  @Test(
    "a wrong key or value is reported with the option as it was typed",
    arguments: [
      ("memroy.size=1MiB", #"unknown key "memroy.size" (did you mean "memory.size"?)"#),
      ("size=1MiB", #"unknown key "size""#),
      ("memory.size=lots", #""memory.size" must be a size such as "64 KiB", not "lots""#),
      ("server.workers=99999", #""server.workers" cannot be "99999": it must be from 0 to 1024"#),
      ("server.listen=", #""server.listen" cannot be "": Regent must listen somewhere"#),
      ("domain.ttl=5m", "a domain's key is written domain.NAME.KEY"),
      ("domain.sitr.ttl=5m", #"no domain is named "sitr" (did you mean "site"?)"#),
      ("domain.site.tll=5m", #"unknown key "domain.site.tll" (did you mean "domain.site.ttl"?)"#),
    ])
  func wrong(argument: String, sentence: String) throws {
    let errors = try #require(throws: ConfigurationErrors.self) { try read([argument]) }
    #expect(errors.description == "--set \(argument): \(sentence)")
    #expect(errors.cause == .commandLine)
  }

  @Test("an override that contradicts the file is an error")
  func contradiction() throws {
    let errors = try #require(throws: ConfigurationErrors.self) { try read(["memory.max-object=9MiB"]) }
    #expect(errors.description == #"f:1: "memory.max-object" (9 MiB) is larger than "memory.size" (8 MiB)"#)
  }

  @Test("KEY=VALUE needs a key and an equals sign", arguments: ["", "=", "=x", "memory.size"])
  func malformed(argument: String) { #expect(throws: Refusal.self) { try Override(set: argument) } }

  @Test("an origin that is Regent itself is refused without a file, too")
  func loop() throws {
    let configuration = Configuration.forUpstream(try UpstreamURL("http://127.0.0.1:8080"))
    let errors = try #require(throws: ConfigurationErrors.self) { try configuration.applying([]) }
    #expect(errors.cause == .commandLine)
    #expect(throws: Never.self) {
      try configuration.applying([Override(option: "--listen", key: "server.listen", value: "127.0.0.1:81")])
    }
  }

  @Test("a file that is missing, no file, not UTF-8, or too large is one sentence")
  func files() throws {
    let folder = try TemporaryFolder()
    func expect(_ file: String, _ sentence: String, _ cause: ConfigurationErrors.Cause) {
      let errors = #expect(throws: ConfigurationErrors.self) { try Configuration.load(file: file) }
      #expect(errors?.description == "\(file): \(sentence)")
      #expect(errors?.cause == cause)
    }
    let file = folder.path("a.toml")
    expect(file, "there is no such configuration file", .missingFile)
    expect(folder.path, "this is no file that can be read", .missingFile)
    try folder.write([0x61, 0xFF, 0x3D], to: "a.toml")
    expect(file, "this file is not UTF-8", .content)
    try folder.write([UInt8](repeating: 0x0A, count: Configuration.largestFile + 1), to: "a.toml")
    expect(file, "a configuration has at most 4 MiB", .content)
  }

  @Test("files that a configuration names are relative to its own folder, and must be there")
  func namedFiles() throws {
    let folder = try TemporaryFolder()
    let text = "[[domain]]\nname = 'a'\nfolder = '.'\n[[domain.fixture]]\npath = '/'\nfile = 'body'\n"
    let file = try folder.write(text, to: "a.toml")
    let errors = #expect(throws: ConfigurationErrors.self) { try Configuration.load(file: file) }
    #expect(
      errors?.description
        == "\(file):6: \"domain.fixture.file\" names \"\(folder.path)/body\", which there is not")
    try folder.write("x", to: "body")
    let fixture = try Configuration.load(file: file).domains[0].fixtures[0]
    #expect(fixture.body == .file("\(folder.path)/body"))
  }
}
