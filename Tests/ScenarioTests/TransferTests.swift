// Transfers that are under way show in /stats how far they are: the large and the slow ones, both ways, and no others.

import Testing

@Suite("Transfers")
struct TransferTests {
  private static let size = 4 << 20
  private static let content = String(repeating: "z", count: size)

  private static func transfers(_ daemon: Daemon) throws -> [[String: Any]] {
    try #require(try daemon.stats()["transfers"] as? [[String: Any]])
  }

  @Test("a download shows domain, path without query, bytes, total, fraction and rate, until it has ended")
  func download() throws {
    let gate = Gate()
    let stage = try Stage(workers: 1) { _, connection in
      try connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: \(Self.size)\r\n\r\n")
      try connection.send(String(Self.content.prefix(Self.size / 2)))
      try gate.wait()
      try connection.send(String(Self.content.suffix(Self.size / 2)))
    }
    let client = try stage.daemon.connect()
    try client.request("GET", "/file?token=secret")
    var isHalf = false
    let answer = try client.response { piece in
      guard !isHalf else { return }
      isHalf = true
      let isListed = try eventually {
        let listed = try Self.transfers(stage.daemon)
        return listed.count == 1 && listed[0]["bytes"] as? Int == Self.size / 2
      }
      #expect(isListed)
      let transfer = try #require(try Self.transfers(stage.daemon).first)
      #expect(transfer["path"] as? String == "/file" && transfer["direction"] as? String == "download")
      #expect(transfer["total"] as? Int == Self.size && transfer["fraction"] as? Double == 0.5)
      #expect((transfer["domain"] as? String)?.isEmpty == false)
      #expect((transfer["bytes-per-second"] as? Int ?? 0) > 0 && transfer["age-milliseconds"] is Int)
      gate.open()
    }
    #expect(answer.status == 200)
    #expect(try eventually { try Self.transfers(stage.daemon).isEmpty })
  }

  @Test("an upload of unknown length shows its bytes and no total")
  func upload() throws {
    let stage = try Stage(workers: 1) { _, connection in
      try connection.readBody()
      try connection.answer()
    }
    let client = try stage.daemon.connect()
    try client.send("PUT /up HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    try client.send("\(String(Self.size, radix: 16))\r\n\(Self.content)\r\n")
    let isListed = try eventually {
      try Self.transfers(stage.daemon).contains {
        $0["bytes"] as? Int == Self.size && $0["direction"] as? String == "upload"
      }
    }
    #expect(isListed)
    let transfer = try #require(try Self.transfers(stage.daemon).first)
    #expect(transfer["total"] == nil && transfer["fraction"] == nil && transfer["path"] as? String == "/up")
    try client.send("0\r\n\r\n")
    #expect(try client.response().status == 200)
    #expect(try eventually { try Self.transfers(stage.daemon).isEmpty })
  }

  @Test(
    "a small one that stands still is listed once it is a second old, and forgotten where its client leaves")
  func slow() throws {
    let gate = Gate()
    let stage = try Stage(workers: 1) { _, connection in
      try connection.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 10\r\n\r\nhalf.")
      try gate.wait()
      try connection.send("whole")
    }
    let client = try stage.daemon.connect()
    let start = ContinuousClock.now
    try client.request("GET", "/slow")
    #expect(try client.socket.receive().isEmpty == false)
    #expect(try eventually { try Self.transfers(stage.daemon).count == 1 })
    #expect(ContinuousClock.now - start > .milliseconds(900))
    let transfer = try #require(try Self.transfers(stage.daemon).first)
    #expect(transfer["bytes"] as? Int == 5 && transfer["fraction"] as? Double == 0.5)
    client.socket.reset()
    gate.open()
    #expect(try eventually { try Self.transfers(stage.daemon).isEmpty })
  }

  @Test("no more are listed than the configuration says; the others go on and are counted")
  func bounded() throws {
    let stage = try Stage(set: ["limits.transfers=2"], workers: 1) { request, connection in
      try connection.answer(200, ["Cache-Control: no-store"], Self.content)
    }
    let clients = try (0..<3).map { number in
      let client = try stage.daemon.connect(receiveBuffer: 4096)
      try client.request("GET", "/\(number)")
      return client
    }
    #expect(try eventually { try stage.daemon.stats()["transfers-unlisted"] as? Int == 1 })
    #expect(try eventually { try Self.transfers(stage.daemon).count == 2 })
    for client in clients { #expect(try client.response().text == Self.content) }
    #expect(try eventually { try Self.transfers(stage.daemon).isEmpty })
  }

  @Test("a slow reader of a large stored body is listed, and quick small exchanges never are")
  func stored() throws {
    let stage = try Stage(workers: 1) { request, connection in
      try connection.answer(
        200, ["Cache-Control: max-age=60"], request.target == "/a" ? "small" : Self.content)
    }
    #expect(try stage.get("/large").body.count == Self.size)
    for _ in 0..<50 { #expect(try stage.get("/a").text == "small") }
    #expect(try Self.transfers(stage.daemon).isEmpty)
    let client = try stage.daemon.connect(receiveBuffer: 4096)
    try client.request("GET", "/large")
    #expect(
      try eventually { try Self.transfers(stage.daemon).contains { $0["path"] as? String == "/large" } })
    let answer = try client.response()
    #expect(answer.isHit && answer.text == Self.content)
    #expect(try stage.daemon.stats()["transfers-unlisted"] as? Int == 0)
  }
}
