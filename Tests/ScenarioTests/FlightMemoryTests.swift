// A body that no store can keep, for many readers at once, fast and slow: every byte is right, the origin is asked once,
// and the daemon's memory does not follow the body's size.

import Foundation
import Testing

extension UnderLoad {
  @Suite("A large body for fast and slow readers at once")
  struct FlightMemoryTests {
    private static let size = 100 << 20
    private static let piece = 1 << 20

    @Test("takes a window of memory and one fetch")
    func mixed() throws {
      let gate = Gate()
      let pattern = Pattern(for: "/large")
      let stage = try Stage(memory: "16 MiB") { request, connection in
        if request.target == "/small" { return try connection.answer(200, [], "small") }
        try gate.wait()
        try connection.send("HTTP/1.1 200 OK\r\n\(FlightTests.kept)\r\nContent-Length: \(Self.size)\r\n\r\n")
        for offset in stride(from: 0, to: Self.size, by: Self.piece) {
          try connection.send(pattern.bytes(from: offset, count: Self.piece))
        }
      }
      for _ in 0..<50 { _ = try stage.get("/small") }
      let before = stage.daemon.resident
      let clients = try stage.crowd(12, "/large")
      let largest = Shared(0)
      let handed = clients.map { Handed($0) }
      gate.open()
      try concurrently(clients.count) { number in
        let pause = DispatchSemaphore(value: 0)
        var offset = 0
        let response = try handed[number].client.response { piece in
          guard pattern.matches(piece, at: offset) else { throw WireError.malformed("at \(offset)") }
          let isNext = offset >> 20 != (offset + piece.count) >> 20
          offset += piece.count
          // Every third one is slow: some milliseconds for each MiB.
          if isNext, number % 3 == 0 { _ = pause.wait(timeout: .now() + .milliseconds(20)) }
          if isNext, number == 1 {
            let resident = stage.daemon.resident
            largest.update { $0 = max($0, resident) }
          }
        }
        #expect(response.status == 200 && offset == Self.size)
      }
      print("flight: \(clients.count) readers of 100 MiB, at most \((largest.value - before) >> 20) MiB more")
      #expect(stage.origin.count("/large") == 1)
      #expect(largest.value - before < (stage.daemon.isSanitized ? 1 << 30 : 32 << 20))
      #expect(try eventually { try stage.flight("in-the-air") == 0 })
    }

    @Test("is not held up for good by one who hardly reads")
    func trickle() throws {
      let gate = Gate()
      let pattern = Pattern(for: "/large")
      let stage = try Stage(set: [Setting.writeStall("500ms")], memory: "16 MiB") { _, connection in
        try gate.wait()
        try connection.send("HTTP/1.1 200 OK\r\n\(FlightTests.kept)\r\nContent-Length: \(Self.size)\r\n\r\n")
        for offset in stride(from: 0, to: Self.size, by: Self.piece) {
          try connection.send(pattern.bytes(from: offset, count: Self.piece))
        }
      }
      let clients = try stage.crowd(2, "/large")
      let trickling = Handed(try stage.daemon.connect(receiveBuffer: 4096))
      try trickling.client.request("GET", "/large")
      #expect(try eventually { try stage.flight("followers") == 2 })
      gate.open()
      let isOver = Shared(false)
      let worker = Worker {
        let pause = DispatchSemaphore(value: 0)
        while !isOver.value {
          _ = try trickling.client.socket.receive(upTo: 512)
          _ = pause.wait(timeout: .now() + .milliseconds(10))
        }
      }
      let handed = clients.map { Handed($0) }
      try concurrently(clients.count) { number in
        var offset = 0
        _ = try handed[number].client.response { piece in
          guard pattern.matches(piece, at: offset) else { throw WireError.malformed("at \(offset)") }
          offset += piece.count
        }
        #expect(offset == Self.size)
      }
      isOver.update { $0 = true }
      // Its connection is cut: what it gets ends with an error.
      _ = try? worker.finish()
      #expect(stage.origin.requests.count == 1)
    }
  }
}

/// A client that is handed to the thread which reads from it.
// @unchecked: made on one thread, and from then on used on another one alone.
private final class Handed: @unchecked Sendable {
  let client: Client
  init(_ client: Client) { self.client = client }
}
