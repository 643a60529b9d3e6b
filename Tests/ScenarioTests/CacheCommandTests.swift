// `regent cache`: a disk cache's directory looked at from outside, beside the daemon that fills it and behind it.

import Foundation
import Glibc
import TestKit
import Testing

@Suite("regent cache")
struct CacheCommandTests {
  /// A daemon that has stored a few responses of different kinds.
  private struct Town {
    let stage: DiskStage
    let daemon: Daemon
    /// What the origin is called in listings.
    var origin: String { stage.origin.url }

    init() throws {
      stage = try DiskStage { request, connection in
        let fields =
          switch request.target {
          case "/stale": ["Cache-Control: max-age=1, must-revalidate", "Age: 90", "ETag: \"v\""]
          case "/vary": ["Cache-Control: max-age=600", "Vary: Accept-Language"]
          case "/cookie": ["Cache-Control: max-age=600", "Set-Cookie: secret=1"]
          default: ["Cache-Control: max-age=600"]
          }
        try connection.answer(200, fields, request.target)
      }
      daemon = try stage.start()
      for target in ["/a?b=1", "/a", "/a/b", "/stale", "/cookie"] { _ = try daemon.get(target) }
      for language in ["de", "en"] { _ = try daemon.get("/vary", ["Accept-Language: \(language)"]) }
      #expect(try daemon.hasStored(7))
    }

    func cache(_ arguments: String...) throws -> Told {
      try CacheCommandTests.cache(arguments + ["--dir", stage.path])
    }
  }

  private static func cache(_ arguments: [String]) throws -> Told {
    try run(Daemon.binary, ["cache"] + arguments, environment: Daemon.environment)
  }

