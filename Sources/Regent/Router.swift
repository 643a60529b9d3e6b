// From a request's host, path and method to its domain. The most specific match wins: an exact host before a suffix,
// a longer suffix before a shorter one, then an exact path, then the longest prefix, then a named method.

import RegentConfig
import RegentHTTP

/// The table of hosts, paths and methods. Built once, never changed.
struct Router: Sendable {
  /// What a request matched.
  struct Match: Sendable, Equatable {
    /// The domain's number.
    public let domain: Int
    /// How many bytes of the path named the domain (`/github`) and are not for its origin.
    public let prefix: Int
  }

  /// One way into a domain at some host.
  struct Route: Sendable {
    let domain: Int
    let path: PathPattern?
    let method: Method?

    var rank: (Int, Int, Int) {
      let named = method == nil ? 0 : 1
      switch path {
      case .exact(let path): return (2, path.utf8.count, named)
      case .prefix(let path): return (1, path.utf8.count, named)
      case nil: return (0, 0, named)
      }
    }
  }

  private var exact: [[UInt8]: [Route]] = [:]
  private var suffixes: [(suffix: [UInt8], routes: [Route])] = []
  private var prefixes: [(name: [UInt8], domain: Int)] = []
  /// How many domains the configuration has.
  public let domainCount: Int

  static let loopbackNames = ["localhost", "127.0.0.1", "[::1]"]

  /// `admin` is the number of the admin domain, which answers at regent.localhost, and at the loopback
  /// names when no domain is the default.
  init(_ domains: [RegentConfig.Domain], admin: Int, pathPrefixes: Bool) {
    domainCount = domains.count
    add(host: .exact("regent.localhost"), [Route(domain: admin, path: nil, method: nil)])
    for (number, domain) in domains.enumerated() {
      let routes = Self.routes(of: domain, number)
      add(host: .exact("\(domain.name).localhost"), routes)
      for host in domain.hosts { add(host: host, routes) }
      if domain.isDefault { for name in Self.loopbackNames { add(host: .exact(name), routes) } }
      if pathPrefixes { prefixes.append((Array(domain.name.utf8), number)) }
    }
    if !domains.contains(where: \.isDefault) {
      for name in Self.loopbackNames {
        add(host: .exact(name), [Route(domain: admin, path: nil, method: nil)])
      }
    }
    for host in exact.keys { exact[host]?.sort { $0.rank > $1.rank } }
    for index in suffixes.indices { suffixes[index].routes.sort { $0.rank > $1.rank } }
    suffixes.sort { $0.suffix.count > $1.suffix.count }
  }

  private static func routes(of domain: RegentConfig.Domain, _ number: Int) -> [Route] {
    let paths: [PathPattern?] = domain.paths.isEmpty ? [nil] : domain.paths.map { $0 }
    let methods: [Method?] =
      domain.methods.isEmpty ? [nil] : Method.allCases.filter { domain.methods.contains("\($0.text)") }
    return paths.flatMap { path in methods.map { Route(domain: number, path: path, method: $0) } }
  }

  private mutating func add(host: HostPattern, _ routes: [Route]) {
    switch host {
    case .exact(let name): exact[Array(name.lowercased().utf8), default: []] += routes
    case .suffix(let name):
      let suffix = Array(".\(name.lowercased())".utf8)
      if let index = suffixes.firstIndex(where: { $0.suffix == suffix }) {
        suffixes[index].routes += routes
      } else {
        suffixes.append((suffix, routes))
      }
    }
  }

  /// The routes of a host, in order of their rank; empty for a host that no domain knows.
  func routes(host: ArraySlice<UInt8>) -> [Route] {
    if let routes = exact[Array(host)] { return routes }
    return suffixes.first {
      host.count > $0.suffix.count && host.suffix($0.suffix.count).elementsEqual($0.suffix)
    }?
    .routes ?? []
  }

  /// The domain of a path and method at a host's routes.
  func match(_ routes: [Route], path: ArraySlice<UInt8>, method: Method, atLoopback: Bool) -> Match? {
    if atLoopback, let match = prefixMatch(path) { return match }
    for route in routes where route.method == nil || route.method == method {
      switch route.path {
      case nil: return Match(domain: route.domain, prefix: 0)
      case .exact(let wanted) where path.elementsEqual(wanted.utf8):
        return Match(domain: route.domain, prefix: 0)
      case .prefix(let wanted) where path.starts(with: wanted.utf8):
        return Match(domain: route.domain, prefix: 0)
      default: continue
      }
    }
    return nil
  }

  /// `/github/...` at a loopback name is the domain `github`.
  private func prefixMatch(_ path: ArraySlice<UInt8>) -> Match? {
    guard path.count > 1, let end = path.dropFirst().firstIndex(of: 0x2F) else { return nil }
    let name = path[path.index(after: path.startIndex)..<end]
    guard let found = prefixes.first(where: { $0.name.elementsEqual(name) }) else { return nil }
    return Match(domain: found.domain, prefix: name.count + 1)
  }

  static func isLoopback(_ host: ArraySlice<UInt8>) -> Bool {
    loopbackNames.contains { host.elementsEqual($0.utf8) }
  }
}
