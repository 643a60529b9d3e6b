// What a disk store does when all goes well: storing, finding, replacing, removing, streaming, and starting again.

import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("A disk store") struct DiskStoreTests {
  static let sizes = [0, 1, 4095, 4096, 65_536, 65_537, 300_000, 900_000]

  @Test("hands out what it took, before and after a restart", arguments: sizes)
  func keeps(count: Int) async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    #expect(store.put("key", pattern(0..<count), head: "head"))
    #expect(await store.get("key") == nil, "nothing is found before it was written")
    store.step()
    try await DiskStoreTests.expect(store, count)
    store.shut()
    try await DiskStoreTests.expect(try DiskStore.on(disk), count)
  }

  static func expect(_ store: DiskStore, _ count: Int) async throws {
    let found = try #require(await store.get("key"))
    #expect(found.head == "head" && found.body == pattern(0..<count))
    #expect(await store.get("other") == nil)
  }

  @Test(
    "writes zeros up to the end of a piece of the page cache that it is the first in, once, and to no other bytes"
  )
  func pieces() async throws {
    let (disk, piece) = (FaultyDisk(), 256 << 10)
    var options = DiskOptions.small(budget: 8 << 20, segment: 2 << 20)
    options.pagePiece = piece
    let store = try DiskStore.on(disk, options)
    func put(_ key: String, _ count: Int) throws -> [UInt8] {
      #expect(store.put(key, pattern(0..<count), head: "head"))
      store.step()
      return try #require(disk.content(DiskName.segment(1)))
    }
    #expect(try put("first", 10).count == 2 << 20)
    disk.mutate(DiskName.segment(1)) {
      for place in 8192..<$0.count { $0[place] = 0xAA }
    }
    #expect(try put("one", 100_000)[120_000...].allSatisfy { $0 == 0xAA }, "the piece was written to before")
    #expect(try put("two", 100_000)[220_000...].allSatisfy { $0 == 0xAA })
    let last = try put("three", 100_000)
    #expect(
      last[320_000..<2 * piece].allSatisfy { $0 == 0 } && last[(2 * piece)...].allSatisfy { $0 == 0xAA })
    for key in ["one", "two", "three"] { #expect(await store.get(key)?.body == pattern(0..<100_000)) }
    store.shut()
    #expect(try #require(disk.content(DiskName.segment(1))).count < 320_000)
  }

  @Test("keeps a key's variants apart, finds by head, and replaces the one that is the same")
  func variants() async throws {
    let store = try DiskStore.on(FaultyDisk())
    for variant in 0..<3 as Range<UInt32> {
      store.put("key", pattern(0..<100), head: "v\(variant)", variant: variant)
    }
    store.put("key", pattern(0..<200), head: "v1 again", variant: 1)
    store.step()
    let key = store.key(bytes("key"))
    let heads = await store.records(key, now: 0).map { text($0.head) }
    #expect(heads == ["v1 again", "v2", "v0"])
    let found = await store.lookup(key, now: 0) { text($0) == "v0" }
    #expect(found?.bodyCount == 100)
    for variant in 3..<50 as Range<UInt32> { store.put("key", [], variant: variant) }
    store.step()
    #expect(await store.records(key, now: 0, limit: 100).count == 32)
    #expect(store.statistics.entries == 32)
  }

  @Test("never takes one key for another, though all hashes are the same")
  func collisions() async throws {
    let store = try DiskStore.on(FaultyDisk())
    let keys = (0..<20).map { RecordKey(bytes("key \($0)"), hash: 77) }
    for (number, key) in keys.enumerated() {
      _ = store.insert(key, variant: UInt32(number), head: bytes("\(number)"), body: [])
      store.step()
      for other in keys[...number] {
        let found = await store.lookup(other, now: 0)
        #expect(found.map { $0.key.bytes } == other.bytes)
      }
      for other in keys[(number + 1)...] { #expect(await store.lookup(other, now: 0) == nil) }
    }
  }

  @Test(
    "gives a new head to a stored body, of whatever length, also after a restart",
    arguments: [10, 30_000, 600_000])
  func updates(count: Int) async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    store.put("key", pattern(0..<count), head: "old")
    store.step()
    let written = store.statistics.writtenBytes
    let record = try #require(await store.lookup(store.key(bytes("key")), now: 0))
    #expect(store.update(record, head: bytes("new")))
    #expect(store.update(record, head: bytes("too late")))
    store.step()
    #expect(store.statistics.writtenBytes - written < 5000, "the body is not written again")
    let found = try #require(await store.get("key"))
    #expect(found.head == "new" && found.body == pattern(0..<count))
    store.shut()
    let again = try #require(await DiskStore.on(disk).get("key"))
    #expect(again.head == "new" && again.body == pattern(0..<count))
  }

  @Test("a removal takes what is there and what was begun before, and outlives a restart")
  func removals() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    store.put("key", [1])
    store.put("other", [2])
    store.step()
    let key = store.key(bytes("key"))
    let before = store.mark(key)
    store.put("key", [3])
    let after = store.invalidate(key)
    #expect(after.isNext(after: before))
    #expect(await store.get("key") == nil)
    store.step()
    #expect(await store.get("key") == nil, "what was still to be written is void")
    store.put("key", [4], since: before)
    store.step()
    #expect(await store.get("key") == nil)
    store.put("key", [5], since: after)
    store.step()
    #expect(await store.get("key")?.body == [5])
    store.invalidate(store.key(bytes("other")))
    store.step()
    #expect(store.isKept)
    var random = SeededGenerator(seed: 0)
    disk.restart(losingPower: false, &random)
    let again = try DiskStore.on(disk)
    #expect(await again.get("key")?.body == [5])
    #expect(await again.get("other") == nil)
    again.removeAll()
    again.step()
    #expect(await again.get("key") == nil)
    again.shut()
    #expect(try await DiskStore.on(disk).get("key") == nil)
  }

  @Test("a removal between the writing of a response and its publishing is not undone by a restart")
  func removalWhileWriting() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    let key = store.key(bytes("key"))
    // The body is on the disk when the removal comes; then only the end is missing.
    let fill = try #require(store.fill(key, variant: 0))
    #expect(fill.tryAppend(Slice(pattern(0..<300_000))) == .accepted)
    store.step()
    store.invalidate(key)
    #expect(fill.commit(head: []))
    store.step()
    #expect(await store.get("key") == nil)
    #expect(store.statistics.outdated == 1)
    store.shut()
    #expect(try await DiskStore.on(disk).get("key") == nil)
  }

  @Test("streams a body of any length through, and is read from any byte on")
  func fill() async throws {
    let store = try DiskStore.on(FaultyDisk(), .small(budget: 16 << 20, segment: 1 << 20))
    let key = store.key(bytes("big"))
    let fill = try #require(store.fill(key, variant: 0))
    for part in 0..<10 {
      #expect(fill.tryAppend(Slice(pattern(part * 100_000..<(part + 1) * 100_000))) == .accepted)
      store.step()
    }
    #expect(await store.get("big") == nil, "what is not whole is not found")
    #expect(store.statistics.fills == 1)
    #expect(fill.commit(head: bytes("head")))
    store.step()
    #expect(store.statistics.fills == 0 && store.statistics.fillsGivenUp == 0)
    #expect(await store.get("big")?.body == pattern(0..<1_000_000))
    let record = try #require(await store.lookup(key, now: 0))
    #expect(record.body == nil, "a large body is in memory")
    // What was read before it was promised is handed out once, in pieces of any length.
    for limit in [1000, 50_000, 1 << 20] {
      #expect(await record.open())
      let reader = record.makeReader()
      var read: [UInt8] = []
      #expect(try await reader.next(upTo: 700)?.count == 700)
      while let slice = try await reader.next(upTo: limit) { read += slice.bytes }
      #expect(read == pattern(700..<1_000_000))
    }
    for range in [0..<1, 65_535..<65_537, 262_143..<600_001, 999_999..<1_000_000] {
      let reader = record.makeReader(range)
      var read: [UInt8] = []
      while let slice = try await reader.next(upTo: 50_000) { read += slice.bytes }
      #expect(read == pattern(range))
    }
  }

  @Test("a body that is given up is never found")
  func abandoned() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    do {
      let fill = try #require(store.fill(store.key(bytes("key")), variant: 0))
      _ = fill.tryAppend(Slice(pattern(0..<200_000)))
      store.step()
      fill.fail()
      #expect(!fill.commit(head: []))
      let left = try #require(store.fill(store.key(bytes("key")), variant: 0))
      #expect(left.tryAppend(Slice(pattern(0..<200_000))) == .accepted && store.statistics.fills == 1)
    }
    store.step()
    #expect(store.statistics.fills == 0 && store.statistics.fillsGivenUp == 2)
    store.shut()
    #expect(try await DiskStore.on(disk).get("key") == nil)
  }

  @Test("refuses what its queue has no room for, and counts it")
  func queue() async throws {
    var options = DiskOptions.small()
    options.queueLimit = 100_000
    let store = try DiskStore.on(FaultyDisk(), options)
    let accepted = (0..<10).count { store.put("key \($0)", pattern(0..<30_000)) }
    #expect(accepted == 3 && store.statistics.refusals == 7)
    store.step()
    #expect(store.put("later", pattern(0..<30_000)))
    store.step()
    #expect(store.statistics.entries == 4 && store.statistics.queuedBytes == 0)
  }

  @Test("keeps its budget at every moment, and what is used outlives what is not")
  func budget() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk, .small(budget: 2 << 20, segment: 128 << 10))
    for number in 0..<1000 {
      store.put("key \(number)", pattern(0..<8000))
      store.step()
      #expect(disk.totalBytes <= 2 << 20)
      if number % 20 == 0 { #expect(await store.get("key 0")?.body == pattern(0..<8000), "after \(number)") }
    }
    let figures = store.statistics
    #expect(figures.evictions > 20 && figures.reinsertions > 3 && figures.bytes <= figures.budget)
    #expect(figures.writeAmplification > 1 && figures.writeAmplification < 1.1)
    #expect(await store.get("key 1") == nil)
    #expect(await store.get("key 999") != nil)
    #expect(figures.entries < 250 && figures.entries > 150)
  }

  @Test("a body whose segment goes is read to its end by who began to")
  func evictedWhileRead() async throws {
    let store = try DiskStore.on(FaultyDisk(), .small(budget: 2 << 20, segment: 256 << 10))
    store.put("big", pattern(0..<500_000))
    store.step()
    let record = try #require(await store.lookup(store.key(bytes("big")), now: 0))
    let reader = record.makeReader()
    var read = try #require(try await reader.next()).bytes
    for number in 0..<500 {
      store.put("key \(number)", pattern(0..<8000))
      store.step()
    }
    #expect(await store.get("big") == nil)
    while let slice = try await reader.next() { read += slice.bytes }
    #expect(read == pattern(0..<500_000))
  }

  @Test("works with a thread of its own, and a removal is durable when it says so")
  func threaded() async throws {
    let folder = try TemporaryFolder()
    let pool = try BlockingPool(name: "disk-test", threads: 2)
    let options = DiskOptions.small()
    let store = try DiskStore.open(path: folder.path, options: options, pool: pool, clock: .read())
    let key = store.key(bytes("key"))
    let isFound = await withCheckedContinuation { continuation in
      let isTaken = store.insert(key, variant: 0, head: [], body: [Slice(pattern(0..<70_000))]) {
        continuation.resume(returning: $0)
      }
      #expect(isTaken)
    }
    #expect(isFound)
    #expect(await store.get("key")?.body == pattern(0..<70_000))
    #expect(throws: DiskOpenFailure.inUse) {
      try DiskStore.open(path: folder.path, options: options, pool: pool, clock: .read())
    }
    store.invalidate(key)
    #expect(await store.durable())
    store.close(clock: .read())
    // Another test's program, on its way from fork to exec, holds the lock of the first one a moment longer.
    var again: DiskStore?
    for _ in 0..<100_000 where again == nil {
      do throws(DiskOpenFailure) {
        again = try DiskStore.open(path: folder.path, options: options, pool: pool, clock: .read())
      } catch {
        #expect(error == .inUse)
        await Task.yield()
      }
    }
    #expect(try await #require(again).get("key") == nil)
    again?.close(clock: .read())
    #expect(await again?.durable() == false)
  }
}
