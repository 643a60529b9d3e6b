// A folder of our own and the files in it. Names are looked up beneath its descriptor, so a path that is replaced
// meanwhile leads nowhere else; links are not followed, and what is no regular file is refused.

import CLibevent
import Glibc

/// An open folder; closed when it is let go of.
public final class Folder: Sendable {
  let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }
  deinit { close(descriptor) }

  /// Opens a folder, made where it is not there yet. It must be ours; nobody else may enter it from then on.
  public static func open(_ path: String) throws(SystemError) -> Folder {
    // Unsafe: the path lives for the calls. What cannot be made is found out when it is opened.
    _ = unsafe mkdir(path, 0o700)
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    let folder = Folder(try SystemError.check("open", unsafe Glibc.open(path, flags)))
    try folder.claim()
    return folder
  }

  /// A folder within this one, made where it is not there yet.
  public func folder(_ name: String) throws(SystemError) -> Folder {
    // Unsafe: the name lives for the calls.
    _ = unsafe mkdirat(descriptor, name, 0o700)
    let opened = unsafe regent_open_in(descriptor, name, O_RDONLY | O_DIRECTORY, 0)
    let folder = Folder(try SystemError.check("open", opened))
    try folder.claim()
    return folder
  }

  private func claim() throws(SystemError) {
    var status = stat()
    // Unsafe: fills a local.
    _ = try SystemError.check("fstat", unsafe fstat(descriptor, &status))
    guard status.st_uid == geteuid() else { throw SystemError(call: "open", code: EPERM) }
    if status.st_mode & 0o7777 != 0o700 { _ = try SystemError.check("fchmod", fchmod(descriptor, 0o700)) }
  }

  /// Whether the folder is still somewhere, rather than removed while it is open.
  public var isPresent: Bool {
    var status = stat()
    // Unsafe: fills a local.
    return unsafe fstat(descriptor, &status) == 0 && status.st_nlink > 0
  }

  /// What to do about a file.
  public enum Opening: Sendable { case reading, changing, making }

  /// Opens a regular file; with `.making` one that was not there.
  public func file(_ name: String, _ opening: Opening) throws(SystemError) -> RandomFile {
    let flags =
      switch opening {
      case .reading: O_RDONLY
      case .changing: O_RDWR
      case .making: O_RDWR | O_CREAT | O_EXCL
      }
    return RandomFile(try open(name, flags))
  }

  func open(_ name: String, _ flags: Int32) throws(SystemError) -> Int32 {
    var opened: Int32
    // Unsafe: the name lives for the call.
    repeat {
      opened = unsafe regent_open_in(descriptor, name, flags, 0o600)
    } while opened < 0 && errno == EINTR
    let file = try SystemError.check("open", opened)
    var status = stat()
    // Unsafe: fills a local.
    guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(file)
      throw SystemError(call: "open", code: EISDIR)
    }
    return file
  }

  /// Takes the lock that a file stands for, until the result is let go of; nil where another process has it.
  public func lock(_ name: String) throws(SystemError) -> RandomFile? {
    let file = try open(name, O_RDWR | O_CREAT)
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
      if errno == EINTR { continue }
      let code = errno
      close(file)
      guard code == EWOULDBLOCK else { throw SystemError(call: "flock", code: code) }
      return nil
    }
    return RandomFile(file)
  }

  /// Removes a file; that it is gone already is no error.
  public func remove(_ name: String) throws(SystemError) {
    // Unsafe: the name lives for the call.
    guard unsafe unlinkat(descriptor, name, 0) != 0, errno != ENOENT else { return }
    throw SystemError(call: "unlink", code: errno)
  }

  public func rename(_ name: String, to other: String) throws(SystemError) {
    // Unsafe: both names live for the call.
    _ = try SystemError.check("rename", unsafe renameat(descriptor, name, descriptor, other))
  }

  /// Has the names brought to the disk.
  public func sync() throws(SystemError) { _ = try SystemError.check("fsync", fsync(descriptor)) }

  /// The names in the folder that `isWanted` accepts, of whatever kind they are.
  public func names(where isWanted: (String) -> Bool) throws(SystemError) -> [String] {
    // Unsafe: the stream takes over a descriptor of its own, and is closed here; each name is copied at once.
    let own = try SystemError.check(
      "open", unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    guard let stream = unsafe fdopendir(own) else {
      close(own)
      throw SystemError(call: "fdopendir", code: errno)
    }
    // Unsafe: the stream is used here alone, and closed once; so to the end.
    defer { unsafe closedir(stream) }
    var names: [String] = []
    // Unsafe: an entry lives until the next is asked for.
    while let entry = unsafe readdir(stream) {
      // Unsafe: the name ends with a zero within the entry, which lives until the next call.
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { start in
        unsafe start.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if isWanted(name) { names.append(name) }
    }
    return names
  }
}
