// Tunnels behind a 101: each direction ends by itself, a break is seen on both sides, the slower side sets the pace,
// and what they hold and move is bounded and counted.

import Foundation
import Testing

@Suite("Tunnels")
struct TunnelTests {
  private static func stage(
    set: [String] = [], _ talk: @escaping @Sendable (OriginConnection) throws -> Void = Opening.echo
  ) throws -> Stage {
    try Stage(set: set, workers: 1) { request, connection in
      guard request["Upgrade"] != nil else { return try connection.answer(200, [], "ordinary") }
      try connection.send(Opening.answer())
      try talk(connection)
    }
  }

  private static func open(_ daemon: Daemon, receiveBuffer: Int32? = nil) throws -> Client {
    let client = try daemon.connect(receiveBuffer: receiveBuffer)
    try client.send(Opening.request())
    #expect(try client.response().status == 101)
    return client
  }

  @Test("the client's end reaches the origin, whose last words still reach the client, and then its end")
  func clientEndsFirst() throws {
    let stage = try Self.stage { connection in
      #expect(try connection.receive() == Array("last".utf8))
      #expect(try connection.receive().isEmpty)
      try connection.send("farewell")
      connection.close()
    }
    let client = try Self.open(stage.daemon)
    try client.send("last")
    client.socket.endSending()
    #expect(try client.receive(8) == Array("farewell".utf8))
    #expect(try client.receive().isEmpty)
    #expect(try eventually { try stage.daemon.figures("tunnels")["open"] == 0 })
  }

  @Test("the origin's end reaches the client, whose last words still reach the origin")
  func originEndsFirst() throws {
    let heard = Shared<[UInt8]>([])
    let stage = try Self.stage { connection in
      connection.socket.endSending()
      while case let bytes = try connection.receive(), !bytes.isEmpty { heard.update { $0 += bytes } }
      heard.update { $0.append(0x2E) }
    }
    let client = try Self.open(stage.daemon)
    #expect(try client.receive().isEmpty)
    try client.send("still here")
    client.socket.endSending()
    #expect(eventually { heard.value == Array("still here.".utf8) })
  }

  @Test("a reset on one side is a reset on the other", arguments: [true, false])
  func reset(byClient: Bool) throws {
    let (gate, seen) = (Gate(), Shared<SocketError?>(nil))
    let stage = try Self.stage { connection in
      try gate.wait()
      if !byClient { return connection.reset() }
      do { while !(try connection.receive().isEmpty) {} } catch let error as SocketError {
        seen.update { $0 = error }
      }
      connection.close()
    }
    let client = try Self.open(stage.daemon)
    if byClient { client.socket.reset() }
    gate.open()
    if byClient {
      #expect(eventually { seen.value == .reset })
    } else {
      #expect(throws: SocketError.reset) { try client.receive() }
    }
    #expect(try eventually { try stage.daemon.figures("tunnels")["open"] == 0 })
  }

  @Test("a tunnel in which nothing moves is cut; one in which either side moves is not")
  func idle() throws {
    let stage = try Self.stage(set: ["timeouts.tunnel-idle=1s"]) { connection in
      // Only this side talks, for longer than either may be silent.
      for _ in 0..<15 {
        _ = connection.socket.isReadable(within: 100)
        try connection.send("x")
      }
      _ = try? connection.receive()
    }
    let client = try Self.open(stage.daemon)
    #expect(try client.receive(15).count == 15)
    let start = ContinuousClock.now
    #expect(throws: SocketError.reset) { try client.receive() }
    #expect(ContinuousClock.now - start > .milliseconds(700))
    #expect(try eventually { try stage.daemon.figures("tunnels")["open"] == 0 })
  }

  @Test("tunnels have a bound of their own, and hold none of the connections that requests share")
  func bounded() throws {
    let stage = try Self.stage(set: ["limits.tunnels=2", "limits.origin-connections=1"])
    let clients = try (0..<2).map { _ in try Self.open(stage.daemon) }
    let third = try stage.daemon.connect()
    try third.send(Opening.request())
    let refusal = try third.response()
    #expect(refusal.status == 503 && refusal["Proxy-Status"]?.contains("connection_limit_reached") == true)
    #expect(try third.get("/a").text == "ordinary")
    let figures = try stage.daemon.figures("tunnels")
    #expect(figures["open"] == 2 && figures["opened"] == 2 && figures["refused"] == 1, "\(figures)")
    #expect(try stage.daemon.figures("origins")["connections"] == 1)
    clients[0].socket.reset()
    #expect(try eventually { try stage.daemon.figures("tunnels")["open"] == 1 })
    _ = try Self.open(stage.daemon)
  }

