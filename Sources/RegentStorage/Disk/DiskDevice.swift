// What the disk store needs of a file system, and the real one. Tests put one in its place that tears, drops, flips
// and fails.

public import RegentLoop

/// A file of the store.
protocol DiskFile: AnyObject, Sendable {
  /// Appends what is there from an offset on to a block; how many bytes. Nil where it would mean to wait.
  func read(_ count: Int, at offset: Int, into block: Block, waits: Bool) throws(SystemError) -> Int?
  func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError)
  func allocate(_ count: Int, at offset: Int, grows: Bool) throws(SystemError)
  func truncate(to size: Int) throws(SystemError)
  func sync() throws(SystemError)
  func size() throws(SystemError) -> (length: Int, taken: Int)
  /// Says that these bytes will be read soon.
  func expect(_ count: Int, at offset: Int)
  /// The file itself, where its bytes may be sent from it.
  var sendable: RandomFile? { get }
}

extension RandomFile: DiskFile {
  var sendable: RandomFile? { self }
}

extension DiskFile {
  func expect(_ count: Int, at offset: Int) {}
  var sendable: RandomFile? { nil }

  /// At most `count` bytes from an offset on, waiting for them.
  func bytes(_ count: Int, at offset: Int) throws(SystemError) -> Slice {
    let block = Block(capacity: count)
    _ = try read(count, at: offset, into: block, waits: true)
    return Slice(block)
  }
}

/// Why a directory was not opened.
public enum DiskOpenFailure: Error, Sendable, Equatable {
  /// Another process uses the directory.
  case inUse
  /// Three starts within a minute ended abnormally: this one does without the disk.
  case crashLoop
  case system(SystemError)
}

/// The folder that the files are in.
protocol DiskDevice: AnyObject, Sendable {
  /// Makes and opens the folder, and takes its lock; once more after it was lost.
  func open() throws(DiskOpenFailure)
  /// Whether the folder is still where it was.
  var isPresent: Bool { get }
  func names() throws(SystemError) -> [String]
  func file(_ name: String, _ opening: Folder.Opening) throws(SystemError) -> any DiskFile
  func remove(_ name: String) throws(SystemError)
  func rename(_ name: String, to other: String) throws(SystemError)
  func sync() throws(SystemError)
  /// Gives the lock back.
  func close()
}

extension DiskDevice {
  /// Writes a small file anew: whole, or not at all.
  func replace(_ name: String, with bytes: [UInt8]) throws(SystemError) {
    try remove(DiskName.temporary)
    let file = try file(DiskName.temporary, .making)
    try file.write(bytes.span, at: 0)
    try file.sync()
    try rename(DiskName.temporary, to: name)
    try sync()
  }

  /// The first bytes of a file; nil where there is none.
  func start(of name: String, _ count: Int) -> Slice? {
    // A file that cannot be read is one that is not there for us.
    try? file(name, .reading).bytes(count, at: 0)
  }
}

/// A directory of the file system: `lock`, and the folder of this format's version.
final class FolderDevice: DiskDevice {
  private struct Opened: Sendable {
    let root: Folder
    let folder: Folder
    let lock: RandomFile
  }
  private let path: String
  // Replaced as a whole when the directory was lost; held while a name is looked up, never while a file is read.
  private let opened = Lock<Opened?>(nil)

  init(path: String) { self.path = path }

  func open() throws(DiskOpenFailure) {
    close()
    let found: Opened?
    do throws(SystemError) {
      let root = try Folder.open(path)
      let lock = try root.lock(DiskName.lock)
      found =
        if let lock { Opened(root: root, folder: try root.folder(DiskFormat.folder), lock: lock) } else {
          nil
        }
    } catch {
      throw .system(error)
    }
    guard let found else { throw .inUse }
    opened.withLock { $0 = found }
  }

  func close() { opened.withLock { $0 = nil } }

  private func folder() throws(SystemError) -> Folder {
    guard let folder = opened.withLock({ $0?.folder }) else { throw SystemError(call: "open", code: 2) }
    return folder
  }

  var isPresent: Bool { opened.withLock { $0 }.map { $0.root.isPresent && $0.folder.isPresent } ?? false }

  func names() throws(SystemError) -> [String] {
    try folder().names(where: DiskName.isOwn)
  }

  func file(_ name: String, _ opening: Folder.Opening) throws(SystemError) -> any DiskFile {
    try folder().file(name, opening)
  }
  func remove(_ name: String) throws(SystemError) { try folder().remove(name) }
  func rename(_ name: String, to other: String) throws(SystemError) { try folder().rename(name, to: other) }
  func sync() throws(SystemError) { try folder().sync() }
}
