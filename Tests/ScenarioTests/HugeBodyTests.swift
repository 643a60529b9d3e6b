// Bodies far larger than the daemon's memory: it holds a window of them and pushes back on who is too fast.

import Foundation
import Testing

extension UnderLoad {
  @Suite("Huge bodies")
  struct HugeBodyTests {
    private static let size = 1 << 30
    private static let piece = 1 << 20
    private static let pattern = Pattern(for: "huge")

    @Test(
      "1 GiB passes in less than 64 MiB of memory, storable or not", arguments: ["no-store", "max-age=60"])
    func bounded(_ life: String) throws {
      let stage = try Stage { _, connection in try Self.send(connection, life) }
      _ = try stage.daemon.get("/stats", host: "regent.localhost")
      let quiet = stage.daemon.resident
      let most = Shared(0)
      let received = Shared(0)
      let wrong = Shared(0)
      let client = try stage.daemon.connect()
      try client.request("GET", "/huge")
      _ = try client.response { piece in
        let offset = received.value
        if !Self.pattern.matches(piece, at: offset) { wrong.increment() }
        if offset >> 26 != received.increment(by: piece.count) >> 26 {
          let now = stage.daemon.resident
          most.update { $0 = max($0, now) }
        }
      }
      #expect(received.value == Self.size)
      #expect(wrong.value == 0)
      #expect(most.value - quiet < (stage.daemon.isSanitized ? 512 : 64) << 20)
    }

    @Test("any length passes in 16 MiB of memory: 64 MiB each day, 10 GB where REGENT_HUGE says so")
    func constantMemory() throws {
      let size = ProcessInfo.processInfo.environment["REGENT_HUGE"] == "full" ? 10_000_000_000 : 64 << 20
      let stage = try Stage(workers: 1) { _, connection in try Self.send(connection, "no-store", size) }
      _ = try stage.daemon.stats()
      let quiet = stage.daemon.resident
      let client = try stage.daemon.connect()
      try client.request("GET", "/huge")
      var (received, most, wrong) = (0, 0, 0)
      _ = try client.response { piece in
        if !Self.pattern.matches(piece, at: received) { wrong += 1 }
        if received >> 22 != (received + piece.count) >> 22 { most = max(most, stage.daemon.resident) }
        received += piece.count
      }
      print("a download of \(size) bytes: \((most - quiet) >> 10) KiB more resident")
      #expect(received == size && wrong == 0)
      #expect(most - quiet < (stage.daemon.isSanitized ? 256 : 16) << 20, "\(most - quiet)")
    }

    @Test("a client that does not read stops the origin, and gets every byte once it reads again")
    func pushesBack() throws {
      let sent = Shared(0)
      let blocked = Gate()
      let stage = try Stage { _, connection in
        try connection.send(
          "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: \(Self.size / 4)\r\n\r\n")
        let piece = Self.pattern.bytes(count: Self.piece)
        while sent.value < Self.size / 4 {
          if !connection.socket.isWritable(within: 500) { blocked.open() }
          try connection.send(piece)
          sent.increment(by: piece.count)
        }
      }
      let client = try stage.daemon.connect(receiveBuffer: 65_536)
      try client.request("GET", "/slow")
      try blocked.wait()
      #expect(sent.value < 64 << 20)
      let received = Shared(0)
      _ = try client.response { received.increment(by: $0.count) }
      #expect(received.value == Self.size / 4)
    }

    private static func send(
      _ connection: OriginConnection, _ life: String, _ size: Int = HugeBodyTests.size
    ) throws {
      try connection.send("HTTP/1.1 200 OK\r\nCache-Control: \(life)\r\nContent-Length: \(size)\r\n\r\n")
      for offset in stride(from: 0, to: size, by: piece) {
        try connection.send(pattern.bytes(from: offset, count: min(piece, size - offset)))
      }
    }
  }
}
