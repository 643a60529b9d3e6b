// What is stored for a URL, as an app asks Regent for it or as the origin has it. Which variants there are is known only
// to the records themselves, so all leads are read.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

extension CacheDirectory {
  /// The responses that are stored for a URL, the last written first.
  public func find(_ url: String) throws(DaemonError) -> [ArchivedResponse] {
    let target = try StoredTarget(url, rules)
    var found: [ArchivedResponse] = []
    for number in (0..<count).reversed() {
      guard case .record(let record) = archive.look(number), let parts = CacheKeyParts(record.key.bytes),
        target.isNamed(parts, rules), let response = ArchivedResponse(record, rules, now: now)
      else { continue }
      found.append(response)
    }
    return found
  }
}

/// A URL, and what the configuration makes of it.
struct StoredTarget: Sendable {
  private struct Target: Sendable {
    let domain: [UInt8]
    let path: [UInt8]
  }
  private let origin: CacheKeyParts.Origin
  private let path: [UInt8]
  private let query: [UInt8]?
  /// What it stands for at this machine.
  private let local: Target?

  init(_ url: String, _ rules: StoredRules) throws(DaemonError) {
    let head: RequestHead?
    do throws(ParseError) {
      head = try ExplainPage.head(Array(url.utf8), fields: Fields(), limits: .standard)
    } catch {
      throw DaemonError(message: "\(url): \(error.rule.sentence)", exitCode: DaemonError.usage)
    }
    guard let head, let scheme = head.target.scheme, head.target.form == .absolute else {
      throw DaemonError(
        message: "\(url) is no URL: it begins with http:// or https://", exitCode: DaemonError.usage)
    }
    let bytes = head.fields.bytes
    let host = Array(bytes[head.host])
    let isSecure = scheme == .https
    origin = CacheKeyParts.Origin(
      scheme: isSecure ? .https : .http,
      host: host.first == 0x5B ? Array(host.dropFirst().dropLast()) : host,
      port: head.port ?? (isSecure ? 443 : 80))
    path = head.target.path.isEmpty ? [0x2F] : Array(bytes[head.target.path])
    query = head.target.query.map { Array(bytes[$0]) }
    local = Self.local(host, path, rules)
  }

  /// Where a request for it would lead. Without a configuration: NAME.localhost is the domain of that name, and every
  /// loopback name the one that `--upstream` makes.
  private static func local(
    _ host: [UInt8], _ path: [UInt8], _ rules: StoredRules
  ) -> Target? {
    guard let router = rules.router else {
      let suffix = Array(".localhost".utf8)
      if host.suffix(suffix.count) == suffix[...] {
        return Target(domain: host.dropLast(suffix.count), path: path)
      }
      let isLoopback = Router.loopbackNames.contains(String(decoding: host, as: UTF8.self))
      return isLoopback ? Target(domain: Array("default".utf8), path: path) : nil
    }
    let match = router.match(
      router.routes(host: host[...]), path: path[...], method: .get,
      atLoopback: Router.isLoopback(host[...]))
    guard let match, let domain = rules.domain(number: match.domain) else { return nil }
    let rest = Array(path.dropFirst(match.prefix))
    return Target(domain: domain.nameBytes, path: rest.isEmpty ? [0x2F] : rest)
  }

  /// Whether a key is one for this URL.
  func isNamed(_ parts: CacheKeyParts, _ rules: StoredRules) -> Bool {
    let isHere = local.map { $0.domain == parts.domain && $0.path == parts.path } ?? false
    guard isHere || isThere(parts) else { return false }
    guard let domain = rules.domain(parts.domain), domain.hasKeyRules else { return parts.query == query }
    return parts.query == domain.keyRules.query(query?[...])
  }

  /// Whether it is the URL at the key's origin.
  private func isThere(_ parts: CacheKeyParts) -> Bool {
    guard let origin = parts.origin else { return false }
    return origin.scheme == self.origin.scheme && origin.host == self.origin.host
      && origin.port == self.origin.port && origin.basePath + parts.path == path
  }
}
