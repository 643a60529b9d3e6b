// What the daemon tells its service manager, and that it is true at that moment (sd_notify, Type=notify).

import Glibc
import Testing

@Suite("As a service")
struct ServiceTests {
  @Test("READY=1 comes when clients are accepted and answered", arguments: ServiceManager.Space.allCases)
  func ready(_ space: ServiceManager.Space) throws {
    let manager = try ServiceManager(space)
    let port = try Daemon.freePort()
    // Started by hand: `Daemon.start` would wait for the listener and so prove nothing.
    let process = try serve(port, manager)
    #expect(try manager.next() == "READY=1")
    #expect(try Client(port: port).get("/stats", host: "regent.localhost").status == 200)
    #expect(process.poll() == nil)
    #expect(manager.waiting == nil)
  }

  @Test("a daemon that cannot listen is never ready")
  func neverReady() throws {
    let manager = try ServiceManager(.path)
    let listener = try Listener()
    let process = try serve(listener.port, manager)
    let exit = try #require(process.wait())
    #expect(exit != .status(0))
    #expect(manager.waiting == nil)
  }

  @Test("STOPPING=1 comes at SIGTERM, while requests in flight are still being finished")
  func stopping() throws {
    let manager = try ServiceManager(.path)
    let gate = Gate()
    let origin = try Origin { _, connection in
      try gate.wait()
      try connection.answer()
    }
    let daemon = try Daemon.start(upstream: origin.url, environment: ["NOTIFY_SOCKET": manager.name])
    #expect(try manager.next() == "READY=1")
    let client = try daemon.connect()
    try client.request("GET", "/")
    #expect(eventually { origin.requests.count == 1 })
    #expect(manager.waiting == nil)
    daemon.process.signal(SIGTERM)
    #expect(try manager.next() == "STOPPING=1")
    #expect(daemon.isRunning)
    gate.open()
    #expect(try client.response().status == 200)
    #expect(daemon.process.wait() == .status(0))
    #expect(manager.waiting == nil)
  }

  private func serve(_ port: UInt16, _ manager: ServiceManager) throws -> ChildProcess {
    try ChildProcess(
      Daemon.binary, ["serve", "--listen", "127.0.0.1:\(port)", "--upstream", "http://127.0.0.1:9"],
      environment: Daemon.environment.merging(["NOTIFY_SOCKET": manager.name]) { $1 })
  }
}
