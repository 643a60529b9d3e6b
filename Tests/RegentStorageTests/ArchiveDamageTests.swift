// Directories whose files were changed by others, looked at: nothing wrong is told, no crash, and each damage has its
// place.

import Glibc
import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("A damaged directory that is only read") struct ArchiveDamageTests {
  /// What is wrong with what an archive of a filled directory tells.
  private func faults(_ filled: Filled) throws -> (faults: [String], found: Int, damages: Int) {
    let archive: DiskArchive
    do throws(DiskArchiveFailure) { archive = try DiskArchive.open(path: filled.folder.path) } catch {
      return (error == .damagedIdentity || error == .noIdentity ? [] : ["\(error)"], 0, 1)
    }
    var faults: [String] = []
    var found = 0
    for told in archive.told {
      found += 1
      let number = Int(told.key.dropFirst(4)) ?? -1
      let version = Int(told.head) ?? -1
      if number < 4 { faults.append("\(number) was removed, and came back") }
      if version != number && !(number == 5 && version == 105) { faults.append("\(number): a wrong head") }
      if told.body.map({ $0 != Filled.body(version) }) ?? false { faults.append("\(number): wrong bytes") }
    }
    let (verification, findings) = archive.verified()
    if findings.count != verification.damages + verification.uncommitted { faults.append("miscounted") }
    if verification.damages == 0, archive.told.contains(where: { $0.body == nil }) {
      faults.append("a body is damaged, and verifying does not say so")
    }
    return (faults, found, verification.damages + verification.uncommitted)
  }

  @Test("tells nothing wrong after random mutations, and changes nothing", arguments: [true, false])
  func mutations(cleanly: Bool) throws {
    let filled = try Filled(cleanly: cleanly)
    var random = SeededGenerator(seed: cleanly ? 3 : 4)
    var (found, count, noticed) = (0, 0, 0)
    for name in filled.files.keys.sorted() where name != "starts" {
      for kind in 0..<6 {
        for _ in 0..<6 {
          try filled.restore(name, mutate(filled.files[name] ?? [], kind, &random))
          let before = filled.folder.state
          let outcome = try faults(filled)
          let isBlank = name.hasSuffix(".removals") && !cleanly && (kind == 1 || kind == 2)
          let faults = isBlank ? outcome.faults.filter { !$0.contains("came back") } : outcome.faults
          #expect(faults == [], "\(name), mutation \(kind), seed \(cleanly ? 3 : 4)")
          #expect(filled.folder.state == before)
          (found, count) = (found + outcome.found, count + 1)
          if outcome.damages > 0 { noticed += 1 }
        }
      }
    }
    print("\(count) mutations, \(found) responses found, none wrong; \(noticed) noticed")
    #expect(found > count * 10 && noticed > count / 4)
  }

  @Test("tells nothing wrong with any file cut, or gone", arguments: [true, false])
  func cuts(cleanly: Bool) throws {
    let filled = try Filled(cleanly: cleanly)
    for (name, content) in filled.files.sorted(by: { $0.key < $1.key }) where name != "starts" {
      let lengths = Array(
        stride(from: 0, through: content.count, by: content.count > 20_000 ? 512 * 29 : 512))
      for length in lengths + [nil] as [Int?] {
        try filled.restore(name, length.map { Array(content[..<$0]) })
        let outcome = try faults(filled)
        let mayLose = name.hasSuffix(".removals") && !cleanly
        let faults = mayLose ? outcome.faults.filter { !$0.contains("came back") } : outcome.faults
        #expect(faults == [], "\(name) cut at \(length.map { "\($0)" } ?? "all")")
      }
    }
  }

  /// A directory of one sealed segment with three records, and where the second one is.
  private struct Three {
    let folder: TemporaryFolder
    let content: [UInt8]
    let second: (offset: Int, count: Int)
    static let name = "v1/1.segment"

    init() throws {
      folder = try TemporaryFolder()
      let options = DiskOptions.small(budget: 8 << 20, segment: 1 << 20)
      let store = try DiskStore.on(FolderDevice(path: folder.path), options)
      for number in 1...3 { store.put("key \(number)", pattern(0..<70_000), head: "\(number)") }
      store.step()
      store.shut()
      let record = try #require(DiskArchive.open(path: folder.path).record("key 2"))
      second = (record.offset, record.recordCount)
      content = try #require(folder.read(Self.name))
    }

    func change(_ body: (inout [UInt8]) -> Void) throws -> (ArchiveVerification, [DiskFinding], [String]) {
      var changed = content
      body(&changed)
      try folder.write(changed, to: Self.name)
      let archive = try DiskArchive.open(path: folder.path)
      let (verification, findings) = archive.verified()
      return (verification, findings, archive.told.filter { $0.body == pattern(0..<70_000) }.map(\.key))
    }
  }

  @Test("one flipped bit anywhere in a record is one damage at its place, and hides nothing else")
  func oneBit() throws {
    let three = try Three()
    let (start, count) = three.second
    for offset in [0, 5, 20, 33, 60, 64, 70, 71, 79, 200, 65_000, 66_000, count - 16, count - 1] {
      let (verification, findings, whole) = try three.change { $0[start + offset] ^= 4 }
      #expect(findings.map(\.file) == ["1.segment"] && findings.map(\.offset) == [start], "at \(offset)")
      #expect(findings.first?.kind == .damage)
      #expect(verification.damages == 1 && verification.uncommitted == 0 && verification.records == 2)
      // A trailer says only that all was written, which the index says too.
      #expect(
        whole == (offset >= count - 16 ? ["key 1", "key 2", "key 3"] : ["key 1", "key 3"]), "at \(offset)")
    }
  }

  @Test("a zeroed stretch in the middle is damage; a cut end of a sealed segment is, too")
  func stretches() throws {
    let three = try Three()
    let (start, count) = three.second
    let zeroed = try three.change { for index in start..<start + count { $0[index] = 0 } }
    #expect(zeroed.1.map(\.offset) == [start] && zeroed.0.damages == 1 && zeroed.2 == ["key 1", "key 3"])
    let cut = try three.change { $0.removeLast(1000) }
    #expect(cut.1.map(\.offset) == [start + count] && cut.0.damages == 1 && cut.2 == ["key 1", "key 2"])
    let gone = try three.change { $0.removeLast(count + 8) }
    #expect(gone.0.damages == 2 && gone.2 == ["key 1", "key 2"], "\(gone.1)")
    let first = try three.change { $0[3] ^= 1 }
    #expect(first.0.damages == 1 && first.1.first?.offset == 0 && first.2 == [], "\(first.1)")
  }

  @Test("a record that a crash left unfinished is no damage")
  func uncommitted() throws {
    let folder = try TemporaryFolder()
    let store = try DiskStore.on(FolderDevice(path: folder.path))
    for number in 1...3 { store.put("key \(number)", pattern(0..<5000), head: "\(number)") }
    store.step()
    let last = try #require(DiskArchive.open(path: folder.path).record("key 3"))
    store.core.device.close()
    let content = try #require(folder.read("v1/1.segment"))
    for kept in [1, 40, 64, 100, 3000, last.recordCount - 8, last.recordCount - 1] {
      var torn = content
      for index in last.offset + kept..<last.offset + last.recordCount { torn[index] = 0 }
      // One record in 256 ends with a zero by itself.
      guard torn != content else { continue }
      try folder.write(torn, to: "v1/1.segment")
      let archive = try DiskArchive.open(path: folder.path)
      let (verification, findings) = archive.verified()
      #expect(verification.damages == 0 && verification.uncommitted == 1, "\(kept) \(findings)")
      #expect(findings.first?.offset == last.offset && archive.findings == findings, "\(kept)")
      #expect(archive.told.map(\.key) == ["key 1", "key 2"])
    }
  }

  @Test("damage in a piece of a long body ends that body, and is told with the piece's place")
  func pieces() throws {
    let folder = try TemporaryFolder()
    let store = try DiskStore.on(FolderDevice(path: folder.path))
    store.put("long", pattern(0..<150_000), head: "long")
    store.put("short", pattern(0..<100), head: "short")
    store.step()
    store.shut()
    var content = try #require(folder.read("v1/1.segment"))
    content[DiskFormat.page + 1000] ^= 1
    try folder.write(content, to: "v1/1.segment")
    let archive = try DiskArchive.open(path: folder.path)
    #expect(archive.told.map { $0.body == nil } == [true, false])
    let record = try #require(archive.record("long"))
    #expect(record.isWhole)
    var body = archive.body(of: record)
    #expect(throws: ArchivedBody.Failure.self) { try body.next() }
    let (verification, findings) = archive.verified()
    #expect(verification.damages == 1 && findings.first?.offset == DiskFormat.page, "\(findings)")
  }
}
