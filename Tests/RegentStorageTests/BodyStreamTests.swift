// One writer, many readers: the same bytes for all, back-pressure, bounded memory, and no early end that looks clean.

import RegentLoop
import Testing

@testable import RegentStorage

@Suite("A body")
struct BodyStreamTests {
  @Test(
    "gives every reader the same bytes, whatever its pace and whether it is kept", arguments: [true, false])
  func manyReaders(isKept: Bool) async throws {
    let total = 500_000
    let stream = BodyStream(expected: total, window: 10_000)
    if isKept { #expect(stream.keep(limit: total, account: nil)) }
    let readers = (0..<6).compactMap { _ in stream.makeReader() }
    #expect(readers.count == 6)
    let whole = pattern(0..<total)
    await withTaskGroup { group in
      group.addTask { await write(whole, to: stream, seed: 1) }
      for (pace, reader) in readers.enumerated() {
        group.addTask {
          let read = await readAll(reader, upTo: [1 << 20, 7_000, 999, 65_536, 5_000, 31_000][pace])
          #expect(read == .success(whole))
        }
      }
    }
    #expect(stream.total == total && stream.isFinished)
  }

  @Test("that is kept and finished is read again, and by many at once")
  func rereads() async throws {
    let stream = BodyStream(whole: (0..<100).map { Slice(pattern(($0 * 5000)..<($0 * 5000 + 5000))) })
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          guard let reader = stream.makeReader() else { return #expect(Bool(false), "no reader") }
          #expect(await readAll(reader, upTo: 123_456) == .success(pattern(0..<500_000)))
        }
      }
    }
    let reader = try #require(stream.makeReader())
    #expect(try await reader.next(maxSlices: 64)?.count == 64)
    #expect(try await reader.next(maxSlices: 64)?.count == 36)
    #expect(try await reader.next() == nil)
    #expect(try await reader.next() == nil)
  }

  @Test("of no bytes has an end")
  func emptyBody() async throws {
    let stream = BodyStream(expected: 0)
    let reader = try #require(stream.makeReader())
    #expect(stream.tryAppend(Slice([])) == .accepted)
    stream.finish()
    #expect(try await reader.next() == nil)
  }

  @Test("joins what was appended piece by piece from one block into one slice")
  func coalesces() async throws {
    let stream = BodyStream(expected: nil)
    let block = Block(capacity: 10_000)
    for start in stride(from: 0, to: 10_000, by: 100) {
      let piece = pattern(start..<(start + 100))
      let span = piece.span
      block.append(span)
      #expect(stream.tryAppend(Slice(block, start..<(start + 100))) == .accepted)
    }
    stream.finish()
    let slices = try #require(try await stream.makeReader()?.next())
    #expect(slices.flatMap(\.bytes) == pattern(0..<10_000))
    // The first hundred bytes are dust, gathered elsewhere; so at most a handful of slices.
    #expect(slices.count <= 10)
  }

  @Test("made of single bytes costs little more than its bytes")
  func dust() async throws {
    let stream = BodyStream(expected: nil)
    let account = ByteBudget(limit: 1 << 20)
    #expect(stream.keep(limit: 1 << 20, account: account))
    for index in 0..<100_000 { #expect(stream.tryAppend(Slice(pattern(index..<(index + 1)))) == .accepted) }
    stream.finish()
    #expect(account.used < 130_000)
    #expect(stream.wholeSlices.flatMap(\.bytes) == pattern(0..<100_000))
  }

  @Test("holds the writer back when the slowest reader is a window behind")
  func backPressure() async throws {
    let stream = BodyStream(expected: nil, window: 4_000)
    let (fast, slow) = (try #require(stream.makeReader()), try #require(stream.makeReader()))
    for step in 0..<2 {
      #expect(stream.tryAppend(Slice(pattern((step * 2000)..<(step * 2000 + 2000)))) == .accepted)
    }
    #expect(stream.tryAppend(Slice([0])) == .full)
    _ = try await fast.next()
    #expect(stream.tryAppend(Slice([0])) == .full)
    _ = try await slow.next(upTo: 1)
    #expect(stream.tryAppend(Slice([0])) == .accepted)
    #expect(stream.tryAppend(Slice([0])) == .full)
    slow.leave()
    #expect(stream.tryAppend(Slice([0])) == .accepted)
  }

  @Test("fills its window before the first reader comes, and then waits")
  func waitsForFirstReader() async throws {
    let stream = BodyStream(expected: nil, window: 2_000)
    #expect(await stream.append(Slice(pattern(0..<2000))) == .accepted)
    #expect(stream.tryAppend(Slice([1])) == .full)
    async let appended = stream.append(Slice([1]))
    await parked { stream.state.withLock { $0.writer != nil } }
    let reader = try #require(stream.makeReader())
    #expect(try await reader.next()?.count == 1)
    #expect(await appended == .accepted)
  }

  @Test("wakes its writer only when the slowest reader made room")
  func wakesOnRoom() async throws {
    let stream = BodyStream(expected: nil, window: 1000)
    let (fast, slow) = (try #require(stream.makeReader()), try #require(stream.makeReader()))
    #expect(stream.tryAppend(Slice(pattern(0..<1000))) == .accepted)
    async let appended = stream.append(Slice([1]))
    await parked { stream.state.withLock { $0.writer != nil } }
    _ = try await fast.next()
    #expect(stream.state.withLock { $0.writer != nil })
    _ = try await slow.next()
    #expect(await appended == .accepted)
  }

  @Test("takes a fixed window of memory however long it is")
  func boundedMemory() async throws {
    let stream = BodyStream(expected: nil, window: 64 << 10)
    let reader = try #require(stream.makeReader())
    async let written: Void = {
      for _ in 0..<2000 { _ = await stream.append(Slice(Block.zeroes(16 << 10))) }
      stream.finish()
    }()
    var (read, most) = (0, 0)
    while let slices = try await reader.next(upTo: 20_000) {
      read += slices.reduce(0) { $0 + $1.count }
      most = max(most, stream.state.withLock { $0.chunks.cost })
    }
    await written
    #expect(read == 2000 * (16 << 10))
    #expect(most < 128 << 10)
    #expect(stream.makeReader() == nil)
  }

  @Test("drops, and frees, what all have read and nobody keeps")
  func dropsRead() async throws {
    let stream = BodyStream(expected: nil)
    let (one, two) = (try #require(stream.makeReader()), try #require(stream.makeReader()))
    for step in 0..<10 { _ = stream.tryAppend(Slice(pattern((step * 2000)..<(step * 2000 + 2000)))) }
    _ = try await one.next()
    #expect(stream.state.withLock { $0.chunks.start } == 0)
    _ = try await two.next(upTo: 5000)
    #expect(stream.state.withLock { $0.chunks.start } == 4000)
    two.leave()
    #expect(stream.state.withLock { $0.chunks.cost } == 0)
    #expect(stream.makeReader() == nil)
  }

  @Test("tells every reader of its failure, after the bytes before it", arguments: [true, false])
  func failureReachesAll(isKept: Bool) async throws {
    let stream = BodyStream(expected: nil)
    if isKept { #expect(stream.keep(limit: 1 << 20, account: nil)) }
    let readers = (0..<3).compactMap { _ in stream.makeReader() }
    #expect(stream.tryAppend(Slice(pattern(0..<3000))) == .accepted)
    await withTaskGroup { group in
      for reader in readers {
        group.addTask { #expect(await readAll(reader, upTo: 1000) == .failure(.originTimedOut)) }
      }
      group.addTask { stream.fail(.originTimedOut) }
    }
    #expect(await stream.completion() == .failed(.originTimedOut))
    #expect(!stream.isFinished && !stream.isWhole)
    #expect(stream.tryAppend(Slice([1])) == .abandoned)
    stream.finish()
    #expect(!stream.isFinished)
  }

  @Test(
    "that does not have its announced length never ends cleanly",
    arguments: [
      (2, BodyFailure.originClosedEarly), (4, .malformed),
    ])
  func wrongLength(count: Int, failure: BodyFailure) async throws {
    let stream = BodyStream(expected: 3)
    let reader = try #require(stream.makeReader())
    #expect(stream.keep(limit: 100, account: nil))
    #expect(stream.tryAppend(Slice(pattern(0..<count))) == .accepted)
    stream.finish()
    #expect(await readAll(reader, upTo: 100) == .failure(failure))
    #expect(await stream.completion() == .failed(failure))
  }

  @Test("whose writer is dropped before it finished has failed")
  func droppedWriter() async throws {
    let stream = BodyStream(expected: nil)
    let reader = try #require(stream.makeReader())
    #expect(stream.makeWriter().tryAppend(Slice([1])) == .accepted)
    #expect(await readAll(reader, upTo: 100) == .failure(.aborted))
    let finished = BodyStream(expected: nil)
    finished.makeWriter().finish()
    #expect(finished.isFinished)
  }

  @Test("is abandoned when all readers left and nobody keeps it")
  func abandoned() async throws {
    let stream = BodyStream(expected: nil, window: 1000)
    let (one, two) = (try #require(stream.makeReader()), try #require(stream.makeReader()))
    #expect(stream.tryAppend(Slice(pattern(0..<1000))) == .accepted)
    async let waiting = stream.append(Slice([1]))
    await parked { stream.state.withLock { $0.writer != nil } }
    one.leave()
    two.leave()
    #expect(await waiting == .abandoned)
    #expect(stream.state.withLock { $0.chunks.cost } == 0)
  }

  @Test("is abandoned when its last reader is dropped")
  func droppedReader() {
    let stream = BodyStream(expected: nil)
    _ = stream.makeReader()
    #expect(stream.tryAppend(Slice([1])) == .abandoned)
  }
}
