// Names to addresses by the system's own resolver, on threads of its own; never libevent's.

import CLibevent
import Glibc

/// The system's resolver behind threads that may block.
public struct Resolver: Sendable {
  private let pool: BlockingPool

  public init(threads: Int = 2) throws(SystemError) {
    pool = try BlockingPool(name: "regent-dns", threads: threads, bound: 1000)
  }

  /// The addresses of a host, both families, in the order that the system prefers. Never empty.
  public func resolve(host: String, port: UInt16) async throws(StreamError) -> [SocketAddress] {
    if let literal = try? Self.lookUp(host: host, port: port, numericOnly: true) { return literal }
    let outcome = await pool.run { () -> Result<[SocketAddress], StreamError> in
      do throws(StreamError) {
        return .success(try Self.lookUp(host: host, port: port, numericOnly: false))
      } catch {
        return .failure(error)
      }
    }
    guard let outcome else { throw .nameNotFound("too many names are being resolved") }
    return try outcome.get()
  }

  static func lookUp(host: String, port: UInt16, numericOnly: Bool) throws(StreamError) -> [SocketAddress] {
    // Unsafe: the hints point nowhere.
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = numericOnly ? AI_NUMERICHOST | AI_NUMERICSERV : AI_ADDRCONFIG | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    // Unsafe: the list is the resolver's and freed below.
    let code = unsafe getaddrinfo(host, String(port), &hints, &list)
    guard code == 0 else { throw .nameNotFound(unsafe String(cString: gai_strerror(code))) }
    defer { unsafe freeaddrinfo(list) }
    var found: [SocketAddress] = []
    var next = unsafe list
    while let entry = unsafe next {
      if let address = unsafe entry.pointee.ai_addr {
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: address, count: Int(entry.pointee.ai_addrlen)))
        let text = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        unsafe found.append(
          SocketAddress(bytes: bytes, family: entry.pointee.ai_family, description: text))
      }
      unsafe next = entry.pointee.ai_next
    }
    guard !found.isEmpty else { throw .nameNotFound("no address") }
    return found
  }
}
