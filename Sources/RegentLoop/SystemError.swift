// The one wrapper around system calls: the call's name in the error, EINTR repeated, would-block as a value.

import Glibc

/// A system call that failed: which, and with what `errno`.
public struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  public let call: String
  public let code: Int32

  public init(call: String, code: Int32) {
    self.call = call
    self.code = code
  }

  /// The system's sentence for the code.
  public var reason: String {
    // Unsafe: a string of glibc's own, which is per thread and copied here.
    unsafe String(cString: strerror(code))
  }

  public var description: String { "\(call): \(reason)" }

  /// The result of a call, or the error that it left in `errno`.
  static func check(_ call: String, _ result: Int32) throws(SystemError) -> Int32 {
    guard result >= 0 else { throw SystemError(call: call, code: errno) }
    return result
  }

  /// Whether descriptors or memory ran out: it passes, so nothing is to be given up for it.
  public var isExhaustion: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) }
}

extension SystemError {
  /// Whether the device, or what the user may take of it, is full.
  public var isNoRoom: Bool { [ENOSPC, EDQUOT].contains(code) }
  /// Whether something of that name is there already.
  public var isThere: Bool { code == EEXIST }
  public var isPermission: Bool { code == EACCES || code == EPERM }
  /// Whether there is no such thing, or there is one already.
  public var isAbsence: Bool { code == ENOENT }
  public var isExistence: Bool { code == EEXIST }
  /// Whether it is no folder, or a link, which is not followed.
  public var isNoFolder: Bool { code == ENOTDIR || code == ELOOP }
  public static let notEmpty = ENOTEMPTY
  public var isRefusal: Bool { code == ECONNREFUSED }
  /// Whether the address is taken or is none of this machine's.
  public var isAddress: Bool { [EADDRINUSE, EADDRNOTAVAIL].contains(code) }
  /// Whether the machine lacks the address family, as one without IPv6 does.
  public var isMissingFamily: Bool { [EAFNOSUPPORT, EADDRNOTAVAIL].contains(code) }

  /// A peer that accepted the connection, and then did not answer as it should.
  public static func noAnswer(_ peer: String) -> SystemError {
    SystemError(call: "no whole answer from \(peer)", code: EPROTO)
  }

  public static func noSuchAddress(_ text: String) -> SystemError {
    SystemError(call: "\(text) is no address to listen on", code: EADDRNOTAVAIL)
  }
}