  @Test("bytes are counted by direction, while they move")
  func counted() throws {
    let stage = try Self.stage { connection in
      _ = try connection.receive(1000)
      try connection.send(String(repeating: "y", count: 3000))
      try Opening.echo(connection)
    }
    let client = try Self.open(stage.daemon)
    try client.send(String(repeating: "x", count: 1000))
    _ = try client.receive(3000)
    let figures = try stage.daemon.figures("tunnels")
    #expect(figures["bytes-in"] == 1000 && figures["bytes-out"] == 3000, "\(figures)")
  }

  @Test("a drain lets tunnels run until its deadline, and then cuts them")
  func drain() throws {
    let stage = try Self.stage(set: ["timeouts.drain=1s"])
    let client = try Self.open(stage.daemon)
    stage.daemon.process.signal(SIGTERM)
    try client.send("still")
    #expect(try client.receive(5) == Array("still".utf8))
    #expect(throws: SocketError.reset) { try client.receive() }
    #expect(stage.daemon.process.wait() == .status(0))
  }
}

extension UnderLoad {
  @Suite("Tunnels under load")
  struct BusyTunnelTests {
    private static let size = 96 << 20
    private static let pattern = Pattern(for: "tunnel")

    @Test(
      "a side that does not read stops the other, costs no memory and no processor, and gets every byte in the end"
    )
    func pushesBack() throws {
      let sent = Shared(0)
      let blocked = Gate()
      let stage = try Stage(workers: 1) { _, connection in
        try connection.send(Opening.answer())
        while sent.value < Self.size {
          if !connection.socket.isWritable(within: 500) { blocked.open() }
          let piece = Self.pattern.bytes(from: sent.value, count: 1 << 20)
          try connection.send(piece)
          sent.increment(by: piece.count)
        }
        connection.close()
      }
      _ = try stage.daemon.stats()
      let quiet = stage.daemon.resident
      let client = try stage.daemon.connect(receiveBuffer: 65_536)
      try client.send(Opening.request())
      #expect(try client.response().status == 101)
      try blocked.wait()
      #expect(sent.value < 64 << 20)
      let before = stage.daemon.processorTime
      _ = client.socket.isReadable(within: 0)
      _ = eventually(within: 1) { false }
      #expect(stage.daemon.processorTime - before < .milliseconds(100))
      var received = 0
      var wrong = 0
      client.socket.endSending()
      while case let piece = try client.receive(), !piece.isEmpty {
        if !Self.pattern.matches(piece, at: received) { wrong += 1 }
        received += piece.count
      }
      #expect(received == Self.size && wrong == 0)
      let growth = stage.daemon.resident - quiet
      #expect(growth < (stage.daemon.isSanitized ? 256 : 8) << 20, "\(growth)")
    }

    @Test("many tunnels talk at once, every byte at its place, and leave nothing behind")
    func many() throws {
      let stage = try Stage { _, connection in
        try connection.send(Opening.answer())
        try Opening.echo(connection)
      }
      _ = try stage.daemon.stats()
      let quiet = stage.daemon.descriptors
      try concurrently(32) { index in
        let pattern = Pattern(for: "tunnel \(index)")
        let client = try stage.daemon.connect()
        try client.send(Opening.request())
        #expect(try client.response().status == 101)
        for round in 0..<40 {
          let bytes = pattern.bytes(from: round * 9973, count: 1 + round * 3511)
          try client.socket.send(bytes)
          #expect(isSame(try client.receive(bytes.count), bytes))
        }
        if index % 2 == 0 { client.socket.reset() } else { client.socket.endSending() }
        if index % 2 == 1 { #expect(try client.receive().isEmpty) }
      }
      let figures = try stage.daemon.figures("tunnels")
      let bytes = 32 * (0..<40).reduce(0) { $0 + 1 + $1 * 3511 }
      #expect(figures["bytes-in"] == bytes && figures["bytes-out"] == bytes, "\(figures)")
      #expect(
        eventually { stage.daemon.descriptors <= quiet }, "\(stage.daemon.descriptors) where \(quiet) were")
    }
  }
}
