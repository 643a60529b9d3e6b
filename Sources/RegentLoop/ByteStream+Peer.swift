// Who is at the other end of a stream.

import CLibevent
import Glibc

extension ByteStream {
  /// The peer's IP address as text, without its port; nil where it has none, as at a Unix socket, or is gone.
  public var peerAddress: String? {
    guard isOpen else { return nil }
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    // Unsafe: the kernel and the resolver fill two locals, whose sizes they are told.
    let code = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard unsafe getpeername(descriptor, address, &length) == 0 else { return Int32(-1) }
        guard unsafe [AF_INET, AF_INET6].contains(Int32(address.pointee.sa_family)) else { return Int32(-1) }
        return unsafe getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
      }
    }
    guard code == 0 else { return nil }
    let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // A socket for both families names IPv4 peers so.
    return address.hasPrefix("::ffff:") && address.contains(".") ? String(address.dropFirst(7)) : address
  }
}
