// An origin that answers before it has read the request, and never reads it: the client gets that answer, wherever in
// its content the upload stood, and the connection on which the origin is still owed bytes is not used again.

import Testing

extension UnderLoad {
  @Suite("Early answers")
  struct EarlyAnswerTests {
    @Test(
      "an early answer is relayed also when the last bytes of the upload are stuck, and its connection ends")
    func stuckUpload() throws {
      let count = 64
      let gate = Gate()
      let over = Gate()
      let stage = try Stage(set: [Setting.writeStall("60s")], workers: 1) { request, connection in
        if request.method == "GET" { return try connection.answer(200, [], "on \(request.connection)") }
        try gate.wait()
        try connection.answer(413, [], "too large")
        // It neither reads nor ends: whatever came on this connection now would be content.
        try over.wait()
        connection.close()
      }
      // One of these sizes lies where everything was read from the client and not everything was sent.
      let clients = (0..<count).map { index in
        Worker {
          let client = try stage.daemon.connect()
          let size = 1_500_000 + index * 48_000
          try client.offer("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(size)\r\n\r\n")
          try client.offer(String(repeating: "b", count: size))
          #expect(try client.response().status == 413)
        }
      }
      #expect(eventually { stage.origin.requests.count == count })
      #expect(eventually { isQuiet(stage.daemon) })
      gate.open()
      for client in clients { try client.finish() }
      over.open()
      #expect(try stage.get("/after").text.hasPrefix("on "))
      #expect(stage.origin.garbage.isEmpty && stage.origin.requests.count == count + 1)
    }

    private func isQuiet(_ daemon: Daemon) -> Bool {
      let before = daemon.processorTime
      _ = eventually(within: 1) { daemon.processorTime > before }
      return daemon.processorTime == before
    }
  }
}
