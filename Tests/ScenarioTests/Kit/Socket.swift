// The kit's sockets: blocking TCP over 127.0.0.1 with one patience for everything, used from plain threads.
// One of the four files of the kit with pointers, beside Spawn, Pattern and ServiceManager. It shares nothing with
// the daemon's own sockets, so that a mistake there cannot hide here.

import Foundation
import Glibc

/// How long the kit waits for anything before it calls it a hang, in seconds.
let patience = 20

/// What went wrong on a socket.
enum SocketError: Error, Equatable {
  case timeout
  case reset
  case refused
  case failed(String, Int32)
}

/// A TCP connection, closed when it is released.
final class Socket: Sendable {
  private let descriptor: Int32
  private let isOpen = Shared(true)

  init(adopting descriptor: Int32) {
    self.descriptor = descriptor
    setTimeout(SO_RCVTIMEO)
    setTimeout(SO_SNDTIMEO)
    setOption(tcpLevel, TCP_NODELAY, 1)
  }

  /// Connects to a port of this machine, from `source` (an address in 127.0.0.0/8) where one is given.
  convenience init(port: UInt16, receiveBuffer: Int32? = nil) throws {
    let descriptor = socket(AF_INET, streamType, 0)
    guard descriptor >= 0 else { throw SocketError.failed("socket", errno) }
    self.init(adopting: descriptor)
    if let receiveBuffer { setOption(SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
    var address = loopback(port)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, size)
      }
    }
    guard result == 0 || errno == EINTR && isConnected() else { throw Socket.failure("connect") }
  }

  /// Whether a connection that was interrupted on its way, and goes on all the same, comes about.
  private func isConnected() -> Bool {
    var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    var (error, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
    while unsafe Glibc.poll(&asked, 1, Int32(patience) * 1000) < 0, errno == EINTR {}
    // Unsafe: both are the address of a local.
    _ = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
    errno = error
    return error == 0 && asked.revents != 0
  }

  deinit { close() }

  /// Sends all bytes, or throws.
  func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count { sent += try sendSome(bytes, from: sent) }
  }

  private func sendSome(_ bytes: [UInt8], from offset: Int) throws -> Int {
    let count = unsafe bytes.withUnsafeBytes {
      unsafe Glibc.send(descriptor, $0.baseAddress.map { unsafe $0 + offset }, $0.count - offset, noSignal)
    }
    if count < 0 {
      if errno == EINTR { return 0 }
      throw Socket.failure("send")
    }
    return count
  }

  /// Receives between 1 and `limit` bytes; empty means that the peer ended its side cleanly.
  func receive(upTo limit: Int = 65_536) throws -> [UInt8] {
    while true {
      var result = 0
      let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        result = unsafe recv(descriptor, buffer.baseAddress, limit, 0)
        count = max(0, result)
      }
      if result >= 0 { return bytes }
      if errno != EINTR { throw Socket.failure("recv") }
    }
  }

  /// Whether there is something to read (bytes, an end, or an error) within so many milliseconds.
  func isReadable(within milliseconds: Int32) -> Bool { poll(for: Int16(POLLIN), milliseconds) }

  /// Whether the kernel takes more bytes within so many milliseconds.
  func isWritable(within milliseconds: Int32) -> Bool { poll(for: Int16(POLLOUT), milliseconds) }

  /// Which of many have something to read; waits up to so many milliseconds for the first.
  static func areReadable(_ sockets: [Socket], within milliseconds: Int32) -> [Bool] {
    var entries = sockets.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    _ = unsafe Glibc.poll(&entries, nfds_t(entries.count), milliseconds)
    return entries.map { $0.revents != 0 }
  }

  private func poll(for events: Int16, _ milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: events, revents: 0)
    return unsafe Glibc.poll(&entry, 1, milliseconds) > 0
  }

  /// Ends the sending side; the peer sees a clean end.
  func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Ends both sides from any thread; a blocked `receive` returns.
  func hangUp() {
    isOpen.update { if $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }

  /// Closes with a reset (RST) in place of a clean end.
  func reset() {
    isOpen.update { open in
      guard open else { return }
      var option = linger(l_onoff: 1, l_linger: 0)
      let size = socklen_t(MemoryLayout<linger>.size)
      unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, size)
    }
    close()
  }

  func close() {
    isOpen.update { open in
      if open { Glibc.close(descriptor) }
      open = false
    }
  }

  private func setTimeout(_ name: Int32) {
    var time = timeval(tv_sec: patience, tv_usec: 0)
    unsafe setsockopt(descriptor, SOL_SOCKET, name, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  private func setOption(_ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    unsafe setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  fileprivate static func failure(_ call: String) -> SocketError {
    switch errno {
    case EAGAIN, ETIMEDOUT, EINPROGRESS: .timeout
    case ECONNRESET, EPIPE: .reset
    case ECONNREFUSED: .refused
    default: .failed(call, errno)
    }
  }
}

/// A listening TCP socket on 127.0.0.1.
final class Listener: Sendable {
  private let descriptor: Int32
  let port: UInt16

  /// Listens on `port`; 0 takes one that the system hands out.
  init(port: UInt16 = 0, backlog: Int32 = 1024) throws {
    descriptor = socket(AF_INET, streamType | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw SocketError.failed("socket", errno) }
    var yes: Int32 = 1
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = loopback(port)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        let bound = unsafe bind(descriptor, $0, size)
        unsafe getsockname(descriptor, $0, &size)
        return bound
      }
    }
    self.port = UInt16(bigEndian: address.sin_port)
    guard result == 0, listen(descriptor, backlog) == 0 else { throw Socket.failure("bind") }
  }

  deinit { Glibc.close(descriptor) }

  /// The next connection, or nil once `stop` was called.
  func accept() -> Socket? {
    while true {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      _ = unsafe poll(&entry, 1, -1)
      if entry.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 { return nil }
      // No program may start between the two calls and take the descriptor with it.
      let accepted = spawning.withLock {
        let accepted = Glibc.accept(descriptor, nil, nil)
        if accepted >= 0 { _ = fcntl(accepted, F_SETFD, FD_CLOEXEC) }
        return accepted
      }
      if accepted >= 0 { return Socket(adopting: accepted) }
      if ![EINTR, ECONNABORTED, EAGAIN].contains(errno) { return nil }
    }
  }

  func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// Lets this process and its children open as many descriptors as the system allows.
let raisedDescriptorLimit: Bool = {
  var limit = rlimit()
  guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
  limit.rlim_cur = limit.rlim_max
  return unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
}()

private let streamType = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
private let noSignal = Int32(MSG_NOSIGNAL)
private let tcpLevel = Int32(IPPROTO_TCP)

private func loopback(_ port: UInt16) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  return address
}
