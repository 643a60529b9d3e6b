// A cache's folder that is only looked at, maybe while another process writes to it: what would change anything does
// nothing. So the recovery itself can say what the next start would find.

import RegentLoop

/// A file that is read, and never written.
final class ReadingFile: DiskFile {
  private let file: RandomFile

  init(_ file: RandomFile) { self.file = file }

  func read(_ count: Int, at offset: Int, into block: Block, waits: Bool) throws(SystemError) -> Int? {
    try file.read(count, at: offset, into: block, waits: waits)
  }
  func size() throws(SystemError) -> (length: Int, taken: Int) { try file.size() }
  func expect(_ count: Int, at offset: Int) { file.expect(count, at: offset) }

  // A segment's damaged end stays as it is.
  func truncate(to size: Int) throws(SystemError) {}
  func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError) { throw .readOnly }
  func allocate(_ count: Int, at offset: Int, grows: Bool) throws(SystemError) { throw .readOnly }
  func sync() throws(SystemError) { throw .readOnly }
}

/// The folder of this format's version, without its lock.
final class ReadingDevice: DiskDevice {
  private let folder: Folder
  // Set where a file is looked for, read when all are; both by one thread.
  private let missed = Lock(false)

  init(_ folder: Folder) { self.folder = folder }

  /// Whether a file that was there when the names were read was gone when it was opened.
  var hasMissed: Bool { missed.withLock { $0 } }

  func open() throws(DiskOpenFailure) {}
  func close() {}
  var isPresent: Bool { true }
  func names() throws(SystemError) -> [String] { try folder.names(where: DiskName.isOwn) }

  func file(_ name: String, _ opening: Folder.Opening) throws(SystemError) -> any DiskFile {
    guard opening != .making else { throw .readOnly }
    do throws(SystemError) {
      return ReadingFile(try folder.file(name, .reading))
    } catch {
      if error.isAbsence, !DiskName.indexes.contains(name) { missed.withLock { $0 = true } }
      throw error
    }
  }

  // What the recovery would remove stays.
  func remove(_ name: String) throws(SystemError) {}
  func rename(_ name: String, to other: String) throws(SystemError) { throw .readOnly }
  func sync() throws(SystemError) { throw .readOnly }
}

extension SystemError {
  /// Something is asked of what is only looked at.
  static var readOnly: SystemError { SystemError(call: "write", code: 30) }
}
