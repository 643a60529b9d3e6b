// An origin's addresses as they are written: one or several, with weights, over TCP or a Unix socket.

import Testing

@testable import RegentConfig

@Suite("The addresses of an origin")
struct UpstreamListTests {
  private func domain(_ upstream: String, set: String? = nil) throws -> RegentConfig.Domain {
    let overrides = try set.map { [try Override(set: "domain.a.upstream=\($0)")] } ?? []
    return try Configuration.parse(
      "[[domain]]\nname = 'a'\nupstream = \(upstream)\n", file: "f", overrides: overrides
    ).domains[0]
  }

  @Test("one, several, and their weights")
  func several() throws {
    #expect(try domain("'http://a.test'").upstreams == [UpstreamAddress(try UpstreamURL("http://a.test"))])
    let two = try domain("['http://a.test/v1', 'http://b.test:81/v1/ weight=3']")
    #expect(two.upstreams.map(\.url.description) == ["http://a.test/v1", "http://b.test:81/v1"])
    #expect(two.upstreams.map(\.weight) == [1, 3] && two.upstream == two.upstreams[0].url)
    #expect(two.upstreamList.toml == #"["http://a.test/v1", "http://b.test:81/v1 weight=3"]"#)
    let set = try domain("'http://a.test'", set: "http://c.test,http://d.test weight=2")
    #expect(set.upstreams.map(\.weight) == [1, 2] && set.upstream?.host == "c.test")
  }

  @Test(
    "what cannot be one origin is refused",
    arguments: [
      "[]", "['http://a.test', 'https://b.test']", "['http://a.test', 'http://b.test/x']",
      "['http://a.test', 'http://A.test:80']", "['http://a.test weight=0']", "['http://a.test weight=1001']",
      "['http://a.test weight=+1']", "['http://a.test weight=1 x']", "['http://a.test x']", "['']", "[1]",
      "1",
      "['http://a.test weight=']",
    ])
  func refused(upstream: String) {
    #expect(throws: ConfigurationErrors.self) { try domain(upstream) }
  }

  @Test("a Unix socket, with or without a path behind it")
  func sockets() throws {
    let short = try UpstreamURL("unix:/run/app.sock")
    #expect(short.socket == "/run/app.sock" && short.scheme == .http && short.basePath.isEmpty)
    #expect(short.authority == "localhost" && short.description == "http://unix:/run/app.sock")
    let long = try UpstreamURL("https://unix:/run/app.sock:/v1/")
    #expect(long.socket == "/run/app.sock" && long.scheme == .https && long.basePath == "/v1")
    #expect(try UpstreamURL(long.description) == long && UpstreamURL(short.description) == short)
    #expect(try UpstreamURL("http://unix:80").socket == nil)
  }

  @Test(
    "a socket that cannot be meant is refused",
    arguments: [
      "unix:", "unix:run/app.sock", "unix:/", "unix:/a:b", "unix:/a:/..", "unix:/a?b", "unix:/a#b",
      "unix:/" + String(repeating: "a", count: 107),
    ])
  func refusedSockets(text: String) {
    #expect(throws: Refusal.self) { try UpstreamURL(text) }
  }

  @Test("a socket at which Regent itself listens is a circle")
  func circle() {
    #expect(throws: ConfigurationErrors.self) {
      try Configuration.parse(
        "[server]\nlisten = ['unix:/run/r.sock']\n[[domain]]\nname = 'a'\nupstream = 'unix:/run/r.sock'\n",
        file: "f")
    }
  }
}
