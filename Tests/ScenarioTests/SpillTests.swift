// Bodies larger than memory that go to the disk while they arrive: clients that do not read hold neither the origin nor one
// another back, make no memory grow, and read from the disk in the end; who comes late joins from the first byte.

import TestKit
import Testing

extension UnderLoad {
  @Suite("Bodies that go to the disk as they arrive")
  struct SpillTests {
    private static let size = 96 << 20
    private static let pattern = Pattern(for: "spill")

    /// An origin of one large body, which it sends as fast as it is taken, past `gate` if there is one.
    private func stage(
      _ folder: TemporaryFolder, _ sent: Shared<Int>, at stop: Int = .max, _ gate: Gate = Gate()
    )
      throws -> Stage
    {
      try Stage(set: ["disk.path=\(folder.path("cache"))", Setting.maxObject("1 MiB")], workers: 1) {
        _, connection in
        try connection.send(
          "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: \(Self.size)\r\n\r\n")
        for offset in stride(from: 0, to: Self.size, by: 1 << 20) {
          if offset == stop { try gate.wait() }
          try connection.send(Self.pattern.bytes(from: offset, count: 1 << 20))
          sent.increment(by: 1 << 20)
        }
      }
    }

    /// Reads a response's body, and whether it is the pattern.
    private func readWhole(_ client: Client) throws -> Bool {
      var (offset, isRight) = (0, true)
      let response = try client.response { piece in
        isRight = isRight && Self.pattern.matches(piece, at: offset)
        offset += piece.count
      }
      return response.status == 200 && isRight && offset == Self.size
    }

    @Test("clients that do not read stop nobody, and get every byte from the disk in the end")
    func slowClients() throws {
      let (folder, sent) = (try TemporaryFolder(), Shared(0))
      let stage = try stage(folder, sent)
      _ = try stage.daemon.stats()
      let quiet = stage.daemon.resident
      let slow = try (0..<10).map { _ in try stage.daemon.connect(receiveBuffer: 65_536) }
      for client in slow { try client.request("GET", "/a") }
      // The origin is done although nobody has read anything.
      #expect(eventually { sent.value == Self.size })
      #expect(stage.daemon.isSanitized || stage.daemon.resident - quiet < 48 << 20)
      #expect(try eventually { try stage.daemon.disk("insertions") == 1 })
      for client in slow { #expect(try readWhole(client)) }
      #expect(stage.daemon.isSanitized || stage.daemon.resident - quiet < 48 << 20)
      #expect(try readWhole(stage.daemon.connect().asking("/a")))
      #expect(stage.origin.requests.count == 1)
    }

    @Test("a fast client is not slowed by one that does not read, and a late one joins from the first byte")
    func lateClient() throws {
      let (folder, sent, gate) = (try TemporaryFolder(), Shared(0), Gate())
      let stop = Self.size - (8 << 20)
      let stage = try stage(folder, sent, at: stop, gate)
      let slow = try stage.daemon.connect(receiveBuffer: 65_536).asking("/a")
      #expect(eventually { sent.value == stop })
      let late = try stage.daemon.connect().asking("/a")
      var (offset, isRight) = (0, true)
      let response = try late.response { piece in
        isRight = isRight && Self.pattern.matches(piece, at: offset)
        offset += piece.count
        // All that came until now is here before the origin goes on.
        if offset == stop { gate.open() }
      }
      #expect(
        isRight && offset == Self.size && response.cacheStatus.contains("collapsed"), "\(response.head.raw)")
      #expect(try readWhole(slow))
      #expect(stage.origin.requests.count == 1)
    }
  }
}

extension Client {
  fileprivate func asking(_ target: String) throws -> Client {
    try request("GET", target)
    return self
  }
}
