// The same with a real folder, the writer's thread, and all tasks at once: no wake-up is lost, and no byte.

import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("Many at once at a body that goes to the disk")
struct SpillRaceTests {
  @Test("get all of it, fast, slow, late, and in the end", .timeLimit(.minutes(10)), arguments: 0..<6)
  func race(round: Int) async throws {
    let seed = SeededGenerator.anySeed()
    let folder = try TemporaryFolder()
    let pool = try BlockingPool(name: "disk-test", threads: 2)
    let store = try DiskStore.open(
      path: folder.path, options: .small(segment: 128 << 10), pool: pool, clock: .read())
    let fill = try #require(store.fill(store.key(bytes("key")), variant: 0))
    let total = 1_000_000
    let stream = BodyStream(expected: total, window: 10_000)
    let spill = try #require(stream.spill(to: fill))
    let patient = try #require(stream.makeReader())
    let whole = pattern(0..<total)
    let isWhole = await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        await write(whole, to: stream, seed: seed)
        return true
      }
      group.addTask {
        guard await spill.takeAll(), stream.isFinished else { return false }
        spill.reader.leave()
        return await withCheckedContinuation { continuation in
          let isTaken = fill.commit(head: []) { continuation.resume(returning: $0) }
          #expect(isTaken)
        }
      }
      group.addTask {
        // It begins when nothing more comes: it has held nobody back.
        while !stream.hasEnded { await Task.yield() }
        return await readAll(patient, upTo: 70_000) == .success(whole)
      }
      for pace in 0..<6 {
        group.addTask { await read(stream, from: pace * 150_000, pace, seed) == .success(whole) }
      }
      return await group.allSatisfy { $0 }
    }
    #expect(isWhole && stream.isFinished, "seed \(seed)")
    #expect(await store.get("key")?.body == whole)
    store.close(clock: .read())
  }

  /// Joins once so much has come, and reads at some pace.
  private func read(_ stream: BodyStream, from start: Int, _ pace: Int, _ seed: UInt64) async
    -> Result<[UInt8], BodyFailure>
  {
    var random = SeededGenerator(seed: seed &+ UInt64(pace))
    while stream.total < start { await Task.yield() }
    guard let reader = stream.makeReader() else { return .failure(.outpaced) }
    var read: [UInt8] = []
    do throws(BodyFailure) {
      while let slices = try await reader.next(upTo: Int.random(in: 1...60_000, using: &random)) {
        for slice in slices { slice.copy(onto: &read) }
        for _ in 0..<Int.random(in: 0...pace * 20, using: &random) { await Task.yield() }
      }
      return .success(read)
    } catch {
      return .failure(error)
    }
  }

  @Test("a fill that is let go of, and its body, are not kept alive by one another")
  func lettingGo() throws {
    let store = try DiskStore.on(FaultyDisk())
    weak var gone: BodyStream?
    do {
      let stream = BodyStream(expected: nil)
      gone = stream
      let fill = try #require(store.fill(store.key(bytes("a")), variant: 0))
      let spill = try #require(stream.spill(to: fill))
      #expect(stream.tryAppend(Slice(pattern(0..<5000))) == .accepted)
      withExtendedLifetime(spill) {}
    }
    #expect(gone == nil)
    let stream = BodyStream(expected: nil)
    let reader = try #require(stream.makeReader())
    do {
      let fill = try #require(store.fill(store.key(bytes("a")), variant: 0))
      let spill = stream.spill(to: fill)
      #expect(spill != nil && stream.state.withLock { $0.extents?.isOpen } == true)
    }
    #expect(stream.state.withLock { $0.extents?.isOpen } == false)
    #expect(stream.state.withLock { $0.readers.live } == 1)
    withExtendedLifetime(reader) {}
  }
}
