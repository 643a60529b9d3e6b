// Many clients that each send most of a large head: what the daemon holds for them is bounded, the oldest go, and the
// newest can still finish.

import Testing

extension UnderLoad {
  @Suite("Unfinished heads")
  struct UnfinishedHeadTests {
    @Test("heads that never end hold a bounded memory; the oldest get a 408, the newest goes on")
    func bounded() throws {
      let stage = try Stage(set: [Setting.head("60s")], workers: 1) { _, connection in
        try connection.answer(200, [], "served")
      }
      _ = try stage.get("/warm-up")
      let before = stage.daemon.resident
      let fields = (0..<4).map { "X-\($0): " + String(repeating: "v", count: 7000) }
      let head = "GET /a HTTP/1.1\r\nHost: localhost\r\n" + fields.joined(separator: "\r\n") + "\r\n"
      let clients = try (0..<2000).map { _ in
        let client = try stage.daemon.connect()
        try client.send(head)
        return client
      }
      #expect(try clients[0].response().status == 408)
      let newest = try #require(clients.last)
      try newest.send("\r\n")
      #expect(try newest.response().text == "served")
      if !stage.daemon.isSanitized { #expect(stage.daemon.resident - before < 40 << 20) }
    }
  }
}
