// Readiness and deadlines: who is told, when, and that nobody is told what was meant for another.

import Testing

@testable import RegentLoop

@Suite("A stream's readiness", .timeLimit(.minutes(10)))
struct StreamReadinessTests {
  @Test("is told to the delegate while no task waits, and to the waiting task alone while one does")
  func delegateOrTask() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        let witness = Witness { _ = one.receive() }
        one.delegate = witness
        one.resumeReading()
        _ = other.send([1], then: [], skipping: 0)
        for _ in 0..<2 { await loop.yieldTurn() }
        #expect(witness.readable == 1)
        let bound = LoopBound(one, loop)
        let reading = Task(executorPreference: loop) {
          try await bound.value.readable()
          return bound.value.receive()
        }
        await Task.yield()
        _ = other.send([2], then: [], skipping: 0)
        let received = try await reading.value
        #expect(received == .bytes(1))
        #expect(witness.readable == 1)
      }
    }
  }

  @Test("is not told while reading is paused, and is told after")
  func paused() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        let witness = Witness { one.pauseReading() }
        one.delegate = witness
        one.resumeReading()
        one.pauseReading()
        _ = other.send([1], then: [], skipping: 0)
        for _ in 0..<3 { await loop.yieldTurn() }
        #expect(witness.readable == 0)
        one.resumeReading()
        for _ in 0..<3 { await loop.yieldTurn() }
        #expect(witness.readable == 1)
      }
    }
  }

  @Test("waits in the kernel while there is neither a task nor a delegate")
  func nobody() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        one.resumeReading()
        _ = other.send([1], then: [], skipping: 0)
        for _ in 0..<3 { await loop.yieldTurn() }
        try await one.readable()
        #expect(one.receive() == .bytes(1))
      }
    }
  }

  @Test("of a closed stream is not told to the next one with its descriptor")
  func staleEvent() async throws {
    try await onLoop { loop in
      var (old, oldPeer) = try makePair(on: loop)
      // Tests on other threads may be quicker to take the freed descriptor; then it is tried again.
      for attempt in 1... {
        let (slot, descriptor) = (old.slot, old.descriptor)
        old.close()
        oldPeer.close()
        let (one, other) = try makePair(on: loop)
        guard one.descriptor == descriptor || other.descriptor == descriptor || attempt == 1000 else {
          (old, oldPeer) = (one, other)
          continue
        }
        defer {
          one.close()
          other.close()
        }
        #expect(one.descriptor == descriptor || other.descriptor == descriptor)
        let witness = Witness()
        one.delegate = witness
        other.delegate = witness
        // Unsafe: the number of a slot in a pointer's clothes, as libevent would hand it over.
        let stale = unsafe UnsafeMutableRawPointer(bitPattern: slot.bits)
        unsafe streamEvent(descriptor, what: 2 | 4, slot: stale)
        #expect(witness.readable == 0)
        let own = unsafe UnsafeMutableRawPointer(bitPattern: one.slot.bits)
        unsafe streamEvent(one.descriptor, what: 2, slot: own)
        #expect(witness.readable == 1)
        return
      }
    }
  }

  @Test("that was polled before another's event closed it reaches neither it nor its successor")
  func closedInTheSamePoll() async throws {
    try await onLoop { loop in
      let first = try makePair(on: loop)
      let second = try makePair(on: loop)
      var successor: (ByteStream, ByteStream)?
      let late = Witness()
      let successors = Witness()
      // Whichever of the two events comes first closes the other's stream and takes its descriptor over.
      func replace(_ victim: (ByteStream, ByteStream)) {
        guard successor == nil,
          let made = {
            victim.0.close()
            victim.1.close()
            return try? makePair(on: loop)
          }()
        else { return }
        successor = made
        for stream in [made.0, made.1] {
          stream.delegate = successors
          stream.resumeReading()
        }
      }
      let one = Witness { replace(second) }
      let other = Witness { replace(first) }
      first.0.delegate = one
      second.0.delegate = other
      for pair in [first, second] {
        pair.0.resumeReading()
        _ = pair.1.send([1], then: [], skipping: 0)
      }
      while successor == nil { await loop.yieldTurn() }
      for stream in [first.0, second.0] { stream.pauseReading() }
      for _ in 0..<3 { await loop.yieldTurn() }
      #expect((one.readable > 0) != (other.readable > 0))
      #expect(successors.readable == 0 && late.readable == 0)
      for pair in [first, second, successor].compactMap({ $0 }) {
        pair.0.close()
        pair.1.close()
      }
    }
  }
}

