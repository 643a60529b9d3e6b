// A folder of one test's own, and what a test does to the files in it. Files are named by their path within the folder.

import FoundationEssentials
import Glibc

/// A folder that is removed, with all that is in it, when it is let go of.
public final class TemporaryFolder: Sendable {
  public let path: String

  public init() throws {
    path = FileManager.default.temporaryDirectory.path + "/regent-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  // Nothing depends on what cannot be removed.
  deinit { try? FileManager.default.removeItem(atPath: path) }

  public func path(_ name: String) -> String { path + "/" + name }

  /// The names in a folder, in order; none where there is no such folder.
  public func names(_ folder: String = "") -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path(folder)))?.sorted() ?? []
  }

  /// A file's bytes; nil where there is no such file.
  public func read(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path(name)).map { [UInt8]($0) }
  }

  /// Writes a new file in place of the one that may be there, and gives its path. It is not synced, which tests that
  /// write thousands of files would wait for.
  @discardableResult
  public func write(_ bytes: [UInt8], to name: String) throws -> String {
    let path = path(name)
    // Unsafe: the system reads path and bytes during the calls.
    unsafe unlink(path)
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw FileTrouble(file: path, code: errno) }
    defer { close(file) }
    let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
    guard count == bytes.count else { throw FileTrouble(file: path, code: errno) }
    return path
  }

  @discardableResult
  public func write(_ text: String, to name: String) throws -> String {
    try write(Array(text.utf8), to: name)
  }

  /// Removes a file, a link, or a folder with all that is in it, where there is one.
  public func remove(_ name: String) { try? FileManager.default.removeItem(atPath: path(name)) }

  public func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: false)
  }

  public func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
  }
}

/// A file that could not be written, and the system's reason.
public struct FileTrouble: Error {
  public let file: String
  public let code: Int32
}
