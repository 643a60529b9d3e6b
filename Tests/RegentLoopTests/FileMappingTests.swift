// Files as memory: their checksums, whether they are in the page cache, and what happens when they go away.

import Glibc
import TestKit
import Testing

@testable import RegentLoop

@Suite("A mapped file", .timeLimit(.minutes(10)), .enabled(if: CRC32C.hasInstruction))
struct FileMappingTests {
  private let folder: TemporaryFolder
  private let file: RandomFile
  private let bytes = pattern(Self.count)
  private static let count = 300_001

  init() throws {
    folder = try TemporaryFolder()
    file = try Folder.open(folder.path + "/mapped").file("file", .making)
    try file.write(bytes.span, at: 0)
    try file.sync()
  }

  @Test(
    "has the checksums of its bytes",
    arguments: [0..<0, 0..<1, 4095..<4097, 17..<65_553, 0..<300_001, 299_999..<300_001])
  func checksums(range: Range<Int>) throws {
    let mapping = try #require(FileMapping(file, count: Self.count))
    #expect(mapping.checksum(of: range) == CRC32C.of(bytes.span.extracting(range)))
  }

  @Test("has none beyond its end, nor beyond the file's")
  func beyond() throws {
    let mapping = try #require(FileMapping(file, count: 1 << 20))
    #expect(mapping.count == 1 << 20)
    #expect(mapping.checksum(of: 400_000..<400_001) == nil)
    #expect(mapping.checksum(of: 0..<1 << 20) == nil)
    #expect(mapping.checksum(of: 5..<(1 << 20) + 1) == nil && mapping.checksum(of: -1..<5) == nil)
    #expect(!mapping.isResident(5..<(1 << 20) + 1) && !mapping.isResident(-1..<5))
    #expect(!mapping.isResident(400_000..<400_001) && !mapping.isResident(0..<400_001))
    // It grows with the file.
    try file.write(bytes.span, at: 350_000)
    #expect(mapping.checksum(of: 350_000..<650_001) == CRC32C.of(bytes.span))
    #expect(FileMapping(file, count: 0) == nil)
  }

  @Test("whose file is cut has no checksum, on any thread, and the process lives")
  func cut() async throws {
    let mapping = try #require(FileMapping(file, count: Self.count))
    #expect(mapping.checksum(of: 0..<Self.count) != nil)
    try file.truncate(to: 100_000)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<50 {
            #expect(mapping.checksum(of: 0..<Self.count) == nil)
            #expect(mapping.checksum(of: 200_000..<200_001) == nil)
            #expect(
              mapping.checksum(of: 0..<100_000) == CRC32C.of(pattern(Self.count).span.extracting(0..<100_000))
            )
          }
        }
      }
    }
    #expect(!mapping.isResident(0..<Self.count))
    try file.write(bytes.span, at: 0)
    #expect(mapping.checksum(of: 0..<Self.count) == CRC32C.of(bytes.span))
  }

  @Test("leaves a SIGBUS of another cause what it is")
  func otherSignals() async throws {
    await #expect(processExitsWith: .signal(SIGBUS)) {
      // A sanitizer's handler would tell of it, and exit.
      signal(SIGBUS, SIG_DFL)
      let folder = try TemporaryFolder()
      let file = try Folder.open(folder.path + "/mapped").file("file", .making)
      #expect(FileMapping(file, count: 4096)?.checksum(of: 0..<1) == nil)
      raise(SIGBUS)
    }
  }

  @Test("is resident where it can be read without a wait, and nowhere else")
  func residency() throws {
    let mapping = try #require(FileMapping(file, count: Self.count))
    #expect(mapping.isResident(0..<Self.count) && mapping.isResident(17..<17))
    // In a file system without a disk behind it this changes nothing.
    posix_fadvise(file.descriptor, 100_000, 100_000, POSIX_FADV_DONTNEED)
    for range in [0..<98_304, 102_400..<196_608, 95_000..<110_000, 204_800..<300_001] {
      let block = Block(capacity: range.count)
      let isReady = try file.read(range.count, at: range.lowerBound, into: block, waits: false) == range.count
      #expect(mapping.isResident(range) == isReady, "\(range)")
    }
  }
}
