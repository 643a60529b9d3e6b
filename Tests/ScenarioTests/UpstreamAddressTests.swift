// An origin with several addresses, and one behind a Unix socket.

import Testing

@Suite("The addresses of an origin, at work")
struct UpstreamAddressTests {
  private static let uncached = ["Cache-Control: no-store"]

  private func config(_ addresses: [String], _ lines: String = "") -> String {
    let list = addresses.map { "'\($0)'" }.joined(separator: ", ")
    return "[[domain]]\nname = 'many'\ndefault = true\nupstream = [\(list)]\n\(lines)\n"
  }

  private func addresses(_ daemon: Daemon) throws -> [String: [String: Int]] {
    let domains = try daemon.stats()["domains"] as? [String: Any]
    return (domains?["many"] as? [String: Any])?["addresses"] as? [String: [String: Int]] ?? [:]
  }

  @Test("requests are spread by weight, each with its address's own Host")
  func spread() throws {
    let origins = try (0..<2).map { number in
      try Origin { request, connection in
        try connection.answer(200, Self.uncached, "\(number) \(request["Host"] ?? "")")
      }
    }
    let daemon = try Daemon.start(
      config: config([origins[0].url, origins[1].url + " weight=3"]), workers: 1)
    let client = try daemon.connect()
    for number in 0..<16 {
      let text = try client.get("/\(number)").text
      #expect(text == "0 127.0.0.1:\(origins[0].port)" || text == "1 127.0.0.1:\(origins[1].port)")
    }
    #expect(origins.map(\.requests.count) == [4, 12])
    #expect(try addresses(daemon)[origins[1].url]?["requests"] == 12)
  }

  @Test("an address that is dead costs no request, is left alone for a while, and is asked again")
  func dead() throws {
    let live = try Origin { _, connection in try connection.answer(200, Self.uncached, "live") }
    let port = try Daemon.freePort()
    let daemon = try Daemon.start(
      config: config(["http://127.0.0.1:\(port)", live.url], "eject-after = 2\neject-for = '50ms'"),
      workers: 1)
    let client = try daemon.connect()
    for _ in 0..<10 { #expect(try client.get("/a").text == "live") }
    let dead = try #require(try addresses(daemon)["http://127.0.0.1:\(port)"])
    #expect(try #require(dead["failures"]) >= 2 && dead["active"] == 0, "\(dead)")
    let revived = try Origin(port: port) { _, connection in
      try connection.answer(200, Self.uncached, "revived")
    }
    #expect(try eventually { try client.get("/a").text == "revived" })
    #expect(try addresses(daemon)["http://127.0.0.1:\(port)"]?["out-of-turn"] == 0)
    withExtendedLifetime(revived) {}
  }

  @Test("where all are dead the client hears of it, and of the first that comes back")
  func allDead() throws {
    let ports = [try Daemon.freePort(), try Daemon.freePort()]
    let daemon = try Daemon.start(
      config: config(ports.map { "http://127.0.0.1:\($0)" }, "eject-after = 1\neject-for = '1h'"), workers: 1)
    for _ in 0..<4 { #expect(try daemon.get("/a").status == 502) }
    let back = try Origin(port: ports[1]) { _, connection in try connection.answer(200, Self.uncached, "back")
    }
    #expect(try daemon.get("/a").text == "back")
    #expect(try daemon.get("/a").text == "back")
    withExtendedLifetime(back) {}
  }

  @Test("an origin behind a Unix socket", arguments: ["", ":/base"])
  func socket(base: String) throws {
    let folder = try TemporaryFolder()
    let nginx = try Nginx(settings: "listen unix:\(folder.path("s")); add_header X-Host $http_host;")
    try nginx.put("a", Array("data".utf8))
    let daemon = try Daemon.start(upstream: "http://unix:\(folder.path("s"))\(base)")
    let response = try daemon.get("/a")
    #expect(
      response.status == (base.isEmpty ? 200 : 404)
        && response["X-Host"] == (base.isEmpty ? "localhost" : nil))
    #expect(contents(of: nginx.folder.path("access.log")).contains("GET \(base.dropFirst())/a"))
    let gone = try Daemon.start(upstream: "unix:\(folder.path("none"))")
    #expect(try gone.get("/a").status == 502)
  }
}
