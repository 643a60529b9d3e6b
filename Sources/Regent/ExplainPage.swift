// `/explain?url=…`: what a GET with the fields of this very request would get at that URL, and why. It goes the way of
// a real request as far as the caches, fetches nothing, and changes nothing.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

/// A provider that can say what it would do with a request.
protocol Explainer: Provider {
  /// What it holds and would decide, in lines; and whether it would answer.
  func explain(_ request: Request) async -> (lines: [String], answers: Bool)
}

/// The page that explains.
struct ExplainPage: Sendable {
  private let routing: Routing
  private let chain: Chain
  private let limits: MessageLimits

  init(_ routing: Routing, _ chain: Chain, limits: MessageLimits) {
    self.routing = routing
    self.chain = chain
    self.limits = limits
  }

  func response(to request: Request) async -> Response {
    guard let url = Self.url(request.queryBytes) else {
      return Response(
        status: 400, text: "Ask for /explain?url=URL, with the URL percent-encoded where needed.\n")
    }
    do throws(ParseError) {
      guard let head = try Self.head(url, fields: request.head.fields, limits: limits) else {
        return Response(status: 400, text: "The URL does not make a whole request.\n")
      }
      let routed = routing.routed(head, at: routing.host(head.fields.bytes[head.host]))
      let asked = Request(
        routed, directives: routed.directives, wall: request.wall, now: request.now, body: nil,
        meters: request.meters)
      return Response(status: 200, text: await lines(asked).joined(separator: "\n") + "\n")
    } catch {
      return Response(status: 400, text: "Such a request would be refused: \(error.rule.sentence)\n")
    }
  }

  /// The value of `url` in a query, decoded once; nil where there is none.
  static func url(_ query: ArraySlice<UInt8>?) -> [UInt8]? {
    guard let query, query.starts(with: "url=".utf8), query.count > 4 else { return nil }
    var url: [UInt8] = []
    var rest = query.dropFirst(4)
    while let byte = rest.popFirst() {
      guard byte == 0x25 else {
        url.append(byte)
        continue
      }
      guard let value = hexadecimal(rest.prefix(2)) else { return nil }
      url.append(value)
      rest = rest.dropFirst(2)
    }
    return url
  }

  private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> UInt8? {
    guard digits.count == 2, digits.allSatisfy({ UnicodeScalar($0).properties.isASCIIHexDigit }) else {
      return nil
    }
    return UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  /// The head of the request that is asked about: these fields, but for those of their own connection.
  static func head(
    _ url: [UInt8], fields: Fields, limits: MessageLimits
  ) throws(ParseError) -> RequestHead? {
    var bytes = Array("GET ".utf8) + url + Array(" HTTP/1.1\r\nHost: ".utf8)
    bytes += authority(url) + [0x0D, 0x0A]
    for line in fields.lines where line.name != .host && line.name != .connection {
      bytes += fields.name(of: line) + [0x3A, 0x20] + fields.value(of: line) + [0x0D, 0x0A]
    }
    bytes += [0x0D, 0x0A]
    var parser = RequestParser(limits: limits)
    return try parser.parse(bytes.span)
  }

  /// What stands between the two slashes and the path; what is malformed is for the parser to refuse.
  private static func authority(_ url: [UInt8]) -> ArraySlice<UInt8> {
    guard let colon = url.firstIndex(of: 0x3A), url[colon...].starts(with: "://".utf8) else { return [] }
    return url[(colon + 3)...].prefix { $0 != 0x2F && $0 != 0x3F }
  }

  // MARK: Telling

  private func lines(_ request: Request) async -> [String] {
    let target = String(decoding: request.head.fields.bytes[request.head.target.raw], as: UTF8.self)
    var lines = ["request     GET \(target)"]
    if let refusal = request.routed.refusal {
      return lines + ["decision    refuse it with \(refusal.status): \(refusal.sentence)"]
    }
    lines += domainLines(request.domain)
    lines.append("chain       " + chain.names(for: request.domain).joined(separator: ", "))
    lines.append("key         \(keyText(request))")
    return lines + (await chain.explain(request))
  }

  private func domainLines(_ domain: Domain) -> [String] {
    let policy = domain.policy
    return [
      "domain      \(domain.name): policy \(policy.kind.rawValue), scope \(policy.scope.rawValue)"
        + (policy.honoursRequestDirectives ? "" : ", the client's directives are ignored")
    ]
  }

  /// The key's target as the origin will see it, and how many bytes the whole has.
  private func keyText(_ request: Request) -> String {
    let query = request.queryBytes.map { "?" + String(decoding: $0, as: UTF8.self) } ?? ""
    let path = String(decoding: request.pathBytes, as: UTF8.self)
    let partition = request.domain.policy.scope == .private ? ", in the partition of its credentials" : ""
    return "\(request.domain.name) \(path)\(query) (\(request.key.bytes.count) bytes\(partition))"
  }
}

extension Chain {
  /// The names of the providers that a domain's requests pass, in their order.
  func names(for domain: Domain) -> [String] {
    links.filter { $0.domains.contains(number: domain.number) }.map(\.provider.name)
  }

  /// What each provider would do with the request, up to the one that would answer.
  func explain(_ request: Request) async -> [String] {
    var lines: [String] = []
    for link in links where link.domains.contains(number: request.domain.number) {
      guard let explainer = link.provider as? any Explainer else {
        lines.append("\(link.provider.name): would be asked next")
        continue
      }
      let (told, answers) = await explainer.explain(request)
      lines += ["\(link.provider.name):"] + told.map { "  " + $0 }
      if answers { return lines }
    }
    return lines
  }
}
