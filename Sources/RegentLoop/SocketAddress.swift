// An address of a socket: IPv4, IPv6 or a path. Kept as the bytes that the kernel takes.

import CLibevent
import Glibc

/// Where a socket listens or connects to.
public struct SocketAddress: Sendable, Equatable {
  /// The bytes of the `sockaddr`.
  let bytes: [UInt8]
  let family: Int32
  public let description: String

  init(bytes: [UInt8], family: Int32, description: String) {
    self.bytes = bytes
    self.family = family
    self.description = description
  }

  /// A literal IP address without brackets; nil if it is none.
  public init?(ip: String, port: UInt16) {
    guard let found = try? Resolver.lookUp(host: ip, port: port, numericOnly: true).first else { return nil }
    self = found
  }

  /// A Unix socket's path of 1 to 107 bytes; nil if it does not fit.
  public init?(path: String) {
    let text = Array(path.utf8)
    guard (1...107).contains(text.count), !text.contains(0) else { return nil }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // Unsafe: copies within the path's 108 bytes, the last of which stays zero.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: text) }
    bytes = unsafe withUnsafeBytes(of: address) { unsafe Array($0) }
    family = AF_UNIX
    description = "unix:\(path)"
  }

  /// The address with another port; Unix sockets have none and stay as they are.
  public func with(port: UInt16) -> SocketAddress {
    guard family != AF_UNIX else { return self }
    var changed = bytes
    changed[2] = UInt8(port >> 8)
    changed[3] = UInt8(port & 0xff)
    return SocketAddress(bytes: changed, family: family, description: description)
  }

  /// Whether it is an address that never leaves the machine (RFC 6890, RFC 4291 section 2.5.3).
  public var isLoopback: Bool {
    switch family {
    case AF_INET: bytes[4] == 127
    case AF_INET6: bytes[8..<23].allSatisfy { $0 == 0 } && bytes[23] == 1
    default: false
    }
  }

  public var port: UInt16? { family == AF_UNIX ? nil : UInt16(bytes[2]) << 8 | UInt16(bytes[3]) }

  func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    // Unsafe: the bytes are a whole sockaddr of this family.
    unsafe bytes.withUnsafeBytes { raw in
      guard let start = raw.baseAddress else { preconditionFailure("an address is never empty") }
      return unsafe body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(raw.count))
    }
  }
}
