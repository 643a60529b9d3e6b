// An origin with several addresses, and one behind a Unix socket.

import TestKit
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

  private func refused(_ daemon: Daemon) throws -> Int {
    try #require(try daemon.figures("origins")["refused"])
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

  @Test("an address whose answers break off is left alone as well, though its heads are good")
  func brokenBodies() throws {
    let good = try Origin { _, connection in try connection.answer(200, Self.uncached, "good") }
    let bad = try Origin { _, connection in
      try connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 100\r\n\r\nbeginning")
      connection.close()
    }
    let daemon = try Daemon.start(
      config: config([bad.url, good.url], "eject-after = 3\neject-for = '1h'"), workers: 2)
    let texts = try (0..<30).map { _ in
      let client = try daemon.connect()
      return try? client.get("/a").text
    }
    #expect(texts.count { $0 == nil } == 3 && texts.count { $0 == "good" } == 27)
    let figures = try #require(try addresses(daemon)[bad.url])
    #expect(bad.requests.count == 3 && figures["failures"] == 3 && figures["out-of-turn"] == 1, "\(figures)")
    #expect(figures["active"] == 0)
  }

  @Test("what one loop learnt of an address serves all")
  func shared() throws {
    let live = try Origin { _, connection in try connection.answer(200, Self.uncached, "live") }
    let dead = "http://127.0.0.1:\(try Daemon.freePort())"
    let daemon = try Daemon.start(
      config: config([dead, live.url], "eject-after = 2\neject-for = '1h'"), workers: 4)
    // So many connections are surely not all one loop's.
    for _ in 0..<64 { #expect(try daemon.get("/a").text == "live") }
    let figures = try #require(try addresses(daemon)[dead])
    #expect(figures["failures"] == 2 && figures["out-of-turn"] == 1 && figures["active"] == 0, "\(figures)")
  }

  @Test("an address is checked once, not once for each loop, and all know what came of it")
  func checks() throws {
    let isWell = Shared(true)
    let origins = try (0..<2).map { number in
      try Origin { request, connection in
        if request.target == "/health" {
          return try connection.answer(number == 0 && !isWell.value ? 500 : 204, ["Connection: close"])
        }
        try connection.answer(200, Self.uncached, "\(number)")
      }
    }
    let daemon = try Daemon.start(
      config: config(origins.map(\.url), "health-path = '/health'\nhealth-interval = '300ms'"), workers: 4)
    for _ in 0..<64 { _ = try daemon.get("/a") }
    #expect(origins.allSatisfy { $0.count("/a") > 0 })
    #expect(eventually { origins.allSatisfy { $0.count("/health") >= 4 } })
    // Four loops of their own would have asked four times at once: the intervals lie between the arrivals.
    let before = ContinuousClock.now
    let count = origins[0].count("/health")
    #expect(eventually { origins[0].count("/health") >= count + 4 })
    #expect(ContinuousClock.now - before >= .milliseconds(900))
    isWell.update { $0 = false }
    #expect(try eventually { try addresses(daemon)[origins[0].url]?["out-of-turn"] == 1 })
    let asked = origins[0].count("/a")
    for _ in 0..<64 { #expect(try daemon.get("/a").text == "1") }
    #expect(origins[0].count("/a") == asked)
    isWell.update { $0 = true }
    #expect(try eventually { try daemon.get("/a").text == "0" })
  }

  @Test("a check for which there is no free connection says nothing of the address")
  func unchecked() throws {
    let release = Shared(false)
    let origins = try (0..<2).map { number in
      try Origin { request, connection in
        if request.target == "/health" { return try connection.answer(204, ["Connection: close"]) }
        if request.target == "/long" { _ = eventually { release.value } }
        try connection.answer(200, Self.uncached, "\(number)")
      }
    }
    let daemon = try Daemon.start(
      config: config(origins.map(\.url), "health-path = '/health'\nhealth-interval = '50ms'"), workers: 1,
      // One may wait: a request that comes while a check has the connection.
      set: ["limits.origin-connections=1", "limits.origin-waiting=1", "timeouts.origin-wait=1s"])
    let clients = try (0..<2).map { _ in try daemon.connect() }
    for client in clients { try client.request("GET", "/long") }
    #expect(eventually { origins.allSatisfy { $0.count("/long") == 1 } })
    let counts = origins.map { $0.count("/health") }
    let before = try refused(daemon)
    #expect(try eventually { try refused(daemon) >= before + 4 })
    #expect(try addresses(daemon).values.allSatisfy { $0["out-of-turn"] == 0 })
    #expect(origins.map { $0.count("/health") } == counts)
    release.update { $0 = true }
    #expect(try Set(clients.map { try $0.response().text }) == ["0", "1"])
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
    // It writes its log when the answer has left already.
    #expect(
      eventually { contents(of: nginx.folder.path("access.log")).contains("GET \(base.dropFirst())/a") })
    let gone = try Daemon.start(upstream: "unix:\(folder.path("none"))")
    #expect(try gone.get("/a").status == 502)
  }
}
