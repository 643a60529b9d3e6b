// Values that are each right and wrong together.

import Testing

@testable import RegentConfig

@Suite("Contradictions")
struct ContradictionTests {
  @Test("values that contradict each other are an error that names both", arguments: Self.contradictions)
  func contradiction(file: BadFile) { expectErrors(file) }

  static let contradictions = [
    BadFile(
      "[server]\nlisten = ['127.0.0.1:1', 'localhost:1']",
      #"r.toml:2: "server.listen" names 127.0.0.1:1 twice"#),
    BadFile(
      "[limits]\nline = '64 KiB'",
      #"r.toml:2: "limits.line" (64 KiB) is larger than "limits.head" (32 KiB)"#),
    BadFile(
      "[memory]\nsize = '8 MiB'\nmax-object = '9 MiB'",
      #"r.toml:3: "memory.max-object" (9 MiB) is larger than "memory.size" (8 MiB)"#),
    BadFile(
      domain("a") + domain("a"), #"r.toml:5: two domains are named "a""#),
    BadFile(
      "[[domain]]\nname = 'a'",
      #"r.toml:1: domain "a" has nothing that answers: give it an upstream, fixtures or a folder"#),
    BadFile(
      domain("a", "ttl-min = '2m'\nttl-max = '1m'"),
      #"r.toml:4: "domain.ttl-min" (2m) is longer than "domain.ttl-max" (1m)"#),
    BadFile(
      domain("a", "default = true") + domain("b", "default = true"),
      #"r.toml:8: two domains are the default: "a" and "b""#),
    BadFile(
      domain("a", "hosts = ['x.org']") + domain("b", "hosts = ['X.org']"),
      #"r.toml:8: the domains "a" and "b" both answer host "x.org""#),
    BadFile(
      domain("a", "hosts = ['*.x.org']\npaths = ['/p/*', '/q']\nmethods = ['GET', 'HEAD']")
        + domain("b", "hosts = ['*.x.org']\npaths = ['/q']\nmethods = ['HEAD']"),
      #"r.toml:10: the domains "a" and "b" both answer host "*.x.org", path "/q", method HEAD"#),
    BadFile(
      domain("a") + domain("b", "hosts = ['a.localhost']"),
      #"r.toml:7: the domains "a" and "b" both answer host "a.localhost""#),
    BadFile(
      "[[domain]]\nname = 'a'\nupstream = 'http://localhost:8080'",
      #"r.toml:3: the upstream http://localhost:8080 of domain "a" is Regent itself"#),
    BadFile(
      "[[domain]]\nname = 'a'\n[[domain.fixture]]\npath = '/x'\n[[domain.fixture]]\npath = '/x'",
      #"r.toml:6: domain "a" has two fixtures for "/x""#),
    BadFile(
      domain("github") + "[[provider]]\nkind = 'upstream'\ndomains = ['gihub', 'github']",
      #"r.toml:6: "provider.domains" names the domain "gihub", which there is not (did you mean "github"?)"#),
    BadFile(
      domain("a") + "[[provider]]\nkind = 'memory'",
      #"r.toml:2: no provider of kind "upstream" serves the domain "a", which needs one"#),
    BadFile(
      domain("a") + "[[provider]]\nkind = 'upstream'\n[[provider]]\nkind = 'upstream'\ndomains = ['a']",
      #"r.toml:6: two providers of kind "upstream" serve the domain "a""#),
  ]

  @Test("domains that differ in host, path or method do not contradict each other")
  func different() throws {
    let text =
      Self.domain("a", "hosts = ['x.org']\npaths = ['/a']") + Self.domain("b", "hosts = ['x.org']")
      + Self.domain("c", "hosts = ['x.org']\nmethods = ['GET']") + Self.domain("d", "hosts = ['*.x.org']")
    #expect(try Configuration.parse(text, file: "f").domains.count == 4)
  }

  @Test("several listeners may leave their port to the system")
  func anyPorts() throws {
    let text = "server.listen = ['127.0.0.1:0', '127.0.0.1:0']"
    #expect(try Configuration.parse(text, file: "f").server.listen.count == 2)
  }

  @Test("every error is reported, in the order of the lines, and no echo of one that is there already")
  func everyError() {
    expectErrors(
      BadFile(
        """
        [[domain]]
        name = "a"
        upstream = "nowhere"
        [[domain]]
        nmae = "b"
        [memory]
        size = "much"
        [limits]
        line = "64 KiB"
        """,
        #"r.toml:3: "domain.upstream" cannot be "nowhere": an upstream begins with http://, https:// or unix:/"#,
        #"r.toml:4: "domain.name" is missing"#,
        #"r.toml:5: unknown key "domain.nmae" (did you mean "domain.name"?)"#,
        #"r.toml:7: "memory.size" must be a size such as "64 KiB", not "much""#,
        #"r.toml:9: "limits.line" (64 KiB) is larger than "limits.head" (32 KiB)"#))
  }

  @Test(
    "what is not TOML is reported with its line",
    arguments: [
      ("a = ", 1), ("\n\n[server\n", 3), ("a = 1\na = 2", 2), ("[memory]\n[memory]", 2), ("x = \"", 1),
    ])
  func syntax(text: String, line: Int) throws {
    let errors = try #require(throws: ConfigurationErrors.self) { try Configuration.parse(text, file: "f") }
    #expect(errors.errors.map(\.line) == [line])
    #expect(errors.description.hasPrefix("f:\(line): this is not TOML: "))
    #expect(!errors.description.contains("\n"))
  }

  static func domain(_ name: String, _ rest: String = "") -> String {
    "[[domain]]\nname = '\(name)'\nupstream = 'http://origin.test'\n\(rest)\n"
      .replacing("\n\n", with: "\n")
  }
}
