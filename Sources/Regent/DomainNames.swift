// The names under which a domain's targets are known: where clients ask for them, and what its origin calls them.
// A response's Location may use any of these (RFC 9111 section 4.4).

import RegentCaching
import RegentConfig
import RegentHTTP
import RegentStorage

/// The authorities that name a domain, beside the one that a client used.
struct DomainNames: Sendable {
  private var hosts: [HostPattern] = []
  private var origin: Invalidation.Origin?
  private var base: [UInt8] = []

  init() {}

  init(_ entry: RegentConfig.Domain) {
    hosts = entry.hosts + [.exact("\(entry.name).localhost")]
    guard let upstream = entry.upstream else { return }
    let host = upstream.host.contains(":") ? "[\(upstream.host)]" : upstream.host
    origin = .init(
      scheme: upstream.scheme == .https ? .https : .http, host: Array(host.utf8), port: upstream.port)
    base = Array(upstream.basePath.utf8)
  }

  /// The targets that a reference in a response to this request may name. One too many is harmless: all are the
  /// domain's own.
  func targets(_ reference: ArraySlice<UInt8>, of request: Request) -> [Invalidation.Target] {
    var places = [place(asClientsSay: request)]
    if let origin {
      places.append(.init(origin, path: base + request.pathBytes, query: query(request), base: base))
    }
    if let named = place(namedIn: reference, request) { places.append(named) }
    var targets: [Invalidation.Target] = []
    for place in places {
      if let target = place.target(reference), !targets.contains(target) { targets.append(target) }
    }
    return targets
  }

  private func place(asClientsSay request: Request) -> Invalidation.Place {
    let head = request.head
    // What lies between the asked path and the domain's is the prefix by which a loopback name chose the domain.
    let asked = head.target.path
    let prefix = asked.lowerBound..<max(asked.lowerBound, min(request.path.lowerBound, asked.upperBound))
    let base = Array(head.fields.bytes[prefix])
    return .init(
      Invalidation.Origin(request), path: base + request.pathBytes, query: query(request), base: base)
  }

  /// The place at one of the domain's other hosts, at the client's port or the usual one.
  private func place(namedIn reference: ArraySlice<UInt8>, _ request: Request) -> Invalidation.Place? {
    guard let (scheme, host, port) = Invalidation.authority(of: reference) else { return nil }
    let usual: UInt16 = scheme == .https ? 443 : 80
    guard port == usual || port == Invalidation.Origin(request).port,
      hosts.contains(where: { $0.names(host) })
    else { return nil }
    return .init(
      .init(scheme: scheme, host: Array(host), port: port), path: Array(request.pathBytes),
      query: query(request))
  }

  private func query(_ request: Request) -> [UInt8]? { request.queryBytes.map(Array.init) }
}

extension HostPattern {
  fileprivate func names(_ host: ArraySlice<UInt8>) -> Bool {
    switch self {
    case .exact(let name): return host.equalsIgnoringCase(name.utf8)
    case .suffix(let name):
      let suffix = Array(".\(name)".utf8)
      return host.count > suffix.count && host.suffix(suffix.count).equalsIgnoringCase(suffix)
    }
  }
}

extension Invalidation.Origin {
  /// The origin as the client names it.
  init(_ request: Request) {
    let head = request.head
    let isTLS = head.target.scheme == .https
    self.init(
      scheme: isTLS ? .https : .http, host: Array(head.fields.bytes[head.host]),
      port: head.port ?? (isTLS ? 443 : 80))
  }
}

extension Request {
  /// What a reference in a response to this request names within the domain.
  func targets(namedBy reference: ArraySlice<UInt8>) -> [Invalidation.Target] {
    domain.names.targets(reference, of: self)
  }

  /// The key of another target of the domain, for those who send the same credentials.
  func key(of target: Invalidation.Target) -> RecordKey {
    RecordKey(
      domain.targetKey(path: target.path, query: target.query.map { $0[...] }, for: head.fields))
  }
}
