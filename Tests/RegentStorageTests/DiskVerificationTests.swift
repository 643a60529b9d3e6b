// Bodies that are handed out as parts of their files: only what was verified there, each time or once since the start.

import RegentLoop
import Synchronization
import TestKit
import Testing

@testable import RegentStorage

/// A clock that is moved by hand.
private final class HandClock: Sendable {
  private let time = Atomic<Int64>(1)
  var now: Int64 { time.load(ordering: .relaxed) }
  func advance(by nanoseconds: Int64) { time.add(nanoseconds, ordering: .relaxed) }
}

@Suite("A body that is verified where it lies", .enabled(if: CRC32C.hasInstruction))
struct DiskVerificationTests {
  private let folder: TemporaryFolder
  private let clock = HandClock()
  private let body = (0..<3).flatMap { pattern($0..<1_000_000) } + pattern(0..<3)

  init() throws { folder = try TemporaryFolder() }

  private func store(_ verify: DiskVerification) throws -> DiskStore {
    var options = DiskOptions.small(budget: 32 << 20, segment: 4 << 20)
    options.verify = verify
    options.clock = { [clock] in clock.now }
    return try DiskStore.on(FolderDevice(path: folder.path), options)
  }

  private func put(_ store: DiskStore) {
    store.put("big", body)
    while store.statistics.queuedBytes > 0 { store.step() }
  }

  private func stored(_ store: DiskStore) async throws -> DiskRecord {
    let record = try #require(await store.lookup(store.key(bytes("big")), now: 0))
    #expect(record.body == nil, "a large body is in memory")
    return record
  }

  /// The bytes of a reader, and how many of them came as parts of files.
  private func read(_ reader: DiskBodyReader) async throws -> (bytes: [UInt8], inFiles: Int) {
    var (all, inFiles): ([UInt8], Int) = ([], 0)
    while let next = try await reader.nextOrFile() {
      switch next {
      case .slice(let slice): slice.copy(onto: &all)
      case .file(let part):
        let block = Block(capacity: part.count)
        _ = try part.file.read(part.count, at: part.range.lowerBound, into: block, waits: true)
        Slice(block).copy(onto: &all)
        inFiles += part.count
        reader.sent(part.count, of: part)
      }
    }
    return (all, inFiles)
  }

  @Test("is handed out where it lies, any range of it", arguments: [DiskVerification.once, .always])
  func ranges(verify: DiskVerification) async throws {
    let store = try store(verify)
    put(store)
    let stored = try await stored(store)
    for range in [100_000..<500_000, 70_000..<510_000, 0..<3_000_000, 1..<2_999_999, 1_048_575..<1_048_577] {
      let before = store.statistics.fileBytes
      let found = try await read(stored.makeReader(range))
      #expect(found.bytes == Array(body[range]) && found.inFiles == range.count)
      #expect(store.statistics.fileBytes - before == range.count)
    }
    #expect(await stored.open())
    let all = try await read(stored.makeReader())
    #expect(all.bytes == body && all.inFiles == body.count)
    // What was found good where it lies is read all the same by whoever must have it in memory.
    #expect(await stored.open())
    let reader = stored.makeReader()
    var bytes: [UInt8] = []
    while let slice = try await reader.next() { slice.copy(onto: &bytes) }
    #expect(bytes == body)
    #expect(await stored.open())
    let some = stored.makeReader()
    bytes = []
    while let slice = try await some.next(upTo: 100_000) { slice.copy(onto: &bytes) }
    #expect(bytes == body)
    store.shut()
  }

  @Test("is handed out in smaller parts after a peer took its time")
  func slowPeer() async throws {
    let store = try store(.always)
    put(store)
    let reader = try await stored(store).makeReader()
    guard case .file(let part)? = try await reader.nextOrFile() else {
      Issue.record("nothing lies there")
      return
    }
    #expect(part.count == 1 << 20)
    reader.sent(1000, of: part)
    // Whole blocks are looked at, so each ends where one does.
    for count in [65_536 - 1000, 131_072, 262_144, 524_288, 65_536] {
      guard case .file(let part)? = try await reader.nextOrFile() else {
        Issue.record("nothing lies there")
        return
      }
      #expect(part.count == count)
    }
    #expect(store.statistics.fileBytes == 1000)
    store.shut()
  }

