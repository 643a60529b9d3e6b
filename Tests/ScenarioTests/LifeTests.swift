// The daemon's own life from the outside: starting, refusing to start, stopping, and what it says about it.

import Foundation
import TestKit
import Testing

@Suite("Start and stop")
struct LifeTests {
  @Test("SIGTERM finishes the requests in flight, takes no new ones, and exits 0")
  func termination() throws {
    let gate = Gate()
    let stage = try Stage { request, connection in
      try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
      try gate.wait()
      try connection.send("world")
    }
    let client = try stage.daemon.connect()
    let idle = try stage.daemon.connect()
    try client.request("GET", "/a")
    #expect(eventually { stage.origin.requests.count == 1 })
    stage.daemon.process.signal(SIGTERM)
    #expect(eventually { (try? Socket(port: stage.daemon.port)) == nil })
    #expect(stage.daemon.isRunning)
    gate.open()
    #expect(try client.response().text == "helloworld")
    #expect(stage.daemon.process.wait() == .status(0))
    #expect(try idle.rest().isEmpty)
  }

  @Test("after SIGTERM a connection ends with its answer, also where the head had promised to keep it")
  func endAfterAnswer() throws {
    let gate = Gate()
    let stage = try Stage { _, connection in
      try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
      try gate.wait()
      try connection.send("world")
    }
    let client = try stage.daemon.connect()
    try client.request("GET", "/a")
    var isFirst = true
    _ = try client.response { _ in
      guard isFirst else { return }
      isFirst = false
      stage.daemon.process.signal(SIGTERM)
      #expect(eventually { (try? Socket(port: stage.daemon.port)) == nil })
      gate.open()
    }
    #expect(eventually(within: 5) { !stage.daemon.isRunning })
    #expect(stage.daemon.process.poll() == .status(0))
  }

  @Test("an idle daemon ends at once and with status 0", arguments: [SIGTERM, SIGINT])
  func idleEnd(_ signal: Int32) throws {
    let stage = try Stage { _, connection in try connection.answer() }
    _ = try stage.get("/")
    let clients = try (0..<10).map { _ in try stage.daemon.connect() }
    stage.daemon.process.signal(signal)
    #expect(eventually(within: 5) { !stage.daemon.isRunning })
    #expect(stage.daemon.process.poll() == .status(0))
    for client in clients { #expect(try client.rest().isEmpty) }
  }

  @Test("a port that another program has is one sentence and a failure")
  func portInUse() throws {
    let listener = try Listener()
    try expectRefusal(port: listener.port)
  }

  @Test("a port that another regent has is one sentence and a failure")
  func portOfAnotherRegent() throws {
    let stage = try Stage { _, connection in try connection.answer() }
    try expectRefusal(port: stage.daemon.port)
  }

  @Test("a congestion control that the kernel does not have is one sentence and a failure")
  func unknownCongestionControl() throws {
    let told = try regent(
      "serve", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:9", "--set",
      "server.congestion-control=nothing-such")
    #expect(told.exit != .status(0))
    #expect(told.errors.contains("cannot use congestion control \"nothing-such\""), "\(told.errors)")
    #expect(told.errors.split(separator: "\n").count == 1, "\(told.errors)")
  }

  private func expectRefusal(port: UInt16) throws {
    let second = try regent("serve", "--listen", "127.0.0.1:\(port)", "--upstream", "http://127.0.0.1:9")
    #expect(second.exit != .status(0))
    #expect(second.errors.contains("\(port)") && second.errors.contains("in use"), "\(second.errors)")
    #expect(second.errors.split(separator: "\n").count == 1, "\(second.errors)")
  }

  /// A wrong configuration, the line of its mistake, and the key that its author meant.
  struct Mistake: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let line: Int
    let words: [String]

    static let all = [
      Mistake(
        testDescription: "an unknown key", text: "[timeouts]\nheed = \"1s\"", line: 2,
        words: ["heed", "head"]),
      Mistake(
        testDescription: "an unknown table", text: "\n[memroy]\nsize = \"1 MiB\"", line: 2, words: ["memory"]),
      Mistake(
        testDescription: "a wrong type", text: "[memory]\n\nsize = true", line: 3, words: ["memory.size"]),
      Mistake(
        testDescription: "a wrong unit", text: "[memory]\nsize = \"1 MiX\"", line: 2, words: ["memory.size"]),
      Mistake(
        testDescription: "two domains of one name",
        text: "[[domain]]\nname = \"a\"\n[[domain]]\nname = \"a\"", line: 4,
        words: ["a"]),
      Mistake(testDescription: "no TOML at all", text: "[server]\nlisten = = 3", line: 2, words: []),
    ]
  }

  @Test(
    "a mistake in the configuration exits 78 and names file, line and the nearest key",
    arguments: Mistake.all,
    ["serve", "check"])
  func mistake(_ mistake: Mistake, _ command: String) throws {
    let folder = try TemporaryFolder()
    let file = try folder.write(mistake.text, to: "regent.toml")
    let result = try command == "serve" ? regent("serve", "--config", file) : regent("check", file)
    let said = result.errors + result.output
    #expect(result.exit == .status(78), "\(said)")
    #expect(said.contains("\(file):\(mistake.line)"), "\(said)")
    for word in mistake.words { #expect(said.contains(word), "\(said)") }
  }

  @Test("check accepts a good file, does not start, and a missing one is one sentence")
  func check() throws {
    let folder = try TemporaryFolder()
    let good = try folder.write("[memory]\nsize = \"1 MiB\"\n", to: "good.toml")
    #expect(try regent("check", good).exit == .status(0))
    let missing = try regent("check", folder.path("missing.toml"))
    #expect(missing.exit != .status(0))
    let said = missing.errors + missing.output
    #expect(said.contains("missing.toml") && said.split(separator: "\n").count == 1, "\(said)")
  }

  @Test("--version and --help answer and exit 0; an unknown option does not")
  func options() throws {
    #expect(try regent("--version").output.contains { $0.isNumber })
    #expect(try regent("serve", "--help").output.contains("--upstream"))
    #expect(try regent("serve", "--nonsense").exit != .status(0))
  }

  private func regent(_ arguments: String...) throws -> Told {
    try run(Daemon.binary, arguments, environment: Daemon.environment)
  }
}
