// Waiting for no longer than a peer stays: each way of leaving ends the wait, nothing else does, and reading goes on
// behind it as before.

import Testing

@testable import RegentLoop

@Suite("A peer that leaves during a wait", .timeLimit(.minutes(10)))
struct LeavingPeerTests {
  private static let long = Duration.seconds(3600)

  @Test(
    "ends it, whatever lies unread before its end",
    arguments: ["closes", "ends its side", "resets"], [0, 1, 100_000])
  func leaves(how: String, unread: Int) async throws {
    try await onLoop { loop in
      try await withConnection(on: loop) { client, server in
        let leaving = LoopBound((client, server), loop)
        let task = Task(executorPreference: loop) {
          await leaving.value.1.peerStays(for: Self.long)
        }
        await Task.yield()
        if unread > 0 { _ = client.send([UInt8](repeating: 1, count: unread), then: [], skipping: 0) }
        for _ in 0..<3 { await loop.yieldTurn() }
        #expect(server.departure != nil)
        switch how {
        case "closes": client.close()
        case "ends its side": client.shutdownWriting()
        default:
          client.resetOnClose()
          client.close()
        }
        let stayed = await task.value
        #expect(!stayed)
        #expect(server.departure == nil && loop.timers.count <= 2)
      }
    }
  }

  @Test("is seen at once where it left before")
  func before() async throws {
    try await onLoop { loop in
      try await withConnection(on: loop) { client, server in
        client.close()
        let stayed = await server.peerStays(for: Self.long)
        server.close()
        let isThere = await server.peerStays(for: Self.long)
        #expect(!stayed && !isThere)
      }
    }
  }

  @Test(
    "is not one that stays and sends: the wait ends in its time, and reading goes on",
    arguments: [true, false])
  func stays(isRead: Bool) async throws {
    try await onLoop { loop in
      try await withConnection(on: loop) { client, server in
        let witness = Witness { server.pauseReading() }
        server.delegate = witness
        if isRead { server.resumeReading() }
        let start = loop.clock.now
        let leaving = LoopBound((server, witness), loop)
        // What was read by then is counted where the wait ends: whoever waits for that may come later.
        let task = Task(executorPreference: loop) {
          let stayed = await leaving.value.0.peerStays(for: .milliseconds(50))
          return (stayed, readable: leaving.value.1.readable)
        }
        await Task.yield()
        for byte in 0..<5 {
          _ = client.send([UInt8(byte)], then: [], skipping: 0)
          for _ in 0..<3 { await loop.yieldTurn() }
        }
        let outcome = await task.value
        #expect(outcome.0 && outcome.readable == 0)
        #expect(loop.clock.now - start >= 50_000_000)
        for _ in 0..<3 { await loop.yieldTurn() }
        #expect(witness.readable == (isRead ? 1 : 0))
        let bytes = try await read(5, from: server)
        #expect(bytes == [0, 1, 2, 3, 4])
      }
    }
  }

  @Test("is this side itself where the stream is closed")
  func closed() async throws {
    try await onLoop { loop in
      try await withConnection(on: loop) { client, server in
        let leaving = LoopBound(server, loop)
        let task = Task(executorPreference: loop) {
          await leaving.value.peerStays(for: Self.long)
        }
        await Task.yield()
        server.close()
        let stayed = await task.value
        #expect(!stayed)
        withExtendedLifetime(client) {}
      }
    }
  }
}
