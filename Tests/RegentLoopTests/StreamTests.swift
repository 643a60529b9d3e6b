// Bytes over real sockets on a real loop: attempts that never wait, the waits on top of them, and how a stream ends.

import Glibc
import Testing

@testable import RegentLoop

@Suite("A stream's bytes", .timeLimit(.minutes(10)))
struct StreamByteTests {
  @Test("arrive, and are counted on both sides")
  func arrive() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        #expect(one.send(pattern(1000), then: [], skipping: 0) == .bytes(1000))
        try await other.readable()
        #expect(other.receive() == .bytes(1000))
        var bytes: [UInt8] = []
        loop.scratch.copy(0..<1000, onto: &bytes)
        #expect(bytes == pattern(1000))
        #expect(one.sent == 1000 && one.received == 0 && other.received == 1000 && other.sent == 0)
      }
    }
  }

  @Test("would block where there are none, and where the peer takes none")
  func wouldBlock() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        #expect(other.receive() == .wouldBlock)
        #expect(other.receive(into: Block(capacity: 8)) == .wouldBlock)
        let piece = pattern(64 << 10)
        var sent = 0
        while case .bytes(let count) = one.send(piece, then: [], skipping: 0) { sent += count }
        #expect(one.send(piece, then: [], skipping: 0) == .wouldBlock)
        #expect(sent > 0 && one.sent == sent)
        let received = try await read(sent, from: other)
        #expect(received.count == sent)
      }
    }
  }

  @Test("go no further into a block than it has room")
  func intoBlock() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        #expect(one.send([1, 2, 3, 4, 5], then: [], skipping: 0) == .bytes(5))
        let block = Block(capacity: 4)
        let head: [UInt8] = [9]
        let span = head.span
        block.append(span)
        #expect(other.receive(into: block) == .bytes(3))
        #expect(Slice(block).bytes == [9, 1, 2, 3])
        #expect(other.receive(into: block) == .wouldBlock)
        let received = try await read(2, from: other)
        #expect(received == [4, 5])
      }
    }
  }

  @Test(
    "leave in one piece from an array and slices, from any place on",
    arguments: [0, 1, 9, 10, 11, 14, 15, 16, 20, 21])
  func vectored(skipped: Int) async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        let slices = [Slice([]), Slice(pattern(5, seed: 100)), Slice([]), Slice(Block(pattern(8)), 1..<7)]
        let all = pattern(10, seed: 50) + slices.flatMap(\.bytes)
        let attempt = one.send(pattern(10, seed: 50), then: slices, skipping: skipped)
        #expect(attempt == .bytes(21 - skipped))
        guard skipped < 21 else { return }
        let received = try await read(21 - skipped, from: other)
        #expect(received == Array(all[skipped...]))
      }
    }
  }

  @Test("leave whole though the kernel takes them in parts", arguments: [0, 1, 70_000, 300_000])
  func partialWrites(start: Int) async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        // More slices than one vectored write takes.
        let slices = (0..<100).map { Slice(pattern(30_000, seed: UInt8($0))) }
        let head = pattern(70_000)
        let all = head + slices.flatMap(\.bytes)
        let reading = Task(executorPreference: loop) { [bound = LoopBound(other, loop)] in
          try await readToEnd(bound.value)
        }
        try await one.write(head, then: slices, from: start, stall: .seconds(30))
        one.shutdownWriting()
        let isSame = try await reading.value.elementsEqual(all[start...])
        #expect(isSame)
        #expect(one.sent == all.count - start)
      }
    }
  }

  @Test("wait with their sender until the peer takes them")
  func backPressure() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        let bytes = pattern(3 << 20)
        let writing = Task(executorPreference: loop) { [bound = LoopBound(one, loop)] in
          try await bound.value.write(bytes, stall: .seconds(30))
          return true
        }
        // Once the kernel's buffer is full, nothing moves.
        var before = -1
        while one.sent != before {
          before = one.sent
          for _ in 0..<3 { await loop.yieldTurn() }
        }
        #expect(one.sent > 0 && one.sent < bytes.count)
        let received = try await read(bytes.count, from: other)
        #expect(received == bytes)
        let isWritten = try await writing.value
        #expect(isWritten)
      }
    }
  }

  @Test("of a writer that never waits leave the other events their turns")
  func fairness() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        let witness = Witness()
        try await withPair(on: loop) { busy, peer in
          peer.delegate = witness
          peer.resumeReading()
          _ = busy.send([1], then: [], skipping: 0)
          // The reader keeps up, so that the writer finds room again and again.
          let reading = Task(executorPreference: loop) { [bound = LoopBound(other, loop)] in
            try await readToEnd(bound.value).count
          }
          try await one.write(pattern(8 << 20), stall: .seconds(30))
          #expect(witness.readable > 0)
          one.shutdownWriting()
          let received = try await reading.value
          #expect(received == 8 << 20)
        }
      }
    }
  }
}

