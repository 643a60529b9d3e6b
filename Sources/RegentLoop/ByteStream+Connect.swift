// Opening a stream to a peer.

import CLibevent
import Glibc

extension ByteStream {
  /// Connects to an address within `timeout`. The stream is the caller's to close.
  public static func connect(
    to address: SocketAddress, on loop: EventLoop, timeout: Duration
  ) async throws(StreamError) -> ByteStream {
    let stream = try open(address, on: loop)
    do throws(StreamError) {
      try await stream.connected(until: loop.clock.time(in: timeout))
      return stream
    } catch {
      stream.close()
      throw error
    }
  }

  /// Waits until the socket is connected, or knows why it is not.
  func connected(until deadline: Int64) async throws(StreamError) {
    setDeadline(deadline)
    try await writable()
    setDeadline(nil)
    try checkConnected()
  }

  /// A socket that has begun to connect.
  static func open(_ address: SocketAddress, on loop: EventLoop) throws(StreamError) -> ByteStream {
    guard !loop.hasEnded else { throw .closed }
    let descriptor = regent_socket(address.family, Int32(SOCK_STREAM.rawValue))
    guard descriptor >= 0 else { throw .system(SystemError(call: "socket", code: errno)) }
    if address.family != AF_UNIX { setNoDelay(descriptor) }
    let stream = ByteStream(descriptor: descriptor, on: loop)
    // Unsafe: the kernel reads the address within the call.
    let result = unsafe address.withSocketAddress { unsafe Glibc.connect(descriptor, $0, $1) }
    if result < 0, errno != EINPROGRESS {
      let error = SystemError(call: "connect", code: errno)
      stream.close()
      throw .system(error)
    }
    return stream
  }

  private func checkConnected() throws(StreamError) {
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    // Unsafe: fills two locals.
    _ = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
    if code != 0 { throw .system(SystemError(call: "connect", code: code)) }
  }
}

/// Sends small segments at once (TCP_NODELAY).
func setNoDelay(_ descriptor: Int32) {
  var one: Int32 = 1
  // Unsafe: passes a local.
  _ = unsafe setsockopt(
    descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
}
