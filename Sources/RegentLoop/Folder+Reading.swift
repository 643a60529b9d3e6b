// Folders that are only looked at, or made for the first time: nothing here changes what is there already, and none of
// it follows a link. Also who holds a lock, found out without taking it.

import CLibevent
import Glibc

extension Folder {
  /// Opens a folder that is there, whoever's it is, to read what is in it; a link is refused.
  public static func existing(_ path: String) throws(SystemError) -> Folder {
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    // Unsafe: the path lives for the call.
    return Folder(try SystemError.check("open", unsafe Glibc.open(path, flags)))
  }

  /// Opens a folder within this one, which is there, to read what is in it.
  public func existingFolder(_ name: String) throws(SystemError) -> Folder {
    // Unsafe: the name lives for the call.
    Folder(
      try SystemError.check("open", unsafe regent_open_in(descriptor, name, O_RDONLY | O_DIRECTORY, 0)))
  }

  /// Makes a folder that nobody else may enter, or opens one that is there and empty; nil where it is not empty.
  public static func empty(_ path: String) throws(SystemError) -> Folder? {
    // Unsafe: the path lives for the call.
    if unsafe mkdir(path, 0o700) != 0, errno != EEXIST { throw SystemError(call: "mkdir", code: errno) }
    let folder = try existing(path)
    return try folder.names { $0 != "." && $0 != ".." }.isEmpty ? folder : nil
  }
}

/// Who has a lock.
public enum LockHolder: Sendable, Equatable {
  case nobody
  case process(Int32)
  /// The system does not tell.
  case unknown
}

extension Folder {
  /// Who has the lock that a file stands for, as ``lock(_:)`` takes it. The lock itself is left alone: to try it would be
  /// to hold it for a moment, in which its owner could not start.
  public func lockHolder(_ name: String) -> LockHolder {
    var status = stat()
    // A lock that is not there, nobody has.
    guard let file = try? open(name, O_RDONLY) else { return .nobody }
    defer { close(file) }
    // Unsafe: fills a local.
    guard unsafe fstat(file, &status) == 0, let table = LockTable.read() else { return .unknown }
    return LockTable.holder(in: table, device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }
}

/// The table of the system's locks, /proc/locks (proc(5)).
enum LockTable {
  static func read() -> String? {
    // Unsafe: the name lives for the call.
    let file = unsafe open("/proc/locks", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var text: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      // Unsafe: reads into the array's own bytes.
      let count = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return count < 0 ? nil : String(decoding: text, as: UTF8.self) }
      text += piece[..<count]
    }
  }

  /// The owner of a `flock` on a file. A line reads `1: FLOCK  ADVISORY  WRITE 708 fe:00:524293 0 EOF`, with the numbers of
  /// the device in hexadecimal; `->` before the kind marks one that still waits.
  static func holder(in table: String, device: UInt64, inode: UInt64) -> LockHolder {
    let major = device >> 8 & 0xFFF | device >> 32 & ~0xFFF
    let minor = device & 0xFF | device >> 12 & 0xFFFF_FF00
    for line in table.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count >= 6, words[1] == "FLOCK", words[3] == "WRITE", let process = Int32(words[4]) else {
        continue
      }
      let place = words[5].split(separator: ":")
      guard place.count == 3, UInt64(place[0], radix: 16) == major, UInt64(place[1], radix: 16) == minor,
        UInt64(place[2]) == inode
      else { continue }
      return .process(process)
    }
    return .nobody
  }
}
