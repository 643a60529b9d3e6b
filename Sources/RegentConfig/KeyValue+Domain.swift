// How the parts of a domain are written: addresses, URLs, patterns, field lines.

/// The addresses that one text stands for: "localhost:8080" stands for two.
struct ListenAddresses: KeyValue {
  var addresses: [ListenAddress]

  static var expectation: String { "a list of addresses such as [\"127.0.0.1:8080\"]" }
  static func read(_ node: Node) throws(KeyFailure) -> ListenAddresses {
    var addresses: [ListenAddress] = []
    for text in try [String].read(node) {
      do {
        addresses += try ListenAddress.parse(text)
      } catch {
        throw .refused(value: text.quoted, because: error.description)
      }
    }
    return ListenAddresses(addresses: addresses)
  }
  var toml: String? { addresses.map(\.description).toml }
}

extension Configuration.Server {
  /// The addresses as the key `server.listen` reads and writes them.
  var listenAddresses: ListenAddresses {
    get { ListenAddresses(addresses: listen) }
    set { listen = newValue.addresses }
  }
}

extension HostPattern: KeyValue {
  static var expectation: String { "a host name, or \"*.\" and one, without a port" }
  static func read(_ node: Node) throws(KeyFailure) -> HostPattern {
    try expect(node.string.flatMap { HostPattern($0) })
  }
  var toml: String? {
    switch self {
    case .exact(let host): host.quoted
    case .suffix(let host): "*.\(host)".quoted
    }
  }

  /// The pattern that "example.org", "*.example.org", "127.0.0.1" or "[::1]" stands for.
  init?(_ text: String) {
    if text.hasPrefix("*.") {
      guard let host = HostName.canonical(text.dropFirst(2)), IPAddress.v4(host[...]) == nil else {
        return nil
      }
      self = .suffix(host)
    } else if text.first == "[", text.last == "]" {
      guard let address = IPAddress.v6(text.dropFirst().dropLast()) else { return nil }
      self = .exact("[\(address)]")
    } else {
      guard let host = HostName.canonical(text[...]) else { return nil }
      self = .exact(host)
    }
  }
}

extension PathPattern: KeyValue {
  static var expectation: String { "a path such as \"/status\" or \"/api/*\"" }
  static func read(_ node: Node) throws(KeyFailure) -> PathPattern {
    try expect(node.string.flatMap { PathPattern($0) })
  }
  var toml: String? {
    switch self {
    case .exact(let path): path.quoted
    case .prefix(let path): "\(path)*".quoted
    }
  }

  /// The pattern of a path; a `*` may stand at its end alone.
  init?(_ text: String) {
    let path = text.last == "*" ? String(text.dropLast()) : text
    guard path.isRequestPath, !path.contains("*") else { return nil }
    self = text.last == "*" ? .prefix(path) : .exact(path)
  }
}

extension String {
  /// Whether it is a path as it stands in a request line: a slash, then visible ASCII, no query.
  var isRequestPath: Bool {
    first == "/"
      && utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
  }

  /// Whether it is a token (RFC 9110 section 5.6.2).
  var isToken: Bool {
    !isEmpty
      && utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }
}

extension FixtureField: KeyValue {
  static var expectation: String { "a field line such as \"Cache-Control: max-age=60\"" }
  static func read(_ node: Node) throws(KeyFailure) -> FixtureField {
    guard let text = node.string, let colon = text.firstIndex(of: ":") else { throw .mismatch(nearest: nil) }
    let name = String(text[..<colon])
    var value = text[colon...].dropFirst()
    while value.first == " " { value.removeFirst() }
    while value.last == " " { value.removeLast() }
    guard name.isToken, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
      throw .mismatch(nearest: nil)
    }
    guard !framing.contains(name.lowercased()) else {
      throw .refused(value: text.quoted, because: "Regent writes this field itself")
    }
    return FixtureField(name: name, value: String(value))
  }
  var toml: String? { "\(name): \(value)".quoted }

  /// The fields that frame a message, which nobody but the serializer may write.
  private static let framing = ["connection", "content-length", "keep-alive", "transfer-encoding", "upgrade"]
}

extension ProviderEntry.Domains: KeyValue {
  static var expectation: String { "\"any\" or a list of domains' names" }
  static func read(_ node: Node) throws(KeyFailure) -> ProviderEntry.Domains {
    if node.string == "any" { return .any }
    return .named(try [String].read(node))
  }
  var toml: String? {
    switch self {
    case .any: "any".quoted
    case .named(let names): names.toml
    }
  }
}

extension Fixture {
  /// The body as the key `body` reads and writes it.
  var text: String? {
    get { if case .text(let text) = body { text } else { nil } }
    set { body = .text(newValue ?? "") }
  }

  /// The body as the key `file` reads and writes it.
  var file: String? {
    get { if case .file(let path) = body { path } else { nil } }
    set { if let newValue { body = .file(newValue) } }
  }
}
