// A directory that is only looked at: everything that can be found is told, with its bytes, and nothing of it changes,
// whether a store has it or not.

import Glibc
import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("A cache's directory that is only read") struct DiskArchiveTests {
  private struct Stocked {
    let folder: TemporaryFolder
    let store: DiskStore

    /// Short and long bodies, variants, replaced and removed responses.
    init() throws {
      folder = try TemporaryFolder()
      store = try DiskStore.on(FolderDevice(path: folder.path))
      store.put("replaced", pattern(0..<10), head: "old")
      store.put("removed", pattern(0..<10), head: "removed")
      store.step()
      for variant in 0..<3 as Range<UInt32> {
        store.put("variants", pattern(0..<1000), head: "v\(variant)", variant: variant)
      }
      store.put("empty", [], head: "empty")
      store.put("long", pattern(0..<700_000), head: "long")
      store.put("replaced", pattern(5..<25), head: "new")
      store.step()
      store.invalidate(store.key(bytes("removed")))
      store.step()
    }

    static let expected = [
      DiskArchive.Told(key: "variants", head: "v0", variant: 0, body: pattern(0..<1000)),
      DiskArchive.Told(key: "variants", head: "v1", variant: 1, body: pattern(0..<1000)),
      DiskArchive.Told(key: "variants", head: "v2", variant: 2, body: pattern(0..<1000)),
      DiskArchive.Told(key: "empty", head: "empty", variant: 0, body: []),
      DiskArchive.Told(key: "long", head: "long", variant: 0, body: pattern(0..<700_000)),
      DiskArchive.Told(key: "replaced", head: "new", variant: 0, body: pattern(5..<25)),
    ]
  }

  private func sorted(_ told: [DiskArchive.Told]) -> [DiskArchive.Told] {
    told.sorted { ($0.key, $0.head) < ($1.key, $1.head) }
  }

  enum End: CaseIterable { case open, clean, killed }

  @Test("tells all that can be found, and changes nothing", arguments: End.allCases)
  func tellsAll(end: End) throws {
    let stocked = try Stocked()
    switch end {
    case .open: break
    case .clean: stocked.store.shut()
    case .killed: stocked.store.core.device.close()
    }
    let before = stocked.folder.state
    let archive = try DiskArchive.open(path: stocked.folder.path)
    #expect(sorted(archive.told) == sorted(Stocked.expected))
    #expect(archive.holder == (end == .open ? .process(getpid()) : .nobody))
    #expect(archive.findings.isEmpty)
    let (verification, findings) = archive.verified()
    #expect(findings.isEmpty)
    #expect(verification.responses == 6 && verification.damages == 0 && verification.uncommitted == 0)
    // The replaced and the removed one are there too, and the long one's pieces.
    #expect(verification.records == 8 + verification.extents)
    #expect(verification.extents == (700_000 + (64 << 10) - 1) / (64 << 10))
    #expect(verification.bodyBytes == 10 + 10 + 3000 + 700_000 + 20)
    #expect(stocked.folder.state == before)
    if end == .open {
      stocked.store.put("later", [1])
      stocked.store.step()
      #expect(archive.count == 6)
      #expect(try DiskArchive.open(path: stocked.folder.path).count == 7)
      stocked.store.shut()
    }
  }

  @Test("hits are told where they were written down, and places are where the records are")
  func hitsAndPlaces() async throws {
    let folder = try TemporaryFolder()
    let store = try DiskStore.on(FolderDevice(path: folder.path))
    store.put("a", pattern(0..<10), head: "head")
    store.step()
    for _ in 0..<3 { _ = await store.get("a") }
    let uncounted = try #require(DiskArchive.open(path: folder.path).record("a"))
    #expect(uncounted.hits == nil)
    store.shut()
    let record = try #require(DiskArchive.open(path: folder.path).record("a"))
    #expect(record.hits == 3 && record.segment == 1 && record.offset == DiskFormat.page)
    #expect(record.recordCount == (64 + 1 + 4 + 4 + 10 + 7) & ~7 + 16)
    #expect(record.bodyCount == 10 && record.wall == 1_000_000 && record.pieceCount == 0 && record.isWhole)
  }

  @Test("what a directory is, when it is no cache's of this version, is told precisely")
  func refusals() throws {
    let folder = try TemporaryFolder()
    let path = folder.path
    #expect(DiskArchive.failure(path + "/none") == .absent)
    #expect(DiskArchive.failure(path) == .foreign)
    try folder.write([1], to: "v1")
    #expect(DiskArchive.failure(path) == .foreign)
    #expect(DiskArchive.failure(path + "/v1") == .noFolder)
    folder.remove("v1")
    for name in ["v0", "v12", "v013", "video"] { try folder.makeFolder(name) }
    #expect(DiskArchive.failure(path) == .otherVersion(12))
    try folder.makeFolder("v1")
    #expect(DiskArchive.failure(path) == .noIdentity)
    try folder.write([UInt8](repeating: 7, count: 64), to: "v1/identity")
    #expect(DiskArchive.failure(path) == .damagedIdentity)
    try folder.write(DiskIdentity.random().encoded, to: "v1/identity")
    #expect(DiskArchive.failure(path) == nil)
    #expect(try DiskArchive.open(path: path).count == 0)
    #expect(folder.names() == ["v0", "v013", "v1", "v12", "video"])
    #expect(folder.names("v1") == ["identity"])
  }

  @Test("links are not followed: the directory, its folder, or a file in it")
  func links() throws {
    let stocked = try Stocked()
    stocked.store.shut()
    let (path, other) = (stocked.folder.path, try TemporaryFolder())
    try other.link("cache", to: path)
    #expect(DiskArchive.failure(other.path("cache")) == .noFolder)
    try other.link("v1", to: path + "/v1")
    #expect(DiskArchive.failure(other.path) == .foreign)
    for name in ["1.segment", "identity"] {
      unsafe rename("\(path)/v1/\(name)", "\(other.path)/\(name)")
      try stocked.folder.link("v1/\(name)", to: other.path(name))
    }
    #expect(DiskArchive.failure(path) == .damagedIdentity)
    stocked.folder.remove("v1/identity")
    unsafe rename(other.path + "/identity", path + "/v1/identity")
    let archive = try DiskArchive.open(path: path)
    #expect(archive.told.allSatisfy { $0.key == "long" || $0.key == "replaced" })
    // A pipe would be waited for.
    stocked.folder.remove("v1/1.segment")
    #expect(unsafe mkfifo(path + "/v1/1.segment", 0o600) == 0)
    #expect(try DiskArchive.open(path: path).told == archive.told)
  }

  @Test("a body that went with its segment is known as such, and is no damage")
  func incomplete() throws {
    let stocked = try Stocked()
    stocked.store.shut()
    #expect(stocked.folder.names("v1").filter { $0.hasSuffix(".segment") }.count > 2)
    stocked.folder.remove("v1/1.segment")
    let archive = try DiskArchive.open(path: stocked.folder.path)
    let record = try #require(archive.record("long"))
    #expect(!record.isWhole && record.bodyCount == 700_000)
    #expect(archive.bytes(of: record) == nil)
    let (verification, findings) = archive.verified()
    #expect(verification.incomplete == 1 && verification.damages == 0, "\(findings)")
  }

  @Test(
    "beside a store that writes, replaces, removes and evicts, nothing is taken for damage, and no byte is wrong"
  )
  func besideTheWriter() async throws {
    let folder = try TemporaryFolder()
    let pool = try BlockingPool(name: "test", threads: 1)
    let options = DiskOptions.small(budget: 2 << 20, segment: 128 << 10)
    let store = try DiskStore.open(
      path: folder.path, options: options, pool: pool, clock: LoopClock.read())
    // The directory is a cache's when its writer has first come to it.
    while DiskArchive.failure(folder.path) != nil { await Task.yield() }
    var random = SeededGenerator(seed: 20_261_121)
    var (version, seen) = (0, 0)
    for _ in 0..<40 {
      for _ in 0..<40 {
        let key = Int.random(in: 0..<50, using: &random)
        version += 1
        let count =
          Int.random(in: 0..<100, using: &random) == 0 ? 200_000 : Int.random(in: 0..<9000, using: &random)
        store.put("key \(key)", pattern(version..<version + count), head: "\(key) \(version) \(count)")
        if version % 40 == 0 {
          store.invalidate(store.key(bytes("key \(Int.random(in: 0..<50, using: &random))")))
        }
      }
      let archive = try DiskArchive.open(path: folder.path)
      for told in archive.told {
        let words = told.head.split(separator: " ").compactMap { Int($0) }
        #expect(told.key == "key \(words[0])")
        #expect(told.body == nil || told.body == pattern(words[1]..<words[1] + words[2]))
        seen += 1
      }
      let (verification, findings) = archive.verified()
      #expect(verification.damages == 0, "\(findings.filter(\.isDamage))")
      // The writer is not to fall behind for ever.
      _ = await store.durable()
    }
    #expect(seen > 400)
    store.close(clock: LoopClock.read())
    #expect(store.statistics.evictions > 0)
  }
}
