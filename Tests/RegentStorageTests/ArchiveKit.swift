// What the tests of archives share: all that one tells of its responses, a directory's exact state, and short ways to
// both.

import Glibc
import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

extension DiskArchive {
  /// A response as a test looks at it; the body is nil where it cannot be read whole.
  struct Told: Equatable {
    var key: String
    var head: String
    var variant: UInt32
    var body: [UInt8]?
  }

  /// All responses, the first written first; damaged ones are left out.
  var told: [Told] {
    (0..<count).compactMap { number -> Told? in
      guard case .record(let record) = look(number) else { return nil }
      return Told(
        key: text(record.key), head: text(record.head), variant: record.variant, body: bytes(of: record))
    }
  }

  func bytes(of record: ArchivedRecord) -> [UInt8]? {
    var body = body(of: record)
    var bytes: [UInt8] = []
    do {
      while let block = try body.next() {
        #expect(block.count <= DiskFormat.block && block.count > 0)
        block.copy(onto: &bytes)
      }
    } catch {
      return nil
    }
    return bytes
  }

  func record(_ key: String) -> ArchivedRecord? {
    for number in 0..<count {
      if case .record(let record) = look(number), text(record.key) == key { return record }
    }
    return nil
  }

  /// What verifying found, and each place.
  func verified() -> (ArchiveVerification, [DiskFinding]) {
    var findings: [DiskFinding] = []
    let verification = verify { findings.append($0) }
    return (verification, findings)
  }

  static func failure(_ path: String) -> DiskArchiveFailure? {
    do throws(DiskArchiveFailure) {
      _ = try open(path: path)
      return nil
    } catch {
      return error
    }
  }
}

extension TemporaryFolder {
  /// Everything about what is in the folder: names, kinds, modes, lengths, times of change, and all bytes.
  var state: [String: [UInt8]] {
    var state: [String: [UInt8]] = [:]
    for folder in [".", "v1"] {
      for name in names(folder) {
        var status = stat()
        unsafe lstat(path("\(folder)/\(name)"), &status)
        let facts = [
          Int(status.st_mode), Int(status.st_size), Int(status.st_blocks), Int(status.st_ino),
          status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
        ]
        let content = read("\(folder)/\(name)") ?? []
        state["\(folder)/\(name)"] = bytes("\(facts)") + content
      }
    }
    return state
  }
}
