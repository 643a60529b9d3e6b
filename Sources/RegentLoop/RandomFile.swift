// A file that is read and written at offsets: the calls of the disk store, each with its name in the error.

import CLibevent
import Glibc

/// An open regular file; closed when it is let go of.
public final class RandomFile: Sendable {
  let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }
  deinit { close(descriptor) }

  /// Appends at most `count` bytes from `offset` on to a block, up to the file's end; how many. Nil where that would
  /// mean to wait for the disk, and `waits` is not set; what was read until then stays appended.
  public func read(_ count: Int, at offset: Int, into block: Block, waits: Bool) throws(SystemError) -> Int? {
    var done = 0
    while done < count {
      guard let more = try readSome(count - done, at: offset + done, into: block, waits: waits) else {
        return nil
      }
      if more == 0 { break }
      done += more
    }
    return done
  }

  private func readSome(_ count: Int, at offset: Int, into block: Block, waits: Bool) throws(SystemError)
    -> Int?
  {
    while true {
      var code: Int32 = 0
      // Unsafe: the free part of the block is written, no further than it goes.
      let done = unsafe block.fill { free in
        let wanted = min(count, free.count)
        let got =
          unsafe waits
          ? pread(descriptor, free.baseAddress, wanted, off_t(offset))
          : regent_read_ready(descriptor, free.baseAddress, wanted, offset)
        if got < 0 { code = errno }
        return max(0, got)
      }
      if code == 0 { return done }
      // A file system that cannot tell is one that would wait.
      if !waits, code == EAGAIN || code == EOPNOTSUPP || code == ENOSYS { return nil }
      guard code == EINTR else { throw SystemError(call: "read", code: code) }
    }
  }

  /// Writes all the bytes at an offset.
  public func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      // Unsafe: writes the span's own bytes, as many as are left.
      let count = unsafe bytes.withUnsafeBufferPointer { buffer in
        unsafe pwrite(
          descriptor, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done, off_t(offset + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SystemError(call: "write", code: count < 0 ? errno : ENOSPC) }
      done += count
    }
  }

  /// Sets bytes of the disk aside, from `offset` on. A file system that cannot is let go on without.
  ///
  /// - Parameter grows: Whether the file is that long from then on.
  public func allocate(_ count: Int, at offset: Int, grows: Bool) throws(SystemError) {
    while regent_allocate(descriptor, grows ? 0 : 1, offset, count) != 0 {
      if errno == EINTR { continue }
      guard errno == EOPNOTSUPP || errno == ENOSYS else { throw SystemError(call: "fallocate", code: errno) }
      if grows { try truncate(to: offset + count) }
      return
    }
  }

  public func truncate(to size: Int) throws(SystemError) {
    while ftruncate(descriptor, off_t(size)) != 0 {
      guard errno == EINTR else { throw SystemError(call: "ftruncate", code: errno) }
    }
  }

  /// Has what was written brought to the disk. It is never called again as if a failure could be made up for.
  public func sync() throws(SystemError) {
    _ = try SystemError.check("fdatasync", fdatasync(descriptor))
  }

  /// Has bytes fetched that will be read soon; a hint.
  public func expect(_ count: Int, at offset: Int) {
    _ = posix_fadvise(descriptor, off_t(offset), off_t(count), POSIX_FADV_WILLNEED)
  }

  /// The file's length in bytes, and how many bytes of the disk it takes.
  public func size() throws(SystemError) -> (length: Int, taken: Int) {
    var status = stat()
    // Unsafe: fills a local.
    _ = try SystemError.check("fstat", unsafe fstat(descriptor, &status))
    return (Int(status.st_size), Int(status.st_blocks) * 512)
  }
}
