// Contents of requests on their way to the origin: of any length and framing, byte for byte, at the pace of the slower
// side, in constant memory, and over as soon as they end (TRUST.md A7) or nobody wants the rest.

import Foundation
import Testing

@Suite("Uploads")
struct UploadTests {
  @Test(
    "chunks of every size arrive as the content that they are, trailers do not, and the connection goes on")
  func chunks() throws {
    let stage = try Stage(workers: 1) { request, connection in
      let body = try connection.readBody()
      #expect(connection.lastTrailers.isEmpty)
      try connection.answer(
        200, [], "\(request.connection) \(Pattern(for: "chunks").matches(body)) \(body.count)")
    }
    let client = try stage.daemon.connect()
    for (round, sizes) in [[1], [1, 1, 1, 1], [5, 70_000, 3], [300_000, 1, 262_144, 9], []].enumerated() {
      let content = Pattern(for: "chunks").bytes(count: sizes.reduce(0, +))
      var message = Array("POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
      var offset = 0
      for size in sizes {
        message +=
          Array("\(String(size, radix: 16));x=y\r\n".utf8) + content[offset..<offset + size] + [13, 10]
        offset += size
      }
      message += Array("0\r\nX-Trailer: 1\r\nContent-Length: 9\r\n\r\n".utf8)
      // The next request stands right behind it.
      message += Array("GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
      let (socket, bytes) = (client.socket, message)
      let sending = Worker { try socket.send(bytes) }
      #expect(try client.response().text == "1 true \(content.count)", "round \(round)")
      #expect(try client.response().text == "1 true 0")
      try sending.finish()
    }
  }

  @Test(
    "a dropped trailer delays nothing: the end passes within 100 ms of its last byte",
    arguments: [true, false])
  func trailers(isUpload: Bool) throws {
    let trailers = "0\r\n" + String(repeating: "X-Trailer: 0123456789\r\n", count: 90) + "\r\n"
    let ended = Shared<ContinuousClock.Instant?>(nil)
    let gate = Gate()
    let stage = try Stage { request, connection in
      guard request.target != "/b" else { return try connection.answer() }
      if isUpload {
        try connection.readBody()
        ended.update { $0 = .now }
        return try connection.answer(200, [], "done")
      }
      try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
      try gate.wait()
      ended.update { $0 = .now }
      try connection.send(trailers)
    }
    let client = try stage.daemon.connect()
    // What delays by rule, as a delayed acknowledgement does, delays each time; a busy machine does not.
    let delays = try (0..<10).map { _ in
      guard isUpload else {
        try client.request("GET", "/a", ["Cache-Control: no-store"])
        let answer = try client.response { _ in gate.open() }
        #expect(answer.status == 200 && answer.trailers.isEmpty)
        return ContinuousClock.now - (ended.value ?? .now)
      }
      try client.send("POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
      let start = ContinuousClock.now
      try client.send(trailers)
      #expect(try client.response().text == "done")
      return (ended.value ?? start + .seconds(9)) - start
    }
    #expect(delays.min() ?? .seconds(9) < .milliseconds(100), "\(delays)")
    // Both connections are as good as before.
    #expect(try client.get("/b").status == 200)
  }

  @Test(
    "content that is malformed on its way ends both connections, and the origin never sees a whole request")
  func malformed() throws {
    let stage = try Stage(workers: 1) { _, connection in
      _ = try connection.readBody()
      try connection.answer(200, [], "whole")
    }
    let client = try stage.daemon.connect()
    try client.send("POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
    #expect(eventually { stage.origin.requests.count == 1 })
    try client.send("0x0\r\n\r\n")
    #expect(try client.response().status == 400)
    #expect(try client.rest().isEmpty)
    #expect(eventually { !stage.origin.garbage.isEmpty })
  }
}

extension UnderLoad {
  @Suite("Large uploads")
  struct LargeUploadTests {
    /// 64 MiB each day; 10 GB where REGENT_HUGE says "full".
    private static let size =
      ProcessInfo.processInfo.environment["REGENT_HUGE"] == "full" ? 10_000_000_000 : 64 << 20
    private static let piece = 1 << 20
    private static let pattern = Pattern(for: "upload")

    @Test("any length passes in 16 MiB of memory, byte for byte", arguments: [true, false])
    func constantMemory(isChunked: Bool) throws {
      let (received, wrong, most) = (Shared(0), Shared(0), Shared(0))
      let daemon = Shared<Daemon?>(nil)
      let stage = try Stage(workers: 1) { _, connection in
        try connection.readBody { piece in
          let offset = received.value
          if !Self.pattern.matches(piece, at: offset) { wrong.increment() }
          guard offset >> 22 != received.increment(by: piece.count) >> 22 else { return }
          let now = daemon.value?.resident ?? 0
          most.update { $0 = max($0, now) }
        }
        try connection.answer(200, [], "\(received.value)")
      }
      daemon.update { $0 = stage.daemon }
      // The origin's connection lives as long as the daemon, and would keep it through this.
      defer { daemon.update { $0 = nil } }
      _ = try stage.daemon.stats()
      let quiet = stage.daemon.resident
      let client = try stage.daemon.connect()
      let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(Self.size)"
      try client.send("PUT /a HTTP/1.1\r\nHost: localhost\r\n\(framing)\r\n\r\n")
      for offset in stride(from: 0, to: Self.size, by: Self.piece) {
        let bytes = Self.pattern.bytes(from: offset, count: min(Self.piece, Self.size - offset))
        if isChunked { try client.send("\(String(bytes.count, radix: 16))\r\n") }
        try client.socket.send(bytes)
        if isChunked { try client.send("\r\n") }
      }
      if isChunked { try client.send("0\r\n\r\n") }
      #expect(try client.response().text == "\(Self.size)")
      #expect(wrong.value == 0)
      let growth = most.value - quiet
      print("an upload of \(Self.size) bytes: \(growth >> 10) KiB more resident")
      #expect(growth < (stage.daemon.isSanitized ? 256 : 16) << 20, "\(growth)")
    }

    @Test("an origin that does not read stops the client, and gets every byte once it reads again")
    func pushesBack() throws {
      let (go, sent, blocked) = (Gate(), Shared(0), Gate())
      let stage = try Stage(workers: 1) { _, connection in
        try go.wait()
        let body = try connection.readBody()
        try connection.answer(200, [], "\(Self.pattern.matches(body)) \(body.count)")
      }
      let client = try stage.daemon.connect()
      let size = 64 << 20
      try client.send("PUT /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(size)\r\n\r\n")
      let socket = client.socket
      let sending = Worker {
        for offset in stride(from: 0, to: size, by: Self.piece) {
          if !socket.isWritable(within: 500) { blocked.open() }
          try socket.send(Self.pattern.bytes(from: offset, count: Self.piece))
          sent.increment(by: Self.piece)
        }
      }
      try blocked.wait()
      #expect(sent.value < 48 << 20)
      go.open()
      try sending.finish()
      #expect(try client.response().text == "true \(size)")
    }

    @Test("a client that could send for ever is stopped by an early answer")
    func endless() throws {
      let stage = try Stage(workers: 1) { _, connection in
        _ = try connection.receive()
        try connection.answer(413, [], "enough")
        connection.close()
      }
      let client = try stage.daemon.connect()
      try client.send("PUT /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
      let chunk = Array("10000\r\n".utf8) + Self.pattern.bytes(count: 65_536) + [13, 10]
      let (socket, over) = (client.socket, Shared(false))
      let sending = Worker { while !over.value { do { try socket.send(chunk) } catch { return } } }
      #expect(try client.response().status == 413)
      // Nothing more is taken than what a client may have had on its way.
      #expect(throws: Never.self) { try sending.finish() }
      over.update { $0 = true }
    }
  }
}
