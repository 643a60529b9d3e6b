// Folders of the real file system for tests, and what is done to the files in them.

import Glibc
import RegentLoop

@testable import RegentStorage

/// A folder that is removed when it is let go of.
final class TemporaryFolder {
  let path: String

  init() throws {
    var name = Array("/tmp/regent-disk-XXXXXX".utf8CString)
    // Unsafe: the system writes the name into the array's own bytes.
    let made = unsafe name.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return false }
      return unsafe mkdtemp(start) != nil
    }
    guard made else { throw SystemError(call: "mkdtemp", code: errno) }
    path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { TemporaryFolder.remove(path) }

  static func remove(_ path: String) {
    for name in names(path) { remove("\(path)/\(name)") }
    unsafe Glibc.remove(path)
  }

  /// The names in a folder; none where it is no folder, or a link to one.
  static func names(_ path: String) -> [String] {
    var status = stat()
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [] }
    guard let stream = unsafe opendir(path) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { start in
        unsafe start.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  static func read(_ path: String) -> [UInt8]? { try? FileReader.read(path, limit: 1 << 30) }

  static func write(_ path: String, _ content: [UInt8]) {
    unsafe unlink(path)
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(file) }
    _ = unsafe content.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
  }
}
