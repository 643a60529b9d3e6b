// Good input: what a file, the command line and `--upstream` turn into.

import Testing

@testable import RegentConfig

@Suite("Reading a configuration")
struct ReadingTests {
  @Test("each key appears once in the table, and has a meaning of one line")
  func table() {
    let paths = KeyTable.all.map(\.path)
    #expect(Set(paths).count == paths.count)
    for key in KeyTable.all {
      #expect(key.meaning.hasSuffix("."), "\(key.path)")
      #expect(key.meaning.count <= 110 && !key.meaning.contains("\n"), "\(key.path)")
    }
  }

  @Test("every default is a value that its key accepts")
  func defaults() throws {
    for key in KeyTable.top {
      // A key without a value has none that could be refused.
      guard let standard = key.toml(Configuration()) else { continue }
      let text = "v = \(standard)"
      let node = try #require(try TOMLText.parse(text, after: SourceMap(text))["v"])
      var read = Configuration()
      #expect(throws: Never.self, "\(key.path)") { try key.read(node, &read) }
    }
    #expect(throws: Never.self) { try Configuration.parse("", file: "f") }
  }

  @Test("the defaults are those of the issue")
  func defaultValues() throws {
    let standard = try Configuration.parse("", file: "f")
    #expect(standard == Configuration())
    #expect(standard.server.listen.map(\.description) == ["127.0.0.1:8080", "[::1]:8080"])
    #expect(standard.limits.head.bytes == 32_768)
    #expect(standard.limits.line.bytes == 8_192)
    #expect(standard.limits.fields == 100)
    #expect(standard.memory.size.bytes == 268_435_456)
    #expect(standard.memory.maxObject.bytes == 33_554_432)
    #expect(standard.providers.map(\.kind) == [.memory, .disk, .fixtures, .upstream])
    #expect(standard.providers.allSatisfy { $0.domains == .any })
  }

  @Test("the largest stored response is an eighth of the memory, at most 64 MiB, unless it is set")
  func maxObject() throws {
    for (text, bytes) in [
      ("size = '8 MiB'", 1 << 20), ("size = '4 GiB'", 64 << 20),
      ("size = '8 MiB'\nmax-object = '2 MiB'", 2 << 20),
    ] {
      #expect(try Configuration.parse("[memory]\n\(text)", file: "f").memory.maxObject.bytes == bytes)
    }
  }

  @Test("a file's domains, fixtures and providers are read in their order")
  func wholeFile() throws {
    let configuration = try Configuration.parse(Self.file, file: "f")
    var github = Domain(name: "github")
    github.upstream = try UpstreamURL("https://api.github.com/v3")
    github.hosts = [.exact("api.github.com"), .suffix("github.test")]
    github.paths = [.prefix("/repos/"), .exact("/zen")]
    github.methods = ["GET"]
    github.policy = .cacheThenNetwork
    github.ttl = .seconds(300)
    github.stale = .seconds(3_600)
    var fixture = Fixture(path: "/teapot")
    fixture.status = 418
    fixture.fields = [.init(name: "X-A", value: "b: c"), .init(name: "X-A", value: "")]
    fixture.body = .file("teapot.txt")
    fixture.delay = .milliseconds(10)
    fixture.age = .seconds(5)
    var demo = Domain(name: "demo")
    demo.isDefault = true
    demo.fixtures = [fixture, Fixture(path: "/")]
    #expect(configuration.domains == [github, demo])
    #expect(
      configuration.providers == [
        .init(kind: .fixtures, domains: .named(["demo"])), .init(kind: .upstream), .init(kind: .memory),
      ])
    #expect(configuration.server.listen == [.unix(path: "/tmp/r"), .anyAddress(port: 80)])
    #expect(configuration.server.workers == 2)
    #expect(configuration.log.level == .debug)
  }

  static let file = """
    server = { listen = ["unix:/tmp/r", "*:80"], workers = 2 }
    log.level = "debug"
    [[domain]]
    name = "github"
    upstream = "https://api.github.com/v3/"
    hosts = ["api.github.com", "*.github.test"]
    paths = ["/repos/*", "/zen"]
    methods = ["GET"]
    policy = "cache-then-network"
    ttl = "5m"
    stale = "1h"
    [[domain]]
    name = "demo"
    default = true
    [[domain.fixture]]
    path = "/teapot"
    status = 418
    fields = ["X-A:  b: c ", "X-A:"]
    file = "teapot.txt"
    delay = "10ms"
    age = "5s"
    [[domain.fixture]]
    path = "/"
    [[provider]]
    kind = "fixtures"
    domains = ["demo"]
    [[provider]]
    kind = "upstream"
    [[provider]]
    kind = "memory"
    domains = "any"
    """

  @Test("one upstream answers at every loopback name and at its own, and is the default")
  func upstreamAlone() throws {
    let configuration = Configuration.forUpstream(try UpstreamURL("https://api.example.org"))
    let domain = try #require(configuration.domains.first)
    #expect(configuration.domains.count == 1)
    #expect(domain.name == "default" && domain.isDefault)
    #expect(
      domain.hosts == [
        .exact("localhost"), .suffix("localhost"), .exact("127.0.0.1"), .exact("[::1]"),
        .exact("api.example.org"),
      ])
    #expect(try configuration.applying([]) == configuration)
    let loopback = Configuration.forUpstream(try UpstreamURL("http://[::1]:9000"))
    #expect(loopback.domains[0].hosts.count == 4)
  }
}
