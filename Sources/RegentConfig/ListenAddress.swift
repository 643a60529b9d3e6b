// The addresses that Regent listens on, in their written form and as values.

/// An address to listen on.
public enum ListenAddress: Sendable, Hashable {
  /// An IP address, IPv6 without brackets; port 0 lets the system choose.
  case tcp(address: String, port: UInt16)
  /// Every address of the machine, IPv4 and IPv6.
  case anyAddress(port: UInt16)
  /// A Unix socket at an absolute path.
  case unix(path: String)

  /// The longest path of a Unix socket on Linux, in bytes.
  static let longestPath = 107

  /// The addresses that a text such as "127.0.0.1:8080", "[::1]:8080", "*:80" or "unix:/path" stands
  /// for; "localhost:8080" stands for both loopback addresses. Throws one sentence about what is wrong.
  public static func parse(_ text: String) throws(Refusal) -> [ListenAddress] {
    if text.hasPrefix("unix:") { return [try unix(text.dropFirst("unix:".count))] }
    guard let colon = text.lastIndex(of: ":"), let port = PortNumber.parse(text[colon...].dropFirst())
    else { throw Refusal("an address ends in a colon and a port from 0 to 65535") }
    let host = text[..<colon]
    if host == "*" { return [.anyAddress(port: port)] }
    if host.lowercased() == "localhost" {
      return [.tcp(address: "127.0.0.1", port: port), .tcp(address: "::1", port: port)]
    }
    if let address = IPAddress.v4(host) { return [.tcp(address: address, port: port)] }
    if host.first == "[", host.last == "]", let address = IPAddress.v6(host.dropFirst().dropLast()) {
      return [.tcp(address: address, port: port)]
    }
    throw Refusal("before the port stands an IPv4 address, an IPv6 address in brackets, localhost, or *")
  }

  private static func unix(_ path: Substring) throws(Refusal) -> ListenAddress {
    guard path.first == "/", !path.utf8.contains(0), path.utf8.count <= longestPath else {
      throw Refusal("a Unix socket has an absolute path of at most \(longestPath) bytes")
    }
    return .unix(path: String(path))
  }
}

extension ListenAddress: CustomStringConvertible {
  public var description: String {
    switch self {
    case .tcp(let address, let port): address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    case .anyAddress(let port): "*:\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }
}
