// The proxy through which a domain's origin is reached: by configuration, or as the environment says to every program.

import FoundationEssentials

/// An HTTP proxy that leads to origins.
public struct ProxyURL: Sendable, Equatable {
  /// Where it is, without a path; with https it is spoken to over TLS.
  public let url: UpstreamURL
  /// What is written into Proxy-Authorization.
  public let authorization: SecretText?

  /// The proxy at `text`, such as "http://proxy.example.org:3128" or "https://proxy.example.org", perhaps with
  /// "user:password@"; throws one sentence about what is wrong, which shows neither.
  public init(_ text: String) throws(Refusal) {
    guard let colons = text.firstRange(of: "://"),
      let scheme = UpstreamURL.Scheme(rawValue: text[..<colons.lowerBound].lowercased())
    else { throw Refusal("a proxy begins with http:// or https://") }
    let rest = text[colons.upperBound...]
    let at = rest.lastIndex(of: "@")
    let place = at.map { rest[$0...].dropFirst() } ?? rest
    let url: UpstreamURL
    do { url = try UpstreamURL("\(scheme.rawValue)://\(place)") } catch {
      throw Refusal("this is no URL of a proxy")
    }
    guard url.basePath.isEmpty, url.socket == nil else { throw Refusal("a proxy has no path") }
    self.url = url
    authorization = try at.map { at throws(Refusal) in
      try SecretText("Basic \(try Self.base64(of: rest[..<at]))")
    }
  }

  /// User and password as RFC 7617 wants them: percent-decoded, in base64.
  private static func base64(of user: Substring) throws(Refusal) -> String {
    guard var plain = decoded(user), !plain.isEmpty else {
      throw Refusal("the proxy's user is not percent-encoded as in a URL")
    }
    if !plain.contains(UInt8(ascii: ":")) { plain.append(UInt8(ascii: ":")) }
    return Data(plain).base64EncodedString()
  }

  /// The bytes that a percent-encoded text stands for (RFC 3986 section 2.1).
  private static func decoded(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2)
      guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
        let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(code)
      rest = rest.dropFirst(2)
    }
    return bytes
  }
}

/// How a domain's proxy is chosen.
public enum ProxyChoice: Sendable, Equatable {
  /// As http_proxy, https_proxy and no_proxy say; never for an origin on this machine.
  case environment
  case none
  case url(ProxyURL)
}

extension ProxyChoice: KeyValue {
  static var expectation: String {
    "\"environment\", \"none\" or a URL such as \"http://proxy.example.org:3128\""
  }
  static func read(_ node: Node) throws(KeyFailure) -> ProxyChoice {
    switch node.string {
    case "environment"?: return .environment
    case "none"?: return .none
    case let text?:
      // The URL may hold a password.
      do { return .url(try ProxyURL(text)) } catch {
        throw .refused(value: "what it is", because: error.description)
      }
    case nil: throw .mismatch(nearest: nil)
    }
  }
  var toml: String? {
    switch self {
    case .environment: "environment".quoted
    case .none: "none".quoted
    case .url: nil
    }
  }
}

extension Configuration {
  /// Chooses the proxy of every address.
  mutating func chooseProxies(_ environment: [String: String], findings: inout Findings) {
    for index in domains.indices {
      for number in domains[index].upstreams.indices {
        let url = domains[index].upstreams[number].url
        do {
          domains[index].upstreams[number].proxy = try proxy(for: url, domains[index].proxy, environment)
        } catch {
          findings.add("\"domain.proxy\": \(error)", key: "domain.proxy", at: at(index, "proxy"))
        }
      }
    }
  }

  private func proxy(
    for url: UpstreamURL, _ choice: ProxyChoice, _ environment: [String: String]
  ) throws(Refusal) -> ProxyURL? {
    guard url.socket == nil else { return nil }
    switch choice {
    case .none: return nil
    case .url(let proxy): return proxy
    case .environment:
      // HTTP_PROXY in capitals is what a CGI program's client says in its field Proxy.
      let names = url.scheme == .https ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
      let excluded = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
      guard !url.isLoopback, !url.isExcluded(by: excluded),
        let name = names.first(where: { environment[$0]?.isEmpty == false }), let text = environment[name]
      else { return nil }
      let proxy: ProxyURL
      do {
        proxy = try ProxyURL(text.contains("://") ? text : "http://\(text)")
      } catch {
        throw Refusal("the environment's \(name): \(error)")
      }
      // Clients may be told to use Regent so; it does not use itself.
      let isOwn = proxy.url.isLoopback && server.listen.contains { $0.isReached(by: proxy.url) }
      return isOwn ? nil : proxy
    }
  }
}

extension UpstreamURL {
  /// Whether no_proxy names it: "*", a host, or a domain with or without a dot in front, each perhaps with a port.
  func isExcluded(by list: String) -> Bool {
    list.split(whereSeparator: { $0 == "," || $0 == " " }).contains { entry in
      var name = entry.lowercased()[...]
      if let colon = name.lastIndex(of: ":"), let number = PortNumber.parse(name[colon...].dropFirst()),
        name.first == "[" || !name[..<colon].contains(":")
      {
        guard number == port else { return false }
        name = name[..<colon]
      }
      if name.first == "[", name.last == "]" { name = name.dropFirst().dropLast() }
      while name.first == "." { name.removeFirst() }
      return name == "*" || host == name || !name.isEmpty && host.hasSuffix(".\(name)")
    }
  }
}
