// `regent stats`: the daemon's figures for people, once and every second, with a bar for each transfer.

import Glibc
import TestKit
import Testing

@Suite("The command stats")
struct StatsCommandTests {
  private static let size = 4 << 20

  /// A daemon with half of a download in the air.
  private static func stage(_ gate: Gate) throws -> (Stage, Client) {
    let stage = try Stage { request, connection in
      guard request.target == "/half" else {
        return try connection.answer(200, ["Cache-Control: max-age=60"], "small")
      }
      try connection.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: \(size)\r\n\r\n")
      try connection.send([UInt8](repeating: 0x78, count: size / 2))
      try gate.wait()
      try connection.send([UInt8](repeating: 0x78, count: size / 2))
    }
    for _ in 0..<4 { _ = try stage.get("/a") }
    let client = try stage.daemon.connect()
    try client.request("GET", "/half")
    _ = try client.head()
    _ = try client.receive(size / 2)
    return (stage, client)
  }

  @Test("it prints a table with the domains, and the transfers with their bars")
  func table() throws {
    let gate = Gate()
    let (stage, client) = try Self.stage(gate)
    var text = ""
    let hasBar = try eventually {
      let result = try run(Daemon.binary, ["stats", "--daemon", "127.0.0.1:\(stage.daemon.port)"])
      #expect(result.exit == .status(0) && result.errors.isEmpty, "\(result.errors)")
      text = result.output
      return text.contains("[#########---------]  50 % 2.0 MiB of 4.0 MiB")
    }
    #expect(hasBar, "\(text)")
    #expect(text.hasPrefix("Regent ") && text.contains("download") && text.contains("/half"))
    let domain = text.split(separator: "\n").first { $0.contains("75 %") || $0.contains("60 %") }
    #expect(domain != nil, "\(text)")
    gate.open()
    _ = try client.receive(Self.size / 2)
  }

  @Test("with --watch it draws anew every second until it is interrupted")
  func watch() throws {
    let gate = Gate()
    let (stage, client) = try Self.stage(gate)
    let folder = try TemporaryFolder()
    let watching = try ChildProcess(
      Daemon.binary, ["stats", "--watch", "--daemon", "127.0.0.1:\(stage.daemon.port)"],
      output: folder.path("out"))
    func tables() -> [Substring] { contents(of: folder.path("out")).split(separator: "Regent ") }
    #expect(eventually { tables().count >= 2 && tables().last?.contains(" 50 % ") == true })
    gate.open()
    _ = try client.receive(Self.size / 2)
    let seen = tables().count
    #expect(eventually { tables().count >= seen + 2 && tables().last?.contains(" % 2.0 MiB") == false })
    watching.signal(SIGINT)
    #expect(watching.wait() == .signal(SIGINT))
  }

  @Test("where no daemon answers, or something else does, it says so and exits with 69")
  func nobody() throws {
    let nobody = try run(Daemon.binary, ["stats", "--daemon", "127.0.0.1:\(try Daemon.freePort())"])
    #expect(nobody.exit == .status(69) && !nobody.errors.isEmpty)
    let other = try Origin { _, connection in
      try connection.answer(200, [], "{}")
      connection.close()
    }
    let wrong = try run(Daemon.binary, ["stats", "--daemon", "127.0.0.1:\(other.port)"])
    #expect(wrong.exit == .status(69) && wrong.errors.contains("is no Regent"), "\(wrong.errors)")
    #expect(try run(Daemon.binary, ["stats", "--daemon", "nonsense"]).exit == .status(64))
  }
}