@Suite("A stream's deadline", .timeLimit(.minutes(10)))
struct StreamDeadlineTests {
  @Test("ends the wait of a task that reads")
  func endsReading() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, _ in
        let start = loop.clock.now
        one.setDeadline(in: .milliseconds(3))
        #expect(await failure { try await one.readable() } == .timedOut)
        #expect(loop.clock.now - start >= 3_000_000)
        #expect(one.isOpen)
      }
    }
  }

  @Test("ends a write that the peer does not take")
  func endsWriting() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        let error = await failure {
          try await one.write(pattern(4 << 20), stall: .milliseconds(5))
        }
        #expect(error == .timedOut)
        // A later write may take its time again.
        _ = try await read(one.sent, from: other)
        try await one.write([1], stall: .seconds(30))
      }
    }
  }

  @Test("is told to the delegate while no task waits, once")
  func delegate() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, _ in
        let witness = Witness()
        one.delegate = witness
        one.setDeadline(in: .milliseconds(1))
        await loop.sleep(for: .milliseconds(6))
        #expect(witness.deadlines == 1)
        one.setDeadline(in: .milliseconds(1))
        await loop.sleep(for: .milliseconds(6))
        #expect(witness.deadlines == 2)
      }
    }
  }

  @Test("that was taken back or moved back is not told at its first time")
  func moved() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, _ in
        let witness = Witness()
        one.delegate = witness
        one.setDeadline(in: .milliseconds(1))
        one.setDeadline(nil)
        await loop.sleep(for: .milliseconds(6))
        #expect(witness.deadlines == 0)
        one.setDeadline(in: .milliseconds(1))
        one.setDeadline(in: .seconds(3600))
        await loop.sleep(for: .milliseconds(6))
        #expect(witness.deadlines == 0)
      }
    }
  }

  @Test("that was brought forward is told at its new time, and not again at its old one")
  func broughtForward() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, _ in
        let witness = Witness()
        one.delegate = witness
        one.setDeadline(in: .milliseconds(8))
        one.setDeadline(in: .milliseconds(1))
        await loop.sleep(for: .milliseconds(6))
        #expect(witness.deadlines == 1)
        await loop.sleep(for: .milliseconds(10))
        #expect(witness.deadlines == 1)
      }
    }
  }

  @Test("of centuries never comes", arguments: [Duration.seconds(Int64.max), .seconds(9_223_372_036)])
  func centuries(duration: Duration) async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, _ in
        let witness = Witness()
        one.delegate = witness
        one.setDeadline(in: duration)
        await loop.sleep(for: .milliseconds(3))
        #expect(witness.deadlines == 0)
      }
    }
  }

  @Test("that only moves back costs the loop one timer")
  func oneTimer() async throws {
    try await onLoop { loop in
      try await withPair(on: loop) { one, _ in
        for second in 60..<160 { one.setDeadline(in: .seconds(second)) }
        #expect(loop.timers.count == 1)
      }
    }
  }

  @Test("of a stream that is closed is told to nobody")
  func closed() async throws {
    try await onLoop { loop in
      let (one, other) = try makePair(on: loop)
      let witness = Witness()
      one.delegate = witness
      one.setDeadline(in: .milliseconds(1))
      one.close()
      other.close()
      try await withPair(on: loop) { successor, _ in
        let heir = Witness()
        successor.delegate = heir
        await loop.sleep(for: .milliseconds(6))
        #expect(witness.deadlines == 0 && heir.deadlines == 0)
      }
    }
  }
}
