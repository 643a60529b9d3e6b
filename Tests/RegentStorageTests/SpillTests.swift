// A body that is written to the disk as it arrives: slow readers hold nobody back and make no memory grow, late ones find the
// beginning, and whatever befalls the disk, nobody gets a wrong byte.

import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("A body that is written to the disk as it arrives")
struct SpillTests {
  /// Lets the body arrive, and the disk write it, as far as that goes.
  private func fill(_ scene: SpillScene, upTo end: Int? = nil) {
    let end = end ?? scene.total
    var before = -1
    while scene.written < end, scene.written != before {
      before = scene.written
      scene.append(min(10_000, end - scene.written))
      scene.feed()
      scene.store.step()
      scene.check()
    }
  }

  @Test("is not held back by a reader that reads nothing, who then gets all of it")
  func slowReader() async throws {
    let scene = try SpillScene(total: 900_000)
    scene.join()
    fill(scene)
    #expect(scene.written == scene.total)
    scene.stream.finish()
    await scene.runOut()
    #expect(scene.committed == true && scene.readers[0].diskReads > 10)
    #expect(scene.readers[0].position == scene.total)
    #expect(await scene.store.get("key")?.body == pattern(0..<scene.total))
  }

  @Test("is read from memory by whoever keeps up: the disk is not touched")
  func fastReader() async throws {
    let scene = try SpillScene(total: 900_000)
    scene.join()
    // No read succeeds.
    scene.disk.fail("read", 5)
    var before = -1
    while scene.written != before {
      before = scene.written
      scene.append(10_000)
      scene.feed()
      scene.store.step()
      while await scene.read(0, upTo: 4000) {}
    }
    scene.stream.finish()
    await scene.runOut()
    #expect(scene.written == scene.total && scene.readers[0].diskReads == 0)
  }

  @Test("is read from its first byte by whoever comes late, and by memory again once that is reached")
  func lateReader() async throws {
    let scene = try SpillScene(total: 900_000)
    scene.join()
    fill(scene, upTo: 600_000)
    while await scene.read(0, upTo: 50_000) {}
    #expect(scene.state.chunks.start > 300_000)
    scene.join()
    let late = scene.readers[1]
    while await scene.read(1, upTo: .max) {}
    #expect(late.position == 600_000 && late.diskReads > 0)
    let reads = late.diskReads
    scene.append(10_000)
    #expect(await scene.read(1, upTo: .max) && late.diskReads == reads)
    await scene.runOut()
  }

  @Test("that is not longer than an extent stays in memory until it is stored", arguments: [0, 1, 32 << 10])
  func short(count: Int) async throws {
    let scene = try SpillScene(total: count)
    scene.join()
    fill(scene)
    #expect(scene.written == count)
    scene.stream.finish()
    scene.feed()
    scene.store.step()
    #expect(scene.committed == true && !scene.isOpen)
    await scene.runOut()
    #expect(scene.readers[0].diskReads == 0)
    #expect(await scene.store.get("key")?.body == pattern(0..<count))
  }

  @Test("lets go of memory when all of it is on the disk, but for the window")
  func release() async throws {
    let scene = try SpillScene(total: 900_000)
    scene.join()
    fill(scene)
    scene.stream.finish()
    scene.feed()
    scene.store.step()
    #expect(scene.committed == true && !scene.isOpen)
    #expect(scene.state.chunks.end - scene.state.chunks.start <= SpillScene.window + SpillScene.largestSlice)
    await scene.runOut()
  }

  @Test("whose disk is full goes on: what was written is read from there, and then its window holds")
  func diskFull() async throws {
    let scene = try SpillScene(total: 900_000)
    scene.join()
    scene.join()
    fill(scene, upTo: 500_000)
    let stored = scene.state.extents?.end ?? 0
    #expect(stored > 400_000)
    scene.disk.fail("write", 28)
    fill(scene)
    #expect(!scene.isOpen && scene.fillHasEnded)
    // The slow readers hold it back now.
    #expect(scene.written < scene.total && scene.stream.tryAppend(Slice([1])) == .full)
    #expect(scene.stream.makeReader() != nil)
    while await scene.read(0, upTo: .max) {}
    #expect(scene.readers[0].position == scene.written && scene.readers[0].diskReads > 0)
    #expect(scene.stream.tryAppend(Slice([1])) == .full)
    scene.leave(1)
    await scene.runOut()
    #expect(scene.written == scene.total && scene.committed == nil)
    #expect(await scene.store.get("key") == nil)
  }

