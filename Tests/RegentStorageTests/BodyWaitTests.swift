// Waits on a body end exactly once, whether by their event or by cancellation.

import RegentLoop
import Testing

@testable import RegentStorage

@Suite("A wait on a body")
struct BodyWaitTests {
  @Test("frees a writer, a reader and a keeper whose task is cancelled while they wait")
  func cancelledWaits() async throws {
    let stream = BodyStream(expected: nil, window: 1000)
    let reader = try #require(stream.makeReader())
    let reading = Task { await readAll(reader, upTo: 100) }
    await parked { stream.state.withLock { $0.readers.parked } == 1 }
    reading.cancel()
    #expect(await reading.value == .failure(.cancelled))
    #expect(stream.tryAppend(Slice(pattern(0..<1000))) == .accepted)
    let writing = Task { await stream.append(Slice([1])) }
    await parked { stream.state.withLock { $0.writer != nil } }
    writing.cancel()
    #expect(await writing.value == .abandoned)
    #expect(stream.total == 1000)
    let keeping = Task { await stream.completion() }
    await parked { stream.state.withLock { $0.awaitingCount } == 1 }
    keeping.cancel()
    #expect(await keeping.value == .failed(.cancelled))
    #expect(stream.state.withLock { $0.awaitingCount + $0.readers.parked } == 0)
  }

  @Test("answers a wait that is cancelled before it begins")
  func cancelledBefore() async throws {
    let stream = BodyStream(expected: nil, window: 1)
    let reader = try #require(stream.makeReader())
    let waits = Task {
      while !Task.isCancelled { await Task.yield() }
      let read = await readAll(reader, upTo: 1)
      _ = stream.tryAppend(Slice([1]))
      return (read, await stream.append(Slice([1])), await stream.completion())
    }
    waits.cancel()
    let answers = await waits.value
    #expect(answers == (.failure(.cancelled), .abandoned, .failed(.cancelled)))
  }

  @Test("survives cancellations that race with its events")
  func racingCancellations() async throws {
    for _ in 0..<300 {
      let stream = BodyStream(expected: nil, window: 1)
      let reader = try #require(stream.makeReader())
      let reading = Task { await readAll(reader, upTo: 1) }
      let writing = Task { [await stream.append(Slice([1])), await stream.append(Slice([2]))] }
      let keeping = Task { await stream.completion() }
      let ending = Task { stream.finish() }
      reading.cancel()
      writing.cancel()
      keeping.cancel()
      _ = await (reading.value, writing.value, keeping.value, ending.value)
      #expect(stream.state.withLock { $0.readers.parked + $0.awaitingCount } == 0)
    }
  }

  @Test("of a body that nobody keeps goes on without a reader that holds the others back for good")
  func leftBehind() async throws {
    let stream = BodyStream(expected: 50_000, window: 1000)
    let fast = try #require(stream.makeReader())
    let slow = try #require(stream.makeReader())
    let whole = pattern(0..<50_000)
    async let writing: Void = write(whole, to: stream, seed: 3)
    async let reading = readAll(fast, upTo: 500)
    for _ in 0..<2 {
      await parked { stream.state.withLock { $0.writer != nil && $0.readers.parked == 1 } }
      #expect(try await slow.next(upTo: 10) != nil)
      #expect(stream.whilePassed())
    }
    await writing
    #expect(await reading == .success(whole))
    await #expect(throws: BodyFailure.outpaced) { try await slow.next() }
    slow.leave()
    #expect(!stream.whilePassed())
  }

  @Test(
    "of a body that nobody keeps waits for a slow reader for as long as that takes, where nobody else does")
  func alone() async throws {
    let stream = BodyStream(expected: 50_000, window: 1000)
    let slow = try #require(stream.makeReader())
    async let writing: Void = write(pattern(0..<50_000), to: stream, seed: 4)
    for _ in 0..<3 {
      await parked { stream.state.withLock { $0.writer != nil } }
      #expect(try await slow.next(upTo: 10) != nil)
      #expect(stream.whilePassed())
    }
    let rest = await readAll(slow, upTo: .max)
    await writing
    #expect(rest == .success(pattern(30..<50_000)))
  }
}
