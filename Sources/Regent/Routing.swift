// From a parsed head to where it leads: the domain, the path that its origin sees, and the key. Every way to a request
// goes through here, so that routing, key and the Host sent come from one parse of the authority (TRUST B1).

import RegentCaching
import RegentHTTP
import RegentStorage

/// The table of routes with the domains that they lead to. Built once, never changed.
struct Routing: Sendable {
  let router: Router
  let domains: [Domain]
  /// What the daemon is called in Via: its own requests are not to come back.
  let instance: InstanceName

  /// The admin pages' own domain, which is the last one.
  var adminDomain: Int { domains.count - 1 }

  /// The routes of one host, which most requests share with the one before them.
  // A class: each request refers to it.
  final class Host {
    let name: [UInt8]
    let routes: [Router.Route]
    let isLoopback: Bool

    init(_ name: ArraySlice<UInt8>, _ router: Router) {
      self.name = Array(name)
      routes = router.routes(host: name)
      isLoopback = Router.isLoopback(name)
    }

    /// Whether it is the host that a head names.
    func isNamed(by head: borrowing RequestHead) -> Bool {
      let (name, start) = (name, head.host.lowerBound)
      guard head.host.count == name.count else { return false }
      for index in name.indices where head.fields.bytes[start + index] != name[index] { return false }
      return true
    }
  }

  func host(_ name: ArraySlice<UInt8>) -> Host { Host(name, router) }

  /// Where a head leads; one that no domain may be asked carries its refusal.
  func routed(_ head: consuming RequestHead, at host: Host) -> RoutedHead {
    switch head.method {
    case .connect, .trace, .purge: return refused(head, .methodNotAllowed)
    default: break
    }
    // Before anything looks for a stored response or waits for one: it would wait for itself.
    if head.fields.contains(.via), instance.isIn(head.fields) { return refused(head, .loopDetected) }
    let path = head.target.form == .asterisk ? head.target.raw : head.target.path
    guard
      let match = router.match(
        host.routes, path: head.fields.bytes[path], method: head.method, atLoopback: host.isLoopback)
    else { return refused(head, misdirected(host.name[...])) }
    return routed(consume head, match, path)
  }

  func refused(_ head: RequestHead, _ refusal: Failure) -> RoutedHead {
    RoutedHead(
      head: head, domain: domains[adminDomain], path: 0..<0, query: nil, key: RecordKey([]),
      directives: .none, refusal: refusal)
  }

  private func routed(_ head: consuming RequestHead, _ match: Router.Match, _ path: Range<Int>) -> RoutedHead
  {
    let domain = domains[match.domain]
    let path = path.lowerBound + match.prefix..<path.upperBound
    if domain.hasKeyRules { return domain.routed(head, path: path) }
    let query = head.target.query
    let fields = head.fields
    let key = domain.targetKey(
      path: path.isEmpty ? [0x2F] : fields.bytes[path], query: query.map { fields.bytes[$0] }, for: fields)
    let directives = domain.policy.honoursRequestDirectives ? RequestDirectives(fields) : .none
    return RoutedHead(
      head: consume head, domain: domain, path: path, query: query, key: RecordKey(key),
      directives: directives)
  }

  private func misdirected(_ host: ArraySlice<UInt8>) -> Failure {
    let name = String(decoding: host.prefix(255).filter { (0x21..<0x7F).contains($0) }, as: UTF8.self)
    return .misdirected(host: name, domains: router.domainCount)
  }
}
