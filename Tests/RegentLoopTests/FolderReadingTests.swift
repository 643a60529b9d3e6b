// Folders that are only looked at, and locks that are looked for and not taken.

import Glibc
import TestKit
import Testing

@testable import RegentLoop

@Suite("A folder that is only looked at") struct FolderReadingTests {
  @Test("the owner of a lock is found in the system's table by device and inode")
  func table() {
    let table = """
      1: POSIX  ADVISORY  WRITE 11 fe:01:500 0 EOF
      2: FLOCK  ADVISORY  READ  12 fe:01:500 0 EOF
      3: FLOCK  ADVISORY  WRITE 13 fe:02:500 0 EOF
      4: -> FLOCK  ADVISORY  WRITE 14 fe:01:500 0 EOF
      5: FLOCK  ADVISORY  WRITE 708 fe:01:500 0 EOF
      6: FLOCK  ADVISORY
      """
    let device = UInt64(0xFE01)
    #expect(LockTable.holder(in: table, device: device, inode: 500) == .process(708))
    #expect(LockTable.holder(in: table, device: device, inode: 501) == .nobody)
    #expect(LockTable.holder(in: table, device: UInt64(0xFE02), inode: 500) == .process(13))
    #expect(LockTable.holder(in: "", device: device, inode: 500) == .nobody)
    // Larger numbers lie in the upper bits: major 0x1234, minor 0x56789.
    let large = UInt64(0x1000) << 32 | UInt64(0x56700) << 12 | UInt64(0x234) << 8 | 0x89
    let line = "1: FLOCK  ADVISORY  WRITE 9 1234:56789:7 0 EOF"
    #expect(LockTable.holder(in: line, device: large, inode: 7) == .process(9))
  }

  @Test("a lock that is held is told with its owner, and can still be taken when it is let go of")
  func holder() throws {
    let temporary = try TemporaryFolder()
    let folder = try Folder.existing(temporary.path)
    #expect(folder.lockHolder("lock") == .nobody)
    try temporary.write([], to: "lock")
    do {
      let lock = try folder.lock("lock")
      #expect(lock != nil)
      #expect(folder.lockHolder("lock") == .process(getpid()))
      withExtendedLifetime(lock) {}
    }
    #expect(folder.lockHolder("lock") == .nobody)
  }

  @Test("what is not there is not made, and links and files are refused")
  func refusals() throws {
    let temporary = try TemporaryFolder()
    let folder = try Folder.existing(temporary.path)
    #expect(throws: SystemError(call: "open", code: ENOENT)) { try Folder.existing(temporary.path + "/none") }
    #expect(throws: SystemError(call: "open", code: ENOENT)) { try folder.existingFolder("none") }
    try temporary.link("link", to: "/tmp")
    try temporary.write([1], to: "file")
    for name in ["link", "file"] {
      let path = "\(temporary.path)/\(name)"
      expectNoFolder { () throws(SystemError) in _ = try Folder.existing(path) }
      expectNoFolder { () throws(SystemError) in _ = try folder.existingFolder(name) }
      expectNoFolder { () throws(SystemError) in _ = try Folder.empty(path) }
    }
    #expect(try folder.names { _ in true }.sorted() == [".", "..", "file", "link"])
  }

  private func expectNoFolder(_ body: () throws(SystemError) -> Void) {
    do throws(SystemError) {
      try body()
      Issue.record("it was taken for a folder")
    } catch {
      #expect(error.isNoFolder, "\(error)")
    }
  }

  @Test("a folder to fill is made closed to others, or was empty")
  func empty() throws {
    let temporary = try TemporaryFolder()
    let path = temporary.path + "/new"
    defer {
      unsafe unlink(path + "/x")
      unsafe rmdir(path)
    }
    let made = try #require(try Folder.empty(path))
    var status = stat()
    #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o700)
    #expect(try Folder.empty(path) != nil)
    _ = try made.file("x", .making)
    #expect(try Folder.empty(path) == nil)
  }
}
