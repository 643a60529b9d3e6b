// The kit's service manager: the datagram socket on which a daemon tells of its life, as sd_notify(3) describes it.
// It only listens; like Socket.swift it shares nothing with the daemon's own code.

import Foundation
import Glibc
import TestKit

/// A socket for NOTIFY_SOCKET.
final class ServiceManager: Sendable {
  /// Where the socket's name lies: in the file system, or in the abstract space that begins with a NUL.
  enum Space: CaseIterable { case path, abstract }

  private let descriptor: Int32
  private let folder: TemporaryFolder
  /// The name as the daemon's environment has it.
  let name: String

  init(_ space: Space) throws {
    folder = try TemporaryFolder()
    let path = folder.path("notify")
    name = space == .path ? path : "@" + path
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = (space == .path ? [] : [0]) + Array(path.utf8)
    precondition(bytes.count < 108, "a socket's name has at most 107 bytes")
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let descriptor = descriptor
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, size)
      }
    }
    guard result == 0 else { throw SocketError.failed("bind", errno) }
  }

  deinit { close(descriptor) }

  /// The next message; waits for it with the kit's patience.
  func next() throws -> String {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&entry, 1, Int32(patience * 1000)) > 0, let message = waiting else {
      throw SocketError.timeout
    }
    return message
  }

  /// A message that has come already, or nil.
  var waiting: String? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
  }
}