  @Test("ls lists what is stored beside the daemon that has it, which is told, and behind it")
  func list() throws {
    let town = try Town()
    let beside = try town.cache("ls")
    #expect(beside.errors.isEmpty && beside.lines.count == 9, "\(beside)")
    #expect(beside.says("\(town.origin)/a?b=1", "\(town.origin)/vary  (accept-language: de)"), "\(beside)")
    #expect(beside.says("7 responses", "; a daemon has it (process \(town.daemon.pid))"), "\(beside)")
    let stale = try #require(beside.lines.first { $0.hasSuffix("/stale") })
    #expect(
      stale.hasPrefix("200   1m 3") && stale.contains("stale 1m ") && stale.contains("ask: must-revalidate"))
    let fresh = try #require(beside.lines.first { $0.hasSuffix("/a") })
    #expect(
      fresh.contains(" 2 B ") && (fresh.contains("fresh 9m 5") || fresh.contains("fresh 10m"))
        && fresh.contains("serve"))
    // Only looking does not change what is there.
    #expect(town.daemon.isRunning && town.stage.origin.requests.count == 7)
    _ = try town.daemon.get("/a")
    #expect(town.daemon.stop() == .status(0))
    let behind = try town.cache("ls", "--sort", "url")
    #expect(behind.lines.count == 9 && behind.lines.last?.contains("a daemon") == false, "\(behind)")
    let urls = behind.lines.dropFirst().dropLast().compactMap {
      $0.split(separator: " ").first { $0.hasPrefix("http") }
    }
    #expect(urls == urls.sorted() && urls.count == 7)
    // Killed, it leaves no lock either.
    let second = try town.stage.start()
    #expect(try town.cache("ls").says("(process \(second.pid))"))
    second.process.kill()
    #expect(try town.cache("ls").lines.last?.contains("a daemon") == false)
  }

  @Test("as JSON it is one object with all of them")
  func json() throws {
    let town = try Town()
    let told = try town.cache("ls", "--json", "--sort", "size")
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(told.output.utf8)) as? [String: Any])
    let responses = try #require(object["responses"] as? [[String: Any]])
    #expect(object["directory"] as? String == town.stage.path && object["damaged"] as? Int == 0)
    #expect((object["owner"] as? String)?.contains("process \(town.daemon.pid)") == true)
    #expect(responses.count == 7 && responses.first?["url"] as? String == "\(town.origin)/cookie")
    let vary = responses.first { ($0["selecting"] as? [String]) == ["accept-language: en"] }
    #expect(vary?["status"] as? Int == 200 && vary?["decision"] as? String == "serve")
    #expect(vary?["file"] as? String == "v1/1.segment" && vary?["offset"] as? Int ?? 0 >= 4096)
  }

  @Test("show tells what the daemon's own explanation tells, for either URL, and no cookie")
  func show() throws {
    let town = try Town()
    let local = "http://localhost:\(town.daemon.port)"
    for target in ["/a?b=1", "/stale"] {
      let explained = try run(Daemon.binary, ["explain", local + target])
      let decision = try #require(explained.output.split(separator: "\n").first { $0.contains("decision: ") })
      for url in [local + target, town.origin + target] {
        let told = try town.cache("show", url)
        #expect(told.says("lies in v1/1.segment at ", "response_time", "Cache-Control: max-age="), "\(told)")
        // The age may be a second more by now.
        let words = decision.drop { $0 == " " }.prefix { $0 != "," }
        #expect(told.output.contains(words), "\(decision) \(told)")
      }
    }
    let vary = try town.cache("show", town.origin + "/vary")
    #expect(vary.says("1 of 2", "2 of 2", "for requests with accept-language: de"), "\(vary)")
    let cookie = try town.cache("show", town.origin + "/cookie")
    #expect(
      cookie.says("Set-Cookie: (8 bytes, not shown)") && !cookie.output.contains("secret=1"), "\(cookie)")
    let none = try town.cache("show", town.origin + "/none")
    #expect(none.exit == .status(1) && none.errors.contains("nothing is stored for") && none.output.isEmpty)
    #expect(try town.cache("show", "/a").exit == .status(64))
  }

  @Test("verify is content with a whole directory, also beside the daemon, and finds a flipped bit")
  func verify() throws {
    let town = try Town()
    let whole = try town.cache("verify")
    #expect(whole.says("7 records, 7 responses", "0 damaged, 0 uncommitted"), "\(whole)")
    town.daemon.process.kill()
    #expect(try town.cache("verify").exit == .status(0))
    #expect(try town.stage.damage(Array("/cookie".utf8)) > 0)
    let damaged = try town.cache("verify")
    #expect(damaged.exit == .status(1), "\(damaged)")
    #expect(damaged.output.contains("damaged      v1/1.segment at "), "\(damaged)")
    let listed = try town.cache("ls")
    #expect(listed.exit == .status(0) && listed.lines.contains { $0.hasSuffix("/stale") }, "\(listed)")
    #expect(!listed.lines.contains { $0.hasSuffix("/cookie") } && listed.errors.contains("v1/1.segment at "))
  }

  @Test("export writes the bodies, and nothing over anything")
  func export() throws {
    let town = try Town()
    let folder = try TemporaryFolder()
    let told = try town.cache("export", folder.path("out"))
    #expect(told.says("7 responses"), "\(told)")
    let host = folder.path("out") + "/127.0.0.1%3A\(town.stage.origin.port)"
    #expect(contents(of: host + "/a%3Fb=1") == "/a?b=1" && contents(of: host + "/stale") == "/stale")
    let both = [contents(of: host + "/a"), contents(of: host + "/a~/b"), contents(of: host + "/a/b")]
    #expect(both.contains("/a") || both.contains("/a/b"))
    #expect(contents(of: host + "/cookie~head").hasPrefix("\(town.origin)/cookie\n\nHTTP/1.1 200\n"))
    #expect(!contents(of: host + "/cookie~head").contains("secret"))
    let again = try town.cache("export", folder.path("out"))
    #expect(again.exit == .status(73) && again.errors.contains("is not empty"), "\(again)")
  }

  @Test("directory and rules come from the configuration, be it named or found")
  func configuration() throws {
    let town = try Town()
    let folder = try TemporaryFolder()
    let file = try folder.write(
      """
      [disk]
      path = "\(town.stage.path)"
      [[domain]]
      name = "default"
      policy = "network-only"
      upstream = "\(town.origin)"
      """, to: "regent.toml")
    let told = try Self.cache(["ls", "--config", file])
    #expect(told.says("never: network-only", "by the rules of \(file)"), "\(told)")
    let broken = try folder.write("nonsense = 1\n", to: "broken.toml")
    #expect(try Self.cache(["ls", "--config", broken]).exit == .status(78))
    #expect(try Self.cache(["ls", "--config", folder.path("none")]).exit == .status(66))
    let empty = try folder.write("", to: "empty.toml")
    // Rules that nobody named are those of the directory's own configuration, or none.
    #expect(try town.cache("ls").says("by the rules of HTTP alone"))
    let pathless = try Self.cache(["ls", "--config", empty])
    #expect(pathless.exit == .status(64) && pathless.errors.contains("has no [disk] path"), "\(pathless)")
  }

  @Test("what is no cache of this version is told with its exit code, and never made")
  func refusals() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("x")
    for command in [["ls"], ["verify"], ["show", "http://a/"], ["export", folder.path("out")]] {
      let told = try Self.cache(command + ["--dir", path])
      #expect(told.exit == .status(66) && told.errors.contains("there is no such directory"), "\(told)")
      #expect(told.output.isEmpty && !FileManager.default.fileExists(atPath: path))
    }
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    func told() throws -> String {
      let told = try Self.cache(["ls", "--dir", path])
      #expect(told.exit == .status(65) && told.output.isEmpty, "\(told)")
      return told.errors
    }
    #expect(try told().contains("is no cache directory of Regent's"))
    try FileManager.default.createDirectory(atPath: path + "/v2", withIntermediateDirectories: false)
    #expect(try told().contains("has the format 2 of another version"))
    try FileManager.default.createDirectory(atPath: path + "/v1", withIntermediateDirectories: false)
    #expect(try told().contains("there is no identity"))
    #expect(FileManager.default.createFile(atPath: path + "/v1/identity", contents: Data(count: 64)))
    #expect(try told().contains("the identity in its folder \"v1\" is not what was written"))
    let link = folder.path("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    let linked = try Self.cache(["ls", "--dir", link])
    #expect(linked.exit == .status(65) && linked.errors.contains("a link to one"), "\(linked)")
    #expect(try Self.cache([]).output.contains("cache"))
    for wrong in [["ls", "--sort", "name"], ["show"], ["export"], ["nonsense"]] {
      #expect(try Self.cache(wrong).exit == .status(64), "\(wrong)")
    }
  }
}
