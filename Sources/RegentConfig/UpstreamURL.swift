// An origin's URL, read strictly: what cannot be meant is refused, never repaired.

/// Where an origin is: scheme, host, port and the path that its resources are below.
public struct UpstreamURL: Sendable, Hashable {
  public enum Scheme: String, Sendable {
    case http, https

    public var defaultPort: UInt16 { self == .http ? 80 : 443 }
  }

  public let scheme: Scheme
  /// The host name in lower case, or the IP address; an IPv6 address without its brackets.
  public let host: String
  public let port: UInt16
  /// The path before every request's own: empty, or with a slash in front and none at its end.
  public let basePath: String
  /// The path of the Unix socket that leads there, in place of host and port.
  public let socket: String?

  /// The origin at `text`, such as "https://api.example.org/v1", "unix:/run/app.sock", or the same with a path,
  /// "http://unix:/run/app.sock:/v1"; throws one sentence about what is wrong.
  public init(_ text: String) throws(Refusal) {
    guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !Self.unwise.contains($0) }) else {
      throw Refusal("a URL holds only visible ASCII characters, without quotes, brackets or backslashes")
    }
    let (scheme, rest) = try Self.scheme(of: text.hasPrefix("unix:/") ? "http://\(text)" : text)
    guard !rest.hasPrefix("unix:/") else {
      (socket, basePath) = try Self.socketAndPath(rest.dropFirst(5))
      (self.scheme, host, port) = (scheme, "localhost", scheme.defaultPort)
      return
    }
    socket = nil
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    guard !rest.contains("?"), !rest.contains("#") else {
      throw Refusal("an upstream has no query and no fragment")
    }
    let authority = rest[..<slash]
    guard !authority.contains("@") else { throw Refusal("an upstream has no user or password") }
    let (host, port) = try Self.hostAndPort(authority)
    self.scheme = scheme
    self.host = host
    self.port = try port.map { digits throws(Refusal) in try Self.port(digits) } ?? scheme.defaultPort
    basePath = try Self.basePath(rest[slash...])
  }

  private static let unwise: [UInt8] = Array("\"<>\\^`{|}".utf8)

  private static func scheme(of text: String) throws(Refusal) -> (Scheme, Substring) {
    for scheme in [Scheme.http, .https] {
      let prefix = scheme.rawValue + "://"
      if text.lowercased().hasPrefix(prefix) { return (scheme, text.dropFirst(prefix.count)) }
    }
    throw Refusal("an upstream begins with http://, https:// or unix:/")
  }

  /// A socket's path, and what may stand behind it and a colon.
  private static func socketAndPath(_ text: Substring) throws(Refusal) -> (String, String) {
    let colon = text.firstIndex(of: ":") ?? text.endIndex
    guard !text.contains("?"), !text.contains("#") else {
      throw Refusal("an upstream has no query and no fragment")
    }
    guard text[..<colon].utf8.count <= 107, !text[..<colon].hasSuffix("/") else {
      throw Refusal("a socket's path has at most 107 bytes and names no folder")
    }
    let path = text[colon...].dropFirst()
    guard path.isEmpty || path.first == "/" else { throw Refusal("behind a socket's path comes :/PATH") }
    return (String(text[..<colon]), try basePath(path))
  }

  private static func hostAndPort(_ authority: Substring) throws(Refusal) -> (String, Substring?) {
    if authority.first == "[" {
      guard let end = authority.firstIndex(of: "]"),
        let address = IPAddress.v6(authority[..<end].dropFirst())
      else { throw Refusal("the brackets hold no IPv6 address") }
      let rest = authority[end...].dropFirst()
      guard rest.isEmpty || rest.first == ":" else { throw Refusal("after the address comes :PORT") }
      return (address, rest.isEmpty ? nil : rest.dropFirst())
    }
    let colon = authority.firstIndex(of: ":") ?? authority.endIndex
    guard let host = HostName.canonical(authority[..<colon]) else {
      throw Refusal("\"\(authority[..<colon])\" is no host name")
    }
    return (host, colon == authority.endIndex ? nil : authority[colon...].dropFirst())
  }

  private static func port(_ digits: Substring) throws(Refusal) -> UInt16 {
    guard let port = PortNumber.parse(digits), port > 0 else {
      throw Refusal("a port is a number from 1 to 65535")
    }
    return port
  }

  private static func basePath(_ path: Substring) throws(Refusal) -> String {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    guard !segments.contains("."), !segments.contains("..") else {
      throw Refusal("a path holds no \".\" or \"..\"")
    }
    var path = path
    while path.last == "/" { path.removeLast() }
    return String(path)
  }
}

extension UpstreamURL: CustomStringConvertible {
  /// The host as it stands in a URL: an IPv6 address in brackets.
  public var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }

  /// The value of `Host`: the port is left out where it is the scheme's own (RFC 9110 section 7.2).
  public var authority: String {
    port == scheme.defaultPort ? bracketedHost : "\(bracketedHost):\(port)"
  }

  public var description: String {
    guard let socket else { return "\(scheme.rawValue)://\(authority)\(basePath)" }
    return "\(scheme.rawValue)://unix:\(socket)\(basePath.isEmpty ? "" : ":\(basePath)")"
  }
}
