// A file's bytes looked at here and there, mostly forwards, with few calls.

import RegentLoop

/// A file's bytes, read a stretch at a time.
struct DiskWindow: Sendable {
  let file: any DiskFile
  let length: Int
  private var window = Slice([])
  private var start = 0
  static let size = 1 << 20

  init(_ file: any DiskFile, length: Int) { (self.file, self.length) = (file, length) }

  /// At most `count` bytes at an offset, fewer at the end of the file.
  mutating func bytes(_ count: Int, at offset: Int) throws(SystemError) -> Slice {
    let wanted = min(count, length - offset)
    guard wanted > 0 else { return Slice([]) }
    if offset < start || offset + wanted > start + window.count {
      window = try file.bytes(min(max(Self.size, wanted), length - offset), at: offset)
      start = offset
    }
    let from = offset - start
    // The file may be shorter by now than it was.
    return Slice(window.block, min(from, window.count)..<min(from + wanted, window.count))
  }

  /// Has what was read looked at anew: somebody else may have written meanwhile.
  mutating func forget() { (window, start) = (Slice([]), 0) }
}