  @Test("that is abandoned by all but the disk is stored")
  func onlyDisk() async throws {
    let scene = try SpillScene(total: 300_000)
    scene.join()
    fill(scene, upTo: 100_000)
    scene.leave(0)
    fill(scene)
    scene.stream.finish()
    scene.feed()
    scene.store.step()
    #expect(await scene.store.get("key")?.body == pattern(0..<300_000))
  }

  @Test("that nobody reads, and no disk takes any more, is abandoned")
  func abandoned() throws {
    let scene = try SpillScene(total: 300_000)
    scene.disk.fail("write", 28)
    fill(scene)
    #expect(scene.stream.tryAppend(Slice([1])) == .abandoned)
  }

  @Test("that fails is not stored, and its readers get what came and then the failure")
  func broken() async throws {
    let scene = try SpillScene(total: 900_000)
    scene.join()
    fill(scene, upTo: 500_000)
    scene.failure = .originClosedEarly
    scene.stream.fail(.originClosedEarly)
    await scene.runOut()
    #expect(scene.committed == nil && scene.fillHasEnded)
    #expect(await scene.store.get("key") == nil)
  }

  @Test("that is refuted is read to its end, and not stored")
  func refuted() async throws {
    let scene = try SpillScene(total: 500_000)
    scene.join()
    fill(scene)
    scene.stream.refute()
    await scene.runOut()
    #expect(scene.committed == nil && scene.readers[0].position == 500_000)
    #expect(await scene.store.get("key") == nil)
  }

  @Test("whose memory is kept as well drops nothing, until that is too much")
  func kept() async throws {
    let scene = try SpillScene(total: 900_000)
    scene.join()
    #expect(scene.stream.keep(limit: 400_000, account: nil))
    for _ in 0..<40 {
      scene.append(10_000)
      scene.feed()
      scene.store.step()
    }
    #expect(scene.written == 400_000 && scene.state.chunks.start == 0)
    scene.append(10_000)
    #expect(!scene.stream.isKept && scene.state.chunks.start > 200_000)
    await scene.runOut()
    #expect(scene.readers[0].diskReads > 0)
  }

  @Test("is whole in memory and on the disk, where both keep it, and holds no segment")
  func bothKeep() async throws {
    let scene = try SpillScene(total: 300_000)
    #expect(scene.stream.keep(limit: 400_000, account: nil))
    fill(scene)
    scene.stream.finish()
    scene.feed()
    scene.store.step()
    #expect(scene.stream.isWhole && scene.state.extents == nil && scene.committed == true)
    #expect(scene.stream.wholeSlices.flatMap(\.bytes) == pattern(0..<300_000))
    #expect(await scene.store.get("key")?.body == pattern(0..<300_000))
  }

  @Test("goes on without a disk that takes too long, once the writer waits for it")
  func slowDisk() async throws {
    let scene = try SpillScene(total: 900_000)
    scene.join()
    // The disk does nothing, and nobody waits for it yet.
    #expect(scene.stream.diskPassed() && scene.stream.diskPassed() && scene.isOpen)
    var before = -1
    while scene.written != before {
      before = scene.written
      scene.append(10_000)
      scene.feed()
      while await scene.read(0, upTo: .max) {}
    }
    #expect(scene.written < scene.total)
    let stream = scene.stream
    async let appended = stream.append(Slice(pattern(before..<before + 1)))
    await parked { stream.state.withLock { $0.writer != nil } }
    // What the writer waits for now may have been asked of the disk a moment ago.
    #expect(scene.stream.diskPassed() && scene.isOpen)
    scene.mayOutpace = true
    #expect(!scene.stream.diskPassed() && !scene.isOpen)
    #expect(await appended == .accepted)
    scene.feed()
    #expect(scene.fillHasEnded)
    scene.noteWritten(1)
    await scene.runOut()
    #expect(scene.written == scene.total && scene.readers[0].diskReads == 0 && scene.committed == nil)
  }

