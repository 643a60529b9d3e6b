// Sockets that listen: bound before the loops start, so that a port in use is said at once and in one sentence.

import CLibevent
import Glibc

/// A bound and listening socket, to be handed to one loop.
public struct ListeningSocket: Sendable {
  let descriptor: Int32
  /// Where it listens; the port is the real one, also when port 0 was asked for.
  public let address: SocketAddress

  /// Binds one socket for each of `count` loops to one address (SO_REUSEPORT), or a single one to a path.
  ///
  /// - Parameter congestionControl: The algorithm by which what is sent to TCP clients is limited (tcp(7)); nil for the
  ///   system's choice.
  public static func open(
    _ address: SocketAddress, count: Int, backlog: Int32, congestionControl: String? = nil
  ) throws(SystemError) -> [ListeningSocket] {
    if address.family == AF_UNIX { return [try openPath(address, backlog: backlog)] }
    // With SO_REUSEPORT two daemons would share a port unnoticed, even if each looked first: so the first socket listens
    // without, which of two that begin at once only one can, and then lets its own others in.
    var descriptors: [Int32] = []
    do throws(SystemError) {
      descriptors.append(try bound(address, shared: false))
      let actual = localAddress(descriptors[0], of: address)
      try listen(descriptors[0], backlog, congestionControl)
      if count > 1 { set(descriptors[0], SOL_SOCKET, SO_REUSEPORT) }
      while descriptors.count < count {
        descriptors.append(try bound(actual, shared: true))
        try listen(descriptors[descriptors.count - 1], backlog, congestionControl)
      }
      return descriptors.map { ListeningSocket(descriptor: $0, address: actual) }
    } catch {
      for descriptor in descriptors { close(descriptor) }
      throw error
    }
  }

  private static func listen(
    _ descriptor: Int32, _ backlog: Int32, _ congestionControl: String?
  ) throws(SystemError) {
    // Before there are connections: they begin with it, and one that paced would go on pacing.
    if let congestionControl { try set(congestionControl, descriptor) }
    // Where somebody else listens there meanwhile, it is as if the address had been in use before.
    _ = try SystemError.check("listen", Glibc.listen(descriptor, backlog))
  }

  private static func bound(_ address: SocketAddress, shared: Bool) throws(SystemError) -> Int32 {
    let descriptor = try SystemError.check(
      "socket", regent_socket(address.family, Int32(SOCK_STREAM.rawValue)))
    set(descriptor, SOL_SOCKET, SO_REUSEADDR)
    if shared { set(descriptor, SOL_SOCKET, SO_REUSEPORT) }
    if address.family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
    // Unsafe: the kernel reads the address within the call.
    let result = unsafe address.withSocketAddress { unsafe bind(descriptor, $0, $1) }
    if result < 0 {
      let error = SystemError(call: "bind", code: errno)
      close(descriptor)
      throw error
    }
    return descriptor
  }

  private static func openPath(_ address: SocketAddress, backlog: Int32) throws(SystemError)
    -> ListeningSocket
  {
    let path = String(address.description.dropFirst("unix:".count))
    removeStaleSocket(address, path)
    let mask = umask(0o117)
    defer { umask(mask) }
    let descriptor = try bound(address, shared: false)
    try listen(descriptor, backlog, nil)
    return ListeningSocket(descriptor: descriptor, address: address)
  }

  /// Removes what a dead daemon left: a socket that nobody answers. Anything else stays, and `bind` says so.
  private static func removeStaleSocket(_ address: SocketAddress, _ path: String) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
    let probe = regent_socket(AF_UNIX, Int32(SOCK_STREAM.rawValue))
    defer { close(probe) }
    let result = unsafe address.withSocketAddress { unsafe connect(probe, $0, $1) }
    if result < 0, errno == ECONNREFUSED { unsafe unlink(path) }
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32) {
    var one: Int32 = 1
    // Unsafe: passes a local.
    _ = unsafe setsockopt(descriptor, level, option, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Throws where the kernel does not know an algorithm of congestion control, or does not let this process choose it.
  public static func check(congestionControl: String) throws(SystemError) {
    let descriptor = try SystemError.check(
      "socket", regent_socket(AF_INET, Int32(SOCK_STREAM.rawValue)))
    defer { close(descriptor) }
    try set(congestionControl, descriptor)
  }

  private static func set(_ congestionControl: String, _ descriptor: Int32) throws(SystemError) {
    let name = Array(congestionControl.utf8)
    // Unsafe: the kernel copies the name within the call.
    let result = unsafe name.withUnsafeBytes {
      unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, $0.baseAddress, socklen_t($0.count))
    }
    _ = try SystemError.check("cannot use congestion control \"\(congestionControl)\"", result)
  }

  /// Whether what its connections send is paced: by BBR, of the algorithms that kernels have.
  var isPaced: Bool {
    var (name, size) = ([UInt8](repeating: 0, count: 16), socklen_t(16))
    // Unsafe: fills a local of the size that is passed. A Unix socket has none, and fails.
    let result = unsafe getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &size)
    return result == 0 && name.starts(with: "bbr".utf8)
  }

  private static func localAddress(_ descriptor: Int32, of asked: SocketAddress) -> SocketAddress {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    // Unsafe: fills a local that is large enough for any address.
    let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(descriptor, $0, &size)
      }
    }
    guard result == 0 else { return asked }
    // Unsafe: copies the bytes of a local. The port is at the same place in both families.
    let bytes = unsafe withUnsafeBytes(of: storage) { unsafe Array($0) }
    return asked.with(port: UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
  }
}
