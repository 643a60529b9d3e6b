// The disk cache through the daemon: what outlasts a restart, what must not, and what trouble with the disk costs.

import Foundation
import Glibc
import TestKit
import Testing

@Suite("The disk cache")
struct DiskTests {
  static let sizes = [0, 1, 4095, 4096, 65_536, 65_537, 262_144, 300_000, 5_000_000]

  @Test(
    "what was stored is served after a restart, byte for byte, be the end a clean one or a kill",
    arguments: [true, false])
  func restart(isClean: Bool) throws {
    let stage = try DiskStage.patterns()
    let targets = Self.sizes.map { "/a/\($0)" }
    let first = try stage.start()
    for target in targets { #expect(first.serves(target, try first.get(target))) }
    #expect(try first.hasStored(targets.count))
    if isClean { #expect(first.stop() == .status(0)) } else { first.process.kill() }
    let asked = stage.origin.requests.count
    let second = try stage.start()
    #expect(try eventually { try second.disk("recovering") == 0 })
    for target in targets {
      let response = try second.get(target)
      #expect(second.serves(target, response), "\(target): \(response.head.raw)")
      #expect(response.cacheStatus.contains("; hit") && response.cacheStatus.contains("detail=disk"))
    }
    #expect(stage.origin.requests.count == asked)
  }

  @Test("memory takes what the disk answers, and answers the next time")
  func promotion() throws {
    let stage = try DiskStage.patterns()
    try stage.store("/a/1000")
    let second = try stage.restart()
    #expect(try second.get("/a/1000").cacheStatus.contains("detail=disk"))
    let again = try second.get("/a/1000")
    #expect(again.isHit && !again.cacheStatus.contains("detail=disk") && second.serves("/a/1000", again))
  }

  @Test(
    "what the disk answers is a hit of it, once, and what it does not have a miss",
    arguments: [1000, 100_000, 5_000_000])
  func counting(count: Int) throws {
    let stage = try DiskStage.patterns()
    try stage.store("/a/\(count)")
    let daemon = try stage.restart()
    #expect(try daemon.get("/a/\(count)").isHit)
    #expect(try daemon.disk("hits") == 1 && daemon.disk("misses") == 0)
    #expect(try !daemon.get("/b/\(count)").isHit)
    #expect(try daemon.disk("hits") == 1 && daemon.disk("misses") == 1)
  }

  @Test("ranges of a large body are read, and nothing else of it")
  func ranges() throws {
    let stage = try DiskStage.patterns()
    let target = "/big/5000000"
    let first = try stage.start()
    _ = try first.get(target)
    #expect(try first.hasStored(1))
    let part = try first.get(target, ["Range: bytes=4000000-4000999"])
    #expect(part.status == 206 && part["Content-Range"] == "bytes 4000000-4000999/5000000")
    #expect(Pattern(for: target).matches(part.body, at: 4_000_000) && part.body.count == 1000)
    let several = try first.get(target, ["Range: bytes=0-9,4999990-"])
    #expect(several.status == 206 && several.text.contains("multipart") == false)
    #expect(several["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
    let head = try first.connect()
    try head.request("HEAD", target)
    let answer = try head.response(to: "HEAD")
    #expect(answer["Content-Length"] == "5000000" && answer.isHit)
    #expect(stage.origin.requests.count == 1)
  }

  @Test(
    "a long body is sent from the page cache, whole, in parts, and to who reads slowly",
    arguments: ["always", "once"])
  func fromPageCache(verify: String) throws {
    let stage = try DiskStage.patterns(set: ["disk.verify=\(verify)"])
    let (target, daemon) = ("/big/5000000", try stage.start())
    _ = try daemon.get(target)
    #expect(try daemon.hasStored(1))
    #expect(daemon.serves(target, try daemon.get(target)))
    #expect(try eventually { try daemon.disk("file-bytes") == 5_000_000 })
    #expect(daemon.serves(target, try daemon.get(target)))
    #expect(try eventually { try daemon.disk("file-bytes") == 10_000_000 })
    let part = try daemon.get(target, ["Range: bytes=1048000-3000000"])
    #expect(part.status == 206 && part.body.count == 1_952_001)
    #expect(Pattern(for: target).matches(part.body, at: 1_048_000))
    #expect(try eventually { try daemon.disk("file-bytes") == 11_952_001 })
    let slow = try daemon.connect()
    try slow.request("GET", target)
    #expect(try eventually { try daemon.disk("file-bytes") > 11_952_001 })
    #expect(daemon.serves(target, try slow.response(to: "GET")))
    try slow.request("GET", "/big/10")
    #expect(daemon.serves("/big/10", try slow.response(to: "GET")))
    #expect(stage.origin.requests.count == 2)
  }

  @Test(
    "bodies that are asked for one behind the other by who reads late are whole",
    arguments: ["always", "once"])
  func pipelined(verify: String) throws {
    let stage = try DiskStage.patterns(set: ["disk.verify=\(verify)"])
    let (targets, daemon) = (["/big/9000000", "/more/300000", "/last/9000001"], try stage.start())
    for target in targets { _ = try daemon.get(target) }
    #expect(try daemon.hasStored(3))
    let client = try daemon.connect()
    for target in targets { try client.request("GET", target) }
    try client.request("GET", targets[2], ["Range: bytes=5-10, 1000000-8000000"])
    #expect(try eventually { try daemon.disk("file-bytes") > 0 })
    for target in targets { #expect(daemon.serves(target, try client.response(to: "GET"))) }
    let parts = try client.response(to: "GET")
    #expect(parts.status == 206 && parts.body.count > 7_000_007)
    #expect(stage.origin.requests.count == 3)
  }

  @Test(
    "bodies that would be sent at once are whole for who takes little, and late",
    arguments: [("always", 17), ("always", 60), ("once", 60)])
  func sentInPart(verify: String, count: Int) throws {
    let stage = try DiskStage.patterns(set: ["disk.verify=\(verify)"])
    let (target, daemon) = ("/big/700001", try stage.start())
    _ = try daemon.get(target)
    #expect(try daemon.hasStored(1))
    // Of those that are asked for one behind the other, heads and bodies meet a full buffer.
    let client = try daemon.connect(receiveBuffer: 4096)
    for _ in 0..<count { try client.request("GET", target) }
    let isListed = try eventually {
      let transfers = try #require(try daemon.stats()["transfers"] as? [[String: Any]])
      return transfers.contains { $0["total"] as? Int == 700_001 && $0["bytes"] as? Int ?? 0 < 700_001 }
    }
    #expect(isListed)
    for _ in 0..<count { #expect(daemon.serves(target, try client.response(to: "GET"))) }
    #expect(try eventually { try daemon.disk("file-bytes") == count * 700_001 })
    #expect(stage.origin.requests.count == 1)
  }

  @Test("a 304 makes a stored response fresh again without writing its body anew")
  func confirmation() throws {
    let body = String(repeating: "x", count: 200_000)
    let stage = try DiskStage { request, connection in
      let fields = ["ETag: \"1\"", "Cache-Control: max-age=\(request.number == 1 ? 0 : 600)"]
      guard request["If-None-Match"] == nil else { return try connection.answer(304, fields) }
      try connection.answer(200, fields, body)
    }
    try stage.store("/a")
    let second = try stage.restart()
    let confirmed = try second.get("/a")
    #expect(confirmed.status == 200 && confirmed.text == body)
    #expect(confirmed.cacheStatus.contains("fwd=stale; fwd-status=304"), "\(confirmed.cacheStatus)")
    #expect(try second.hasStored(1))
    #expect(try second.disk("written-bytes") < 10_000)
    second.stop()
    let third = try stage.start()
    #expect(try eventually { try third.disk("entries") == 1 })
    let served = try third.get("/a")
    #expect(served.isHit && served.text == body && stage.origin.requests.count == 2)
  }

  @Test("variants are told apart after a restart")
  func variants() throws {
    let stage = try DiskStage { request, connection in
      try connection.answer(
        200, ["Vary: Accept-Language", "Cache-Control: max-age=600"], request["Accept-Language"] ?? "none")
    }
    let first = try stage.start()
    for language in ["de", "en", "fr"] { _ = try first.get("/a", ["Accept-Language: \(language)"]) }
    #expect(try first.hasStored(3))
    first.stop()
    let second = try stage.start()
    #expect(try eventually { try second.disk("entries") == 3 })
    for language in ["de", "en", "fr"] {
      let response = try second.get("/a", ["Accept-Language: \(language)"])
      #expect(response.isHit && response.text == language)
    }
    let other = try second.get("/a", ["Accept-Language: it"])
    #expect(!other.isHit && other.text == "it" && other.cacheStatus.contains("fwd=vary-miss"))
  }

  @Test("what a POST made untrue is gone although the daemon is killed as soon as the client has its answer")
  func invalidation() throws {
    let stage = try DiskStage { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=600"], "\(request.method) \(request.number)")
    }
    for round in 1...5 {
      let daemon = try stage.start()
      #expect(try eventually { try daemon.disk("recovering") == 0 })
      #expect(try daemon.get("/\(round)").text == "GET 1")
      #expect(try daemon.hasStored(1))
      let client = try daemon.connect()
      try client.request("POST", "/\(round)", ["Content-Length: 0"])
      _ = try client.response()
      daemon.process.kill()
      try stage.forgetStarts()
    }
    let last = try stage.start()
    #expect(try eventually { try last.disk("recovering") == 0 })
    for round in 1...5 { #expect(try last.get("/\(round)").isHit == false) }
  }

  @Test("what a POST made untrue for all values of a keyed field stays so after kills, and the rest is found")
  func generations() throws {
    let version = Shared(0)
    let stage = try DiskStage(set: [Setting.domain("key-fields", "X-Kind")]) { request, connection in
      if request.method == "POST" { version.increment() }
      try connection.answer(200, ["Cache-Control: max-age=600"], "version \(version.value)")
    }
    for round in 0..<4 {
      let daemon = try stage.start()
      #expect(try eventually { try daemon.disk("recovering") == 0 })
      for kind in ["a", "b"] {
        let response = try daemon.get("/x", ["X-Kind: \(kind)"])
        #expect(response.text == "version \(round)" && !response.isHit, "\(response.head.raw)")
        let other = try daemon.get("/y", ["X-Kind: \(kind)"])
        #expect(other.isHit == (round > 0) && other.text == "version 0", "\(other.head.raw)")
      }
      #expect(try eventually { try daemon.disk("entries") >= 2 * (round + 2) })
      let client = try daemon.connect()
      try client.request("POST", "/x", ["Content-Length: 0"])
      _ = try client.response()
      daemon.process.kill()
      try stage.forgetStarts()
    }
  }

  @Test("a stale response is served from the disk when the origin is gone, also after a restart")
  func offline() throws {
    let stage = try DiskStage { _, connection in
      try connection.answer(200, ["Cache-Control: max-age=0, stale-if-error=600"], "kept")
    }
    try stage.store("/a")
    stage.origin.stop()
    let second = try stage.restart(set: [Setting.retry("none")])
    let response = try second.get("/a")
    #expect(response.status == 200 && response.text == "kept", "\(response.head.raw)")
    #expect(response.cacheStatus.contains("stale-if-error"))
  }

  @Test("with second-hit only what is asked for again is stored")
  func admission() throws {
    let stage = try DiskStage.patterns(set: ["disk.admit=second-hit", "memory.max-object=1"])
    let daemon = try stage.start()
    let refused = try daemon.get("/a/100")
    #expect(refused.cacheStatus.contains("detail=first-request") && !refused.cacheStatus.contains("stored"))
    #expect(try daemon.get("/a/100").cacheStatus.contains("; stored"))
    #expect(try daemon.hasStored(1))
    #expect(try daemon.get("/a/100").isHit)
  }

  @Test("what is one client's own, or must not be stored, never reaches the disk")
  func secrets() throws {
    let stage = try DiskStage(set: [Setting.domain("scope", "private")]) { request, connection in
      let directive = request.target == "/no-store" ? "no-store" : "max-age=600"
      try connection.answer(200, ["Cache-Control: \(directive)"], "body-of-\(request.target.dropFirst())")
    }
    let daemon = try stage.start()
    _ = try daemon.get("/personal", ["Authorization: Bearer token-of-mine"])
    _ = try daemon.get("/cookie", ["Cookie: id=cookie-of-mine"])
    _ = try daemon.get("/no-store")
    _ = try daemon.get("/public")
    #expect(try daemon.hasStored(1))
    daemon.stop()
    #expect(stage.holds("body-of-public"))
    for secret in [
      "token-of-mine", "cookie-of-mine", "body-of-personal", "body-of-cookie", "body-of-no-store",
    ] {
      #expect(!stage.holds(secret), "\(secret)")
    }
  }

  @Test("explain tells what the disk would do, and counts no hit for it")
  func explained() throws {
    let stage = try DiskStage.patterns()
    try stage.store("/a/1000")
    let second = try stage.restart()
    let page = try second.get(
      "/explain?url=http://localhost:\(second.port)/a/1000", host: "regent.localhost")
    #expect(page.text.contains("disk:\n  1 stored under this key"), "\(page.text)")
    #expect(page.text.contains("  decision: serve it") && !page.text.contains("would be asked"))
    #expect(try second.disk("hits") == 0 && stage.origin.requests.count == 1)
  }

  @Test("one daemon, one directory: the second one ends with a sentence")
  func lock() throws {
    let stage = try DiskStage.patterns()
    let first = try stage.start()
    let port = try Daemon.freePort()
    let second = try run(
      Daemon.binary,
      ["serve", "--listen", "127.0.0.1:\(port)", "--upstream", stage.origin.url, "--disk", stage.path],
      environment: Daemon.environment)
    #expect(second.exit == .status(69) && second.errors.contains("another process uses the disk cache"))
    #expect(first.isRunning)
  }

  @Test("three killed starts within a minute, and the next one does without the disk")
  func crashLoop() throws {
    let stage = try DiskStage.patterns()
    for _ in 0..<3 {
      let daemon = try stage.start()
      _ = try daemon.get("/a/10")
      daemon.process.kill()
    }
    let last = try stage.start()
    #expect(try last.get("/a/10").status == 200)
    #expect(last.log.contains("left out: three starts"))
    #expect(try last.stats()["disk"] == nil)
  }
}

@Suite("Trouble with the disk")
struct DiskTroubleScenarios {
  @Test("a damaged byte is a miss, counted, told, and never served", arguments: [1000, 100_000, 5_000_000])
  func damage(count: Int) throws {
    let stage = try DiskStage.patterns()
    let target = "/a/\(count)"
    try stage.store(target)
    let piece = Pattern(for: target).bytes(from: count / 2, count: 64)
    #expect(try stage.damage(piece) >= 1)
    let second = try stage.restart()
    // Damage at the beginning is a miss; in the middle of a long body the connection would be cut.
    let response = try second.get(target)
    #expect(second.serves(target, response) && !response.isHit, "\(response.head.raw)")
    #expect(try eventually { try second.disk("damages") == 1 })
    #expect(eventually { second.log.contains("is damaged") })
    let again = try second.get(target)
    #expect(second.serves(target, again))
    #expect(stage.origin.requests.count == 2)
  }

  @Test("a directory that goes away costs no request, and one that comes back is used again")
  func vanishing() throws {
    let stage = try DiskStage.patterns()
    let daemon = try stage.start()
    _ = try daemon.get("/a/100")
    #expect(try daemon.hasStored(1))
    // Not at the first try where the daemon removes one of its files meanwhile.
    let isGone = eventually {
      try? FileManager.default.removeItem(atPath: stage.path)
      return !FileManager.default.fileExists(atPath: stage.path)
    }
    #expect(isGone)
    for number in 0..<50 {
      let target = "/b\(number)/300000"
      #expect(daemon.serves(target, try daemon.get(target)))
    }
    #expect(try eventually { try daemon.disk("write-errors") > 0 || daemon.disk("entries") == 0 })
    let before = try daemon.disk("insertions")
    var number = 0
    let heals = try eventually {
      number += 1
      _ = try daemon.get("/c\(number)/100")
      return try daemon.disk("insertions") > before && stage.segments.count > 0
    }
    #expect(heals, "\(daemon.log)")
  }

  @Test("foreign files and links in the directory are neither followed nor deleted")
  func foreign() throws {
    let stage = try DiskStage.patterns()
    try stage.store("/a/100")
    let outside = try TemporaryFolder()
    try outside.write("precious", to: "file")
    try "mine".write(toFile: stage.path + "/v1/notes.txt", atomically: true, encoding: .utf8)
    try FileManager.default.createSymbolicLink(
      atPath: stage.path + "/v1/4294967294.segment", withDestinationPath: outside.path("file"))
    let second = try stage.start(set: ["disk.size=1MiB", "disk.max-object=100KiB"])
    for number in 0..<40 { _ = try second.get("/b\(number)/90000") }
    #expect(try eventually { try second.disk("evicted-segments") > 0 })
    second.stop()
    #expect(contents(of: outside.path("file")) == "precious")
    #expect(contents(of: stage.path + "/v1/notes.txt") == "mine")
    var status = stat()
    #expect(unsafe stat(stage.path, &status) == 0 && status.st_mode & 0o777 == 0o700)
  }

  @Test("the budget holds while more is stored than it allows")
  func budget() throws {
    let stage = try DiskStage.patterns(set: ["disk.size=8MiB", "disk.max-object=1MiB"])
    let daemon = try stage.start()
    for number in 0..<60 {
      let target = "/\(number)/\(300_000 + number)"
      #expect(daemon.serves(target, try daemon.get(target)))
      let taken = stage.files.reduce(0) { sum, name in
        var status = stat()
        return unsafe stat("\(stage.path)/v1/\(name)", &status) == 0 ? sum + Int(status.st_blocks) * 512 : sum
      }
      #expect(taken <= 8 << 20, "after \(number): \(taken) bytes")
    }
    #expect(try eventually { try daemon.disk("evicted-segments") > 0 })
    #expect(try daemon.disk("bytes") <= 8 << 20)
  }
}