@Suite("A stream's end", .timeLimit(.minutes(10)))
struct StreamEndTests {
  @Test("in one direction leaves the other open")
  func halfClose() async throws {
    try await onLoop { loop in
      try await withConnection(on: loop) { one, other in
        try await one.write([1, 2, 3], stall: .seconds(30))
        one.shutdownWriting()
        let received = try await readToEnd(other)
        #expect(received == [1, 2, 3])
        #expect(other.receive() == .end)
        #expect(one.isOpen && other.isOpen)
        try await other.write([4, 5], stall: .seconds(30))
        let answer = try await read(2, from: one)
        #expect(answer == [4, 5])
        #expect(one.receive() == .wouldBlock)
      }
    }
  }

  @Test("by reset is a failure with the system's reason, never an orderly end")
  func reset() async throws {
    try await onLoop { loop in
      try await withConnection(on: loop) { one, other in
        one.resetOnClose()
        one.close()
        try await other.readable()
        #expect(other.receive() == .failed(.system(SystemError(call: "read", code: ECONNRESET))))
      }
    }
  }

  @Test("wakes a task that waits to send, and the next attempt names the reason")
  func sendToClosed() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        let writing = Task(executorPreference: loop) { [bound = LoopBound(one, loop)] in
          await failure { try await bound.value.write(pattern(4 << 20), stall: .seconds(30)) }
        }
        for _ in 0..<5 { await loop.yieldTurn() }
        other.close()
        #expect(await writing.value == .system(SystemError(call: "write", code: EPIPE)))
      }
    }
  }

  @Test("on this side tells whoever waits, and every later attempt")
  func closeResumesWaiters() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, _ in
        while case .bytes = one.send(pattern(64 << 10), then: [], skipping: 0) {}
        let bound = LoopBound(one, loop)
        let reading = Task(executorPreference: loop) { await failure { try await bound.value.readable() } }
        let writing = Task(executorPreference: loop) { await failure { try await bound.value.writable() } }
        for _ in 0..<3 { await loop.yieldTurn() }
        one.close()
        one.close()
        #expect(await reading.value == .closed)
        #expect(await writing.value == .closed)
        #expect(!one.isOpen)
        #expect(one.receive() == .failed(.closed))
        #expect(one.send([1], then: [], skipping: 0) == .failed(.closed))
        #expect(await failure { try await one.readable() } == .closed)
        #expect(await failure { try await one.writable() } == .closed)
        #expect(!one.isQuiet)
        one.resumeReading()
        one.pauseReading()
        one.shutdownWriting()
        one.setDeadline(in: .zero)
      }
    }
  }

  @Test("can be pretended to one waiting task, while the stream stays as it is")
  func interrupts() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        while case .bytes = one.send(pattern(64 << 10), then: [], skipping: 0) {}
        let bound = LoopBound(one, loop)
        let reading = Task(executorPreference: loop) { await failure { try await bound.value.readable() } }
        let writing = Task(executorPreference: loop) { await failure { try await bound.value.writable() } }
        for _ in 0..<3 { await loop.yieldTurn() }
        one.interruptReading()
        #expect(await reading.value == .closed)
        one.interruptWriting()
        #expect(await writing.value == .closed)
        one.interruptReading()
        one.interruptWriting()
        #expect(other.send([7], then: [], skipping: 0) == .bytes(1))
        try await one.readable()
        #expect(one.receive() == .bytes(1))
      }
    }
  }

  @Test("is noticed on an idle stream, and so is anything that came unasked")
  func quiet() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        #expect(one.isQuiet)
        #expect(other.send([1], then: [], skipping: 0) == .bytes(1))
        #expect(!one.isQuiet)
        #expect(one.receive() == .bytes(1))
        #expect(one.isQuiet)
        other.close()
        #expect(!one.isQuiet)
      }
    }
  }

  @Test(
    "is known without a question to the kernel from when the loop looked, though another stream's turn comes first"
  )
  func wasQuiet() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        try await withPair(on: loop) { two, far in
          var seen: [Bool] = []
          let first = Witness {
            seen.append(two.wasQuiet)
            _ = one.receive()
          }
          let second = Witness {
            seen.append(one.wasQuiet)
            _ = two.receive()
          }
          (one.delegate, two.delegate) = (first, second)
          one.resumeReading()
          two.resumeReading()
          #expect(one.wasQuiet && two.wasQuiet)
          _ = other.send([1], then: [], skipping: 0)
          _ = far.send([1], then: [], skipping: 0)
          #expect(one.wasQuiet && two.wasQuiet)
          for _ in 0..<3 { await loop.yieldTurn() }
          #expect(seen == [false, true])
        }
      }
    }
  }

  @Test("on this side ends the loop's hold on it")
  func letGo() async throws {
    try await onLoop { loop in
      weak var one: ByteStream?
      try await withPair(on: loop) { opened, _ in one = opened }
      // The task may hold it until its next step.
      await loop.yieldTurn()
      #expect(one == nil)
    }
  }
}

/// What a wait on a stream failed with.
func failure(_ wait: () async throws -> Void) async -> StreamError? {
  do { try await wait() } catch let error as StreamError { return error } catch {
    Issue.record("\(error) is no stream's error")
  }
  return nil
}
