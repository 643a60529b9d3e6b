// Contradictions between domains: a request that two of them claim alike, and an origin that is
// Regent itself.

extension Configuration {
  /// No two domains may claim the same host, path and method.
  func checkRoutes(_ findings: inout Findings) {
    var owners: [Route: Int] = [:]
    for (index, domain) in domains.enumerated() where findings.isSound(at(index)) {
      for route in domain.routes {
        guard let other = owners[route], other != index else {
          owners[route] = index
          continue
        }
        let both = "\(domains[other].name.quoted) and \(domain.name.quoted)"
        findings.add("the domains \(both) both answer \(route)", key: "domain.hosts", at: at(index, "hosts"))
        break
      }
    }
  }

  /// An origin at one of Regent's own addresses would ask itself for ever.
  func checkLoops(_ findings: inout Findings) {
    for (index, domain) in domains.enumerated() {
      for upstream in domain.upstreams.map(\.url) where upstream.isLoopback {
        if server.listen.contains(where: { $0.isReached(by: upstream) }) {
          findings.add(
            "the upstream \(upstream) of domain \(domain.name.quoted) is Regent itself",
            key: "domain.upstream", at: at(index, "upstream"))
        }
      }
    }
  }
}

/// One combination that a domain claims.
private struct Route: Hashable, CustomStringConvertible {
  let host: HostPattern
  /// Nil for every path.
  let path: PathPattern?
  /// Nil for every method.
  let method: String?

  var description: String {
    let host = host.toml ?? ""
    let path = path?.toml.map { ", path \($0)" } ?? ""
    let method = method.map { ", method \($0)" } ?? ""
    return "host \(host)\(path)\(method)"
  }
}

extension Domain {
  fileprivate var routes: [Route] {
    let everyPath = paths.isEmpty || paths.contains(.prefix("/"))
    let paths: [PathPattern?] = everyPath ? [nil] : self.paths
    let methods: [String?] = methods.isEmpty ? [nil] : methods
    return (hosts + [.exact("\(name).localhost")]).flatMap { host in
      paths.flatMap { path in methods.map { Route(host: host, path: path, method: $0) } }
    }
  }
}

extension UpstreamURL {
  /// Whether the name or address is one of this machine's own.
  var isLoopback: Bool {
    host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || host.hasPrefix("127.")
  }
}

extension ListenAddress {
  /// Whether a connection to a loopback origin would arrive here.
  func isReached(by upstream: UpstreamURL) -> Bool {
    if let socket = upstream.socket { return self == .unix(path: socket) }
    return switch self {
    case .unix: false
    case .anyAddress(let port): port == upstream.port
    case .tcp(let address, let port):
      port == upstream.port
        && (address == upstream.host || address == "0.0.0.0" || address == "::"
          || upstream.host.hasSuffix("localhost") && (address == "127.0.0.1" || address == "::1"))
    }
  }
}
