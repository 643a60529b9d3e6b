// Long bodies that are handed out as parts of their files: only what was verified since the start, and only where that is
// enough.

import RegentLoop
import Testing

@testable import RegentStorage

@Suite("What is verified once") struct DiskVerificationTests {
  private let folder: TemporaryFolder
  private let body = (0..<3).flatMap { pattern($0..<1_000_000) } + pattern(0..<3)

  init() throws { folder = try TemporaryFolder() }

  private func store(_ verify: DiskVerification) throws -> DiskStore {
    var options = DiskOptions.small(budget: 32 << 20, segment: 4 << 20)
    options.verify = verify
    return try DiskStore.on(FolderDevice(path: folder.path), options)
  }

  private func put(_ store: DiskStore) {
    store.put("big", body)
    while store.statistics.queuedBytes > 0 { store.step() }
  }

  private func stored(_ store: DiskStore) async throws -> DiskStoredBody {
    let record = try #require(await store.lookup(store.key(bytes("big")), now: 0))
    guard case .stored(let stored) = record.body else { throw SystemError(call: "packed", code: 0) }
    return stored
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
      }
    }
    return (all, inFiles)
  }

  @Test("is read at first, and then sent from where it lies; any range of it")
  func once() async throws {
    let store = try store(.once)
    put(store)
    let stored = try await stored(store)
    let first = try await read(stored.makeReader(100_000..<500_000))
    #expect(first.bytes == Array(body[100_000..<500_000]) && first.inFiles == 0)
    // Its first and its last block were verified whole.
    let again = try await read(stored.makeReader(70_000..<510_000))
    #expect(again.bytes == Array(body[70_000..<510_000]) && again.inFiles == again.bytes.count)
    #expect(store.statistics.fileBytes == 440_000)
    let all = try await read(stored.makeReader())
    #expect(all.bytes == body && all.inFiles < body.count)
    for range in [0..<3_000_000, 1..<2_999_999, 1_048_575..<1_048_577] {
      let last = try await read(stored.makeReader(range))
      #expect(last.bytes == Array(body[range]) && last.inFiles == range.count)
    }
    let reader = stored.makeReader()
    guard case .file(let part)? = try await reader.nextOrFile() else {
      Issue.record("nothing is known to be verified")
      return
    }
    reader.takeBack(part.count - 1000)
    #expect(try await read(reader).bytes == Array(body[1000...]))
  }

  @Test("is verified each time where that is asked for, and anew after a start")
  func always() async throws {
    let store = try store(.always)
    put(store)
    let always = try await stored(store)
    for _ in 0..<2 { #expect(try await read(always.makeReader()).inFiles == 0) }
    store.shut()
    let again = try self.store(.once)
    let stored = try await stored(again)
    #expect(try await read(stored.makeReader()).inFiles == 0)
    #expect(try await read(stored.makeReader()).inFiles == body.count)
    again.shut()
  }

  @Test("a damaged block is never sent from where it lies (C2)")
  func damage() async throws {
    let store = try store(.once)
    put(store)
    store.shut()
    let path = folder.path + "/v1/1.segment"
    var bytes = try #require(TemporaryFolder.read(path))
    bytes[1_500_000] ^= 1
    TemporaryFolder.write(path, bytes)
    let again = try self.store(.once)
    let stored = try await stored(again)
    for _ in 0..<2 {
      await #expect(throws: BodyFailure.aborted) { _ = try await read(stored.makeReader()) }
    }
    #expect(again.statistics.damages == 2)
    again.shut()
  }
}
