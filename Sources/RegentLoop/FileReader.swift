// Reading whole files, on a thread that may block.

import CLibevent
import Glibc

/// Reads files whole.
public enum FileReader {
  /// The bytes of a file of at most `limit` bytes.
  public static func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    let descriptor = try SystemError.check("open", unsafe open(path, O_RDONLY | O_CLOEXEC))
    defer { close(descriptor) }
    return try contents(descriptor, limit: limit)
  }

  /// The bytes of a regular file beneath a folder; nil where there is none, or a link leads to it.
  public static func read(_ path: String, beneath root: String, limit: Int) -> [UInt8]? {
    // Unsafe: both strings live for the calls.
    let folder = unsafe open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return nil }
    defer { close(folder) }
    let descriptor = unsafe regent_open_beneath(folder, path)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    // An error here is a file that is not there for us.
    return try? contents(descriptor, limit: limit)
  }

  private static func contents(_ descriptor: Int32, limit: Int) throws(SystemError) -> [UInt8] {
    var status = stat()
    // Unsafe: fills a local.
    _ = try SystemError.check("fstat", unsafe fstat(descriptor, &status))
    guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError(call: "read", code: EISDIR) }
    guard status.st_size <= limit else { throw SystemError(call: "read", code: EFBIG) }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var done = 0
    while done < bytes.count {
      // Unsafe: reads into the array's own bytes, as many as are left.
      let count = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe Glibc.read(descriptor, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SystemError(call: "read", code: errno) }
      if count == 0 { break }
      done += count
    }
    bytes.removeLast(bytes.count - done)
    return bytes
  }
}
