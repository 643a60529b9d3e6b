// A file's bytes as memory: what is in the page cache is looked at where it lies, without a copy. The file may be cut,
// or become unreadable, at any moment: its bytes are read by one guarded call alone, which says so.

import CChecksum
import CLibevent
import Glibc

/// A file's bytes, mapped into memory to be verified there.
// @unchecked: the mapping never changes while the object lives, and is read through guarded calls alone.
@safe public final class FileMapping: @unchecked Sendable {
  private let start: UnsafeRawPointer
  /// How many bytes are mapped; there may be fewer in the file, or more.
  public let count: Int

  private static let page = sysconf(Int32(_SC_PAGESIZE))
  /// Whether a file that goes away ends a reading, and not the process.
  private static let isGuarded = CRC32C.hasInstruction && regent_guard_mappings() == 0

  /// Maps the first `count` bytes of a file; nil where that cannot be.
  public init?(_ file: RandomFile, count: Int) {
    // Unsafe: a new mapping at a place that the kernel chooses, which may only be read.
    guard FileMapping.isGuarded, count > 0,
      let start = unsafe mmap(nil, count, PROT_READ, MAP_SHARED, file.descriptor, 0),
      unsafe start != MAP_FAILED
    else { return nil }
    unsafe self.start = UnsafeRawPointer(start)
    self.count = count
  }

  deinit {
    // Unsafe: the mapping is this object's own, and nobody reads it any more.
    unsafe munmap(UnsafeMutableRawPointer(mutating: start), count)
  }

  /// Whether these bytes are in the page cache; false where that cannot be told.
  public func isResident(_ range: Range<Int>) -> Bool {
    guard range.lowerBound >= 0, range.upperBound <= count else { return false }
    let first = range.lowerBound / FileMapping.page * FileMapping.page
    // Unsafe: looks at pages of the mapping, by the line before.
    return unsafe regent_is_resident(start + first, range.upperBound - first, FileMapping.page) != 0
  }

  /// The CRC32C of these bytes; nil where they cannot all be read. What is not in the page cache is waited for.
  public func checksum(of range: Range<Int>) -> UInt32? {
    guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
    var value: UInt32 = 0
    // Unsafe: reads within the mapping, by the first line; a page that is not there ends the call, and nothing else.
    return unsafe regent_crc32c_mapped(&value, start + range.lowerBound, range.count) != 0 ? value : nil
  }
}