  @Test("is looked at again after a moment with always, and once since the start with once")
  func again() async throws {
    for verify in [DiskVerification.once, .always] {
      let store = try store(verify)
      put(store)
      let stored = try await stored(store)
      #expect(try await read(stored.makeReader()).bytes == body)
      let file = try Folder.open(folder.path + "/v1").file("1.segment", .changing)
      try file.write([0xFF, 0x00, 0xFF, 0x00].span, at: 1_500_000)
      clock.advance(by: DiskLooks.shared)
      if verify == .once {
        // That is what it means.
        #expect(try await read(stored.makeReader()).bytes != body)
      } else {
        await #expect(throws: BodyFailure.aborted) { _ = try await read(stored.makeReader()) }
        #expect(store.statistics.damages == 1)
      }
      store.shut()
      folder.remove("v1")
    }
  }

  @Test("whose file is cut ends there, and the process lives", arguments: [DiskVerification.once, .always])
  func cut(verify: DiskVerification) async throws {
    let store = try store(verify)
    put(store)
    let stored = try await stored(store)
    #expect(try await read(stored.makeReader()).bytes == body)
    let file = try Folder.open(folder.path + "/v1").file("1.segment", .changing)
    try file.truncate(to: 1_500_000)
    clock.advance(by: DiskLooks.shared)
    let reader = stored.makeReader()
    var sent = 0
    await #expect(throws: BodyFailure.aborted) {
      while let next = try await reader.nextOrFile() {
        if case .file(let part) = next { sent += part.count }
        if case .slice(let slice) = next { sent += slice.count }
      }
    }
    #expect(sent < 1_500_000)
    store.shut()
  }

  @Test("a short one stays where it is for those who will not keep it in memory")
  func short() async throws {
    let store = try store(.always)
    store.put("short", pattern(0..<100_000))
    while store.statistics.queuedBytes > 0 { store.step() }
    let key = store.key(bytes("short"))
    #expect(await store.lookup(key, now: 0)?.body?.bytes == pattern(0..<100_000))
    let record = try #require(await store.lookup(key, now: 0, copying: DiskStore.copiedForSending))
    #expect(record.body == nil)
    #expect(await record.open())
    let found = try await read(record.makeReader())
    #expect(found.bytes == pattern(0..<100_000) && found.inFiles == 100_000)
    store.shut()
  }

  @Test("is looked at by one of those who ask in the same moment, and its record read by one")
  func shared() async throws {
    let store = try store(.always)
    store.put("short", pattern(0..<100_000), head: "head")
    while store.statistics.queuedBytes > 0 { store.step() }
    let key = store.key(bytes("short"))
    for round in 1...3 {
      for _ in 0..<10 {
        let record = try #require(
          try store.lookupAtOnce(key, now: 0, copying: DiskStore.copiedForSending) { text($0) == "head" })
        #expect(record.openAtOnce())
        let found = try await read(record.makeReader())
        #expect(found.bytes == pattern(0..<100_000) && found.inFiles == 100_000)
        #expect(
          try store.lookupAtOnce(key, now: 0, copying: DiskStore.copiedForSending) { _ in false } == nil)
        clock.advance(by: DiskLooks.shared / 10)
      }
      #expect(store.statistics.verifiedBytes == round * 100_000)
    }
    // What was removed is not found, however lately it was seen.
    let seen = try store.lookupAtOnce(key, now: 0, copying: DiskStore.copiedForSending)
    #expect(seen?.openAtOnce() == true)
    store.invalidate(key)
    #expect(try store.lookupAtOnce(key, now: 0, copying: DiskStore.copiedForSending) == nil)
    store.shut()
  }

  @Test("a body in several pieces is opened without waiting, too, and opening it counts nothing")
  func opened() async throws {
    let store = try store(.always)
    put(store)
    let key = store.key(bytes("big"))
    let found = try store.lookupAtOnce(key, now: 0)
    let record = try #require(found)
    #expect(record.openAtOnce())
    guard case .file(let part)? = try await record.makeReader().nextOrFile() else {
      Issue.record("nothing lies there")
      return
    }
    #expect(part.count == 1 << 20)
    #expect(store.statistics.hits == 0 && store.statistics.misses == 0)
    store.count(record, for: key)
    store.count(nil, for: key)
    #expect(store.statistics.hits == 1 && store.statistics.misses == 1)
    store.shut()
  }

  @Test("a damaged block is never sent from where it lies (C2)")
  func damage() async throws {
    let store = try store(.once)
    put(store)
    store.shut()
    var bytes = try #require(folder.read("v1/1.segment"))
    bytes[1_500_000] ^= 1
    try folder.write(bytes, to: "v1/1.segment")
    let again = try self.store(.once)
    let stored = try await stored(again)
    for _ in 0..<2 {
      await #expect(throws: BodyFailure.aborted) { _ = try await read(stored.makeReader()) }
    }
    #expect(again.statistics.damages == 2)
    again.shut()
  }
}
