// Small byte strings that the store's owner keeps in the directory, each under a name: written whole or not at all, with
// the removals that were asked for before, and read back at the next start. What is damaged is not there.

import RegentLoop

/// What the owner keeps, by name.
struct DiskMemos: Sendable {
  /// The longest memo, in bytes, and the most of them.
  static let limit = 64 << 10
  static let most = 8

  /// The file's bytes: a page with the content's length and checksum, and the content.
  static func encoded(_ name: String, _ content: [UInt8], instance: UInt64) -> [UInt8] {
    DiskPage(
      magic: DiskFormat.memoMagic, instance: instance, first: UInt64(content.count),
      second: UInt64(checksum(name, content))
    ).encoded + content
  }

  /// The content; nil where it is another's, or not as it was written.
  static func decoded(_ name: String, _ bytes: [UInt8], instance: UInt64) -> [UInt8]? {
    guard let page = DiskPage(bytes.span, magic: DiskFormat.memoMagic), page.instance == instance,
      page.first == UInt64(bytes.count - DiskPage.count)
    else { return nil }
    let content = Array(bytes[DiskPage.count...])
    return page.second == UInt64(checksum(name, content)) ? content : nil
  }

  private static func checksum(_ name: String, _ content: [UInt8]) -> UInt32 {
    var crc = CRC32C()
    crc.update(Array(name.utf8).span)
    crc.update(content.span)
    return crc.value
  }

  /// Whether a name may be a file's: letters, digits and hyphens.
  static func isName(_ name: String) -> Bool {
    (1...32).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
          || byte == UInt8(ascii: "-")
      }
  }
}

extension DiskStore {
  /// The bytes that are kept under a name; nil where there are none. After a start they are there when the directory is
  /// open, which ``DiskStatistics/isRecovering`` is at the latest when it becomes false.
  public func memo(_ name: String) -> [UInt8]? { core.memos.withLock { $0[name] } }

  /// Keeps at most 64 KiB under a name of lower-case letters, digits and hyphens; on the disk to stay once a later
  /// ``durable()`` says so. False, and nothing changed, where they are refused.
  @discardableResult
  public func setMemo(_ name: String, _ content: [UInt8]) -> Bool {
    guard content.count <= DiskMemos.limit, DiskMemos.isName(name) else { return false }
    let isTaken = core.memos.withLock { memos in
      guard memos[name] != nil || memos.count < DiskMemos.most else { return false }
      memos[name] = content
      return true
    }
    if isTaken { core.queue.memo(name) }
    return isTaken
  }
}

extension DiskEngine {
  /// The bytes that memos take on the disk.
  var memoBytes: Int {
    core.memos.withLock { $0.values.reduce(0) { $0 + DiskPage.count + $1.count } }
  }

  /// Takes in what is kept in the directory, but for what was set since; that is to be written to it.
  mutating func readMemos(_ files: [String]) throws(SystemError) {
    unkeptMemos.formUnion(core.memos.withLock { $0.keys })
    for name in files.compactMap(DiskName.memoName) where !unkeptMemos.contains(name) {
      guard let content = try readMemo(name) else {
        core.countDamage(segment: 0, offset: 0, "memo")
        continue
      }
      core.memos.withLock { memos in
        if memos.count < DiskMemos.most, memos[name] == nil { memos[name] = content }
      }
    }
  }

  private func readMemo(_ name: String) throws(SystemError) -> [UInt8]? {
    do throws(SystemError) {
      let file = try device.file(DiskName.memo(name), .reading)
      let bytes = try file.bytes(DiskPage.count + DiskMemos.limit + 1, at: 0).bytes
      return DiskMemos.decoded(name, bytes, instance: identity.instance)
    } catch {
      // What cannot be read for want of descriptors or memory is not gone.
      guard !error.isExhaustion else { throw error }
      return nil
    }
  }

  /// The new file is beside the old one for a moment.
  private mutating func makeRoomForMemo(_ count: Int) -> Bool {
    while bytes + DiskPage.count + count > options.budget {
      guard evictOldest(keepingUsed: false) else { return false }
    }
    return true
  }

  /// Brings memos to the disk; those that cannot be brought there wait.
  mutating func keepMemos() -> Bool {
    while let name = unkeptMemos.first {
      let content = core.memos.withLock { $0[name] } ?? []
      guard isOpen, core.mayWrite(now), makeRoomForMemo(content.count) else { return false }
      do throws(SystemError) {
        let bytes = DiskMemos.encoded(name, content, instance: identity.instance)
        try device.replace(DiskName.memo(name), with: bytes)
        unkeptMemos.remove(name)
      } catch {
        core.writeFailed(error, now)
        return false
      }
    }
    return true
  }
}
