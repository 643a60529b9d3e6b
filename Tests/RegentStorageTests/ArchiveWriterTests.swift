// A directory that is read while somebody has it: what is only being written is no damage, and what is damaged is.

import Glibc
import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("A directory that is read beside its writer") struct ArchiveWriterTests {
  /// Some segments of records, in a store that has the directory.
  private struct Held {
    let folder: TemporaryFolder
    let store: DiskStore
    /// The segments' numbers, in order.
    var numbers: [UInt32] { folder.names("v1").compactMap { DiskName.number($0, ".segment") }.sorted() }

    init() throws {
      folder = try TemporaryFolder()
      store = try DiskStore.on(
        FolderDevice(path: folder.path), .small(budget: 2 << 20, segment: 128 << 10))
      for number in 0..<60 {
        store.put("key \(number)", pattern(number..<number + 8000), head: "\(number)")
        store.step()
      }
      store.invalidate(store.key(bytes("key 3")))
      store.step()
    }

    /// Lets the directory go as a killed process does.
    func kill() { store.core.device.close() }

    func change(_ name: String, _ change: (inout [UInt8]) -> Void) throws {
      var content = try #require(folder.read("v1/\(name)"))
      change(&content)
      try folder.write(content, to: "v1/\(name)")
    }

    /// All that an archive finds: when it is opened, and when it is verified.
    func look() throws -> (archive: DiskArchive, opened: [DiskFinding], verified: [DiskFinding]) {
      let archive = try DiskArchive.open(path: folder.path)
      return (archive, archive.findings, archive.verified().1)
    }
  }

  @Test(
    "the last segment, while it is blank, is one that is being made", arguments: [0, 64, 4096, 128 << 10])
  func beingMade(length: Int) throws {
    let held = try Held()
    let whole = try held.look()
    #expect(whole.archive.holder == .process(getpid()) && whole.archive.count == 59)
    let next = try #require(held.numbers.last) + 1
    try held.folder.write([UInt8](repeating: 0, count: length), to: "v1/\(next).segment")
    let beside = try held.look()
    #expect(beside.opened.isEmpty && beside.verified.isEmpty, "\(beside.opened) \(beside.verified)")
    #expect(beside.archive.told == whole.archive.told)
    held.kill()
    let alone = try held.look()
    #expect(alone.opened.map(\.kind) == [.uncommitted] && alone.verified == alone.opened)
    #expect(alone.opened.first?.file == "\(next).segment" && alone.archive.told == whole.archive.told)
  }

  @Test(
    "a first page that was damaged is damage, whether somebody has the directory or not",
    arguments: [true, false])
  func damagedPage(isHeld: Bool) throws {
    let held = try Held()
    let numbers = held.numbers
    #expect(numbers.count > 3)
    if !isHeld { held.kill() }
    let last = try #require(numbers.last)
    // A flipped bit; a page of zeros before records; a blank segment before others.
    for (number, range) in [(numbers[1], 20..<21), (last, 0..<64), (numbers[0], 0..<128 << 10)] {
      let name = DiskName.segment(number)
      let before = try #require(held.folder.read("v1/\(name)"))
      try held.change(name) { content in
        for index in range where index < content.count {
          content[index] = range.count == 1 ? ~content[index] : 0
        }
      }
      let (archive, opened, verified) = try held.look()
      #expect(opened.map(\.kind) == [.damage] && opened.map(\.file) == [name] && opened[0].offset == 0)
      #expect(verified == opened && archive.count < 59)
      try held.folder.write(before, to: "v1/\(name)")
    }
    // Something in a segment that was never begun.
    try held.folder.write([UInt8](repeating: 0, count: 5000) + [1], to: "v1/\(last + 1).segment")
    #expect(try held.look().opened.map(\.kind) == [.damage])
  }

  @Test("a segment of which the index has records was not blank")
  func indexed() throws {
    let held = try Held()
    held.store.shut()
    let name = DiskName.segment(try #require(held.numbers.last))
    try held.change(name) { $0 = [UInt8](repeating: 0, count: $0.count) }
    let (_, opened, verified) = try held.look()
    #expect(opened.map(\.kind) == [.damage] && opened.first?.file == name && verified == opened)
  }

  @Test("damaged records, removals and indexes are damage beside the writer")
  func damaged() throws {
    let held = try Held()
    held.store.engine.withLock { engine in
      engine.beginSnapshot()
      while engine.writing != nil { engine.continueSnapshot() }
    }
    let index = try #require(DiskName.indexes.first { held.folder.names("v1").contains($0) })
    let segment = DiskName.segment(held.numbers[1])
    for (name, offset) in [(segment, 9000), (segment, DiskFormat.page + 3), (index, 100), ("1.removals", 70)]
    {
      let before = try #require(held.folder.read("v1/\(name)"))
      try held.change(name) { $0[offset] ^= 4 }
      let (archive, _, verified) = try held.look()
      #expect(archive.holder == .process(getpid()))
      #expect(verified.map(\.kind) == [.damage] && verified.first?.file == name, "\(name) \(verified)")
      try held.folder.write(before, to: "v1/\(name)")
      #expect(try held.look().verified.isEmpty)
    }
  }

  /// A file of which the first reads find a part that is not written yet, though what is behind it is.
  private final class HalfWritten: DiskFile {
    private let file: any DiskFile
    private let blank: Range<Int>
    private let reads: Lock<Int>

    init(_ file: any DiskFile, blank: Range<Int>, reads: Int) {
      (self.file, self.blank) = (file, blank)
      self.reads = Lock(reads)
    }

    func read(_ count: Int, at offset: Int, into block: Block, waits: Bool) throws(SystemError) -> Int? {
      let part = Block(capacity: count)
      _ = try file.read(count, at: offset, into: part, waits: waits)
      var bytes = Slice(part).bytes
      let isTorn = reads.withLock { left in
        guard blank.overlaps(offset..<offset + count), left > 0 else { return false }
        left -= 1
        return true
      }
      if isTorn { for index in blank where index - offset < bytes.count { bytes[index - offset] = 0 } }
      return block.append(bytes.span)
    }
    func size() throws(SystemError) -> (length: Int, taken: Int) { try file.size() }
    func truncate(to size: Int) throws(SystemError) {}
    func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError) {}
    func allocate(_ count: Int, at offset: Int, grows: Bool) throws(SystemError) {}
    func sync() throws(SystemError) {}
  }

  @Test("a read that has a record's end and not all that was written before it is done again")
  func halfRead() throws {
    let held = try Held()
    let archive = try DiskArchive.open(path: held.folder.path)
    let number = held.numbers[1]
    let segment = try #require(archive.segments[number])
    // In the lead of the segment's first record, in its body, in its body up to the trailer.
    for blank in [16..<40, 4000..<8000, 5000..<8050] {
      for reads in 0..<3 {
        let range = DiskFormat.page + blank.lowerBound..<DiskFormat.page + blank.upperBound
        let torn = HalfWritten(segment.file, blank: range, reads: reads == 2 ? .max : reads)
        var walk = try SegmentWalk(
          DiskSegment(number: number, instance: segment.instance, file: torn),
          entries: archive.entries.of(segment: number))
        var (records, findings) = (0, [DiskFinding]())
        while let step = try walk.next() {
          if case .finding(let finding) = step { findings.append(finding) } else { records += 1 }
        }
        #expect(findings.count == (reads == 2 ? 1 : 0), "\(blank) \(reads) \(findings)")
        #expect(records > 5 && findings.allSatisfy { $0.kind == .damage && $0.offset == DiskFormat.page })
      }
    }
  }
}