  @Test("whose writer waits for the disk is woken by it")
  func wakesWriter() async throws {
    let scene = try SpillScene(total: 900_000)
    scene.join()
    var before = -1
    while scene.written != before {
      before = scene.written
      scene.append(10_000)
      scene.feed()
    }
    let stream = scene.stream
    async let appended = stream.append(Slice(pattern(before..<before + 1)))
    await parked { stream.state.withLock { $0.writer != nil } }
    scene.store.step()
    #expect(await appended == .accepted)
    scene.noteWritten(1)
    await scene.runOut()
  }

  @Test("cannot be written to the disk from the middle, twice, or after it failed")
  func tooLate() throws {
    let store = try DiskStore.on(FaultyDisk())
    func fill() throws -> DiskFill { try #require(store.fill(store.key(bytes("a")), variant: 0)) }
    let dropped = BodyStream(expected: nil)
    let reader = try #require(dropped.makeReader())
    _ = dropped.tryAppend(Slice(pattern(0..<5000)))
    _ = try reader.available()
    #expect(dropped.makeReader() == nil)
    let late = try fill()
    #expect(dropped.spill(to: late) == nil)
    let failed = BodyStream(expected: nil)
    failed.fail(.aborted)
    #expect(failed.spill(to: late) == nil)
    #expect(BodyStream(refuted: [Slice([1])]).spill(to: late) == nil)
    let twice = BodyStream(expected: nil)
    let first = twice.spill(to: try fill())
    #expect(first != nil && twice.spill(to: late) == nil)
  }

  @Test("of which the disk gives back something else breaks off: nobody gets a wrong byte")
  func damage() async throws {
    let scene = try SpillScene(total: 600_000)
    scene.join()
    fill(scene)
    scene.stream.finish()
    scene.mayDamage = true
    for name in scene.disk.allNames where name.hasSuffix("segment") {
      scene.disk.mutate(name) { content in
        for index in stride(from: 60_000, to: content.count, by: 30_000) { content[index] ^= 1 }
      }
    }
    await scene.runOut()
    #expect(scene.readers[0].position < 600_000)
  }

  @Test("gives every reader its bytes or a failure, whatever comes in whatever order", arguments: 0..<40)
  func anyOrder(round: Int) async throws {
    let seed = SeededGenerator.anySeed()
    var random = SeededGenerator(seed: seed)
    let scene = try SpillScene(
      total: Int.random(in: 0...900_000, using: &random),
      budget: Bool.random(using: &random) ? 4 << 20 : 1 << 20)
    let hasTrouble = round % 2 == 1
    scene.join()
    for _ in 0..<Int.random(in: 0...600, using: &random) {
      await step(scene, hasTrouble, &random)
      scene.check()
    }
    scene.disk.fail("read", nil)
    await scene.runOut()
    if scene.readers.contains(where: \.isWrong) { Issue.record("seed \(seed)") }
  }

  private func step(_ scene: SpillScene, _ hasTrouble: Bool, _ random: inout SeededGenerator) async {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<40: scene.append(Int.random(in: 1...SpillScene.largestSlice, using: &random))
    case 40..<60: scene.feed()
    case 60..<72: scene.store.step()
    case 72..<90:
      guard let index = scene.readers.indices.randomElement(using: &random) else { return }
      await scene.read(index, upTo: Int.random(in: 1...100_000, using: &random))
    case 90..<93: if scene.readers.count < 8 { scene.join() }
    case 93:
      if scene.readers.count > 1, Bool.random(using: &random) {
        scene.leave(Int.random(in: scene.readers.indices, using: &random))
      }
    default: if hasTrouble { trouble(scene, &random) }
    }
  }

  private func trouble(_ scene: SpillScene, _ random: inout SeededGenerator) {
    switch Int.random(in: 0..<60, using: &random) {
    case 0: scene.disk.fail("write", 28)
    case 1: scene.disk.fail("write", nil)
    case 2:
      scene.mayDamage = true
      scene.disk.fail("read", 5)
    case 3, 4: scene.disk.fail("read", nil)
    case 5:
      guard scene.state.end == .open, scene.written > 400_000 else { return }
      scene.failure = .originTimedOut
      scene.stream.fail(.originTimedOut)
    case 6:
      scene.mayOutpace = true
      _ = scene.stream.diskPassed()
    case 7:
      scene.mayOutpace = true
      _ = scene.stream.whilePassed()
    default: break
    }
  }
}
