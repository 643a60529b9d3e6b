// What is wrong with a file, word for word: the text that a user reads is the contract.

import Testing

@testable import RegentConfig

/// A file and all that `regent check` says about it.
struct BadFile: Sendable, CustomTestStringConvertible {
  let text: String
  let errors: [String]

  init(_ text: String, _ errors: String...) {
    self.text = text
    self.errors = errors
  }

  var testDescription: String { errors.first ?? text }
}

@Suite("Bad files")
struct BadFileTests {
  @Test("an unknown key is named with its line and the nearest valid key", arguments: Self.unknownKeys)
  func unknown(file: BadFile) { expectErrors(file) }

  static let unknownKeys = [
    BadFile("[memroy]\nsize = 1", #"r.toml:1: unknown key "memroy" (did you mean "memory"?)"#),
    BadFile("\n[memory]\nsise = 1", #"r.toml:3: unknown key "memory.sise" (did you mean "memory.size"?)"#),
    BadFile("workers = 1", #"r.toml:1: unknown key "workers" (did you mean "server.workers"?)"#),
    BadFile("memory.sise = 1", #"r.toml:1: unknown key "memory.sise" (did you mean "memory.size"?)"#),
    BadFile("memory = { sise = 1 }", #"r.toml:1: unknown key "memory.sise" (did you mean "memory.size"?)"#),
    BadFile("[log]\nformat = 1", #"r.toml:2: unknown key "log.format""#),
    BadFile("frobnicate = true", #"r.toml:1: unknown key "frobnicate""#),
    BadFile(#""a\u001Bb" = 1"#, #"r.toml:1: unknown key "a\u{1B}b""#),
    BadFile(
      demo + "[[domain.fixtur]]\npath = '/b'",
      #"r.toml:5: unknown key "domain.fixtur" (did you mean "domain.fixture"?)"#),
    BadFile(
      demo + "stauts = 200",
      #"r.toml:5: unknown key "domain.fixture.stauts" (did you mean "domain.fixture.status"?)"#),
    BadFile(
      "[[provider]]\nkind = 'memory'\ndomain = 'any'",
      #"r.toml:3: unknown key "provider.domain" (did you mean "provider.domains"?)"#),
  ]

  @Test("a value of the wrong type or form says what it must be", arguments: Self.wrongValues)
  func wrongValue(file: BadFile) { expectErrors(file) }

  static let wrongValues = [
    BadFile(
      oneDomain + "scope = 'everyone'",
      #"r.toml:4: "domain.scope" must be one of "shared", "private", not "everyone""#),
    BadFile(
      oneDomain + "set-cookie = 'stip'",
      #"r.toml:4: "domain.set-cookie" must be one of "store", "strip", "refuse", not "stip" (did you mean "strip"?)"#
    ),
    BadFile(
      oneDomain + "request-directives = 'no'",
      #"r.toml:4: "domain.request-directives" must be true or false, not "no""#),
    BadFile(
      oneDomain + "heuristic-percent = 101",
      #"r.toml:4: "domain.heuristic-percent" cannot be 101: it must be from 0 to 100"#),
    BadFile(
      oneDomain + "negative-ttl = '1m'",
      #"r.toml:4: "domain.negative-ttl" must be a table of statuses such as { "404" = "1m", "5xx" = "5s" }, not "1m""#
    ),
    BadFile(
      oneDomain + "negative-ttl = { 399 = '1m' }",
      #"r.toml:4: "domain.negative-ttl" cannot be "399": a status is one from "400" to "599", "4xx" or "5xx""#
    ),
    BadFile(
      oneDomain + "negative-ttl = { 3xx = '1m' }",
      #"r.toml:4: "domain.negative-ttl" cannot be "3xx": a status is one from "400" to "599", "4xx" or "5xx""#
    ),
    BadFile(
      oneDomain + "negative-ttl = { 404 = 60 }",
      #"r.toml:4: "domain.negative-ttl" cannot be 60: it must be a duration with its unit, such as "250ms", "10s" or "5m""#
    ),
    BadFile("memory = 1", #"r.toml:1: "memory" must be a table, not 1"#),
    BadFile("[memory]\nsize = true", #"r.toml:2: "memory.size" must be a size such as "64 KiB", not true"#),
    BadFile("[memory]\nsize = -1", #"r.toml:2: "memory.size" must be a size such as "64 KiB", not -1"#),
    BadFile(
      "[memory]\nsize = 1.5",
      #"r.toml:2: "memory.size" must be a size such as "64 KiB", not a floating-point number"#),
    BadFile(
      "[memory]\nsize = '12 parsecs'",
      #"r.toml:2: "memory.size" must be a size such as "64 KiB", not "12 parsecs""#),
    BadFile(
      "[memory]\nsize = 1", #"r.toml:2: "memory.size" cannot be 1: it must be from "1 MiB" to "16 TiB""#),
    BadFile("[server]\nworkers = '2'", #"r.toml:2: "server.workers" must be a whole number, not "2""#),
    BadFile(
      "[server]\nworkers = 5000", #"r.toml:2: "server.workers" cannot be 5000: it must be from 0 to 1024"#),
    BadFile("[server]\npath-prefixes = 1", #"r.toml:2: "server.path-prefixes" must be true or false, not 1"#),
    BadFile(
      "[server]\nname = 'my regent'",
      #"r.toml:2: "server.name" cannot be "my regent": a name is made of letters, digits and hyphens"#),
    BadFile(
      "[server]\nlisten = 'localhost:1'",
      #"r.toml:2: "server.listen" must be a list of addresses such as ["127.0.0.1:8080"], not "localhost:1""#),
    BadFile(
      "[server]\nlisten = ['localhost']",
      #"r.toml:2: "server.listen" cannot be "localhost": an address ends in a colon and a port from 0 to 65535"#
    ),
    BadFile(
      "[server]\nlisten = []", #"r.toml:2: "server.listen" cannot be a list: Regent must listen somewhere"#),
    BadFile(
      "[timeouts]\nidle = 60",
      #"r.toml:2: "timeouts.idle" must be a duration with its unit, such as "250ms", "10s" or "5m", not 60"#),
    BadFile(
      "[timeouts]\nidle = '0s'", #"r.toml:2: "timeouts.idle" cannot be "0s": it must be from "1ms" to "365d""#
    ),
    BadFile(
      "[log]\nlevel = 'wraning'",
      #"r.toml:2: "log.level" must be one of "trace", "debug", "info", "notice", "warning", "error", "critical", "#
        + #"not "wraning" (did you mean "warning"?)"#),
    BadFile("domain = 1", #"r.toml:1: "domain" must be written [[domain]], once for each"#),
    BadFile("[domain.github]\nx = 1", #"r.toml:1: "domain" must be written [[domain]], once for each"#),
    BadFile("domain = [1]", #"r.toml:1: "domain" must be a list of tables, not of 1"#),
    BadFile("[[provider]]\n", #"r.toml:1: "provider.kind" is missing"#),
    BadFile(
      "[[provider]]\nkind = 'tape'",
      #"r.toml:2: "provider.kind" must be one of "memory", "disk", "fixtures", "upstream", not "tape""#),
  ]

  @Test("a domain's value that cannot be says why", arguments: Self.wrongDomains)
  func wrongDomain(file: BadFile) { expectErrors(file) }

  static let wrongDomains = [
    BadFile("[[domain]]\nupstream = 'http://a'", #"r.toml:1: "domain.name" is missing"#),
    BadFile(
      "[[domain]]\nname = 'Git Hub'\nupstream = 'http://a'",
      #"r.toml:2: "domain.name" cannot be "Git Hub": "#
        + "a name is made of a-z, 0-9 and hyphens, at most 63, no hyphen at its ends"),
    BadFile(
      "[[domain]]\nname = 'regent'\nupstream = 'http://a'",
      #"r.toml:2: "domain.name" cannot be "regent": this name is Regent's own"#),
    BadFile(
      "[[domain]]\nname = 'a'\nupstream = 'ftp://a'",
      #"r.toml:3: "domain.upstream" cannot be "ftp://a": an upstream begins with http://, https:// or unix:/"#
    ),
    BadFile(
      "[[domain]]\nname = 'a'\nupstream = 'http://u:p@a'",
      #"r.toml:3: "domain.upstream" cannot be "http://u:p@a": an upstream has no user or password"#),
    BadFile(
      site + "hosts = ['a', 'b:80']",
      #"r.toml:4: "domain.hosts" cannot be "b:80": "#
        + #"each element must be a host name, or "*." and one, without a port"#),
    BadFile(
      site + "paths = ['api']",
      #"r.toml:4: "domain.paths" cannot be "api": each element must be a path such as "/status" or "/api/*""#),
    BadFile(
      site + "methods = ['get']",
      #"r.toml:4: "domain.methods" cannot be a list: methods are words in capitals"#),
    BadFile(
      site + "policy = 'cache-frist'",
      #"r.toml:4: "domain.policy" must be one of "http", "network-only", "cache-first", "cache-then-network", "#
        + #""stale-while-revalidate", not "cache-frist" (did you mean "cache-first"?)"#),
    BadFile(
      demo + "fields = ['Content-Length: 3']",
      #"r.toml:5: "domain.fixture.fields" cannot be "Content-Length: 3": Regent writes this field itself"#),
    BadFile(
      demo + "fields = ['no colon']",
      #"r.toml:5: "domain.fixture.fields" cannot be "no colon": "#
        + #"each element must be a field line such as "Cache-Control: max-age=60""#),
    BadFile(
      demo + "age = '1500ms'",
      #"r.toml:5: "domain.fixture.age" cannot be "1500ms": an age is a number of whole seconds"#),
    BadFile(
      demo + "body = 'x'\nfile = 'x'",
      #"r.toml:6: "domain.fixture.body" and "domain.fixture.file" exclude each other"#),
  ]

  static let demo = "[[domain]]\nname = 'demo'\n[[domain.fixture]]\npath = '/a'\n"
  static let site = "[[domain]]\nname = 'site'\nupstream = 'http://a'\n"
}

/// Expects that reading the file says just what it should.
func expectErrors(_ file: BadFile, sourceLocation: SourceLocation = #_sourceLocation) {
  do {
    _ = try Configuration.parse(file.text, file: "r.toml")
    Issue.record("the file was accepted", sourceLocation: sourceLocation)
  } catch {
    #expect(error.errors.map(\.description) == file.errors, sourceLocation: sourceLocation)
    #expect(error.cause == .content, sourceLocation: sourceLocation)
  }
}
