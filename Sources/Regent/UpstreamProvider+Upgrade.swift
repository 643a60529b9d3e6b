// From an origin's 101 to a tunnel: the connection leaves its pool for good, and the answer carries it to the client.

import RegentCaching
import RegentConfig
import RegentHTTP
import RegentLoop

extension UpstreamProvider {
  /// Refuses a request for a tunnel while there are as many as there may be, and one by a page of another site where it
  /// would speak as the owner: browsers let any page open a WebSocket to any host, and read it (RFC 6455 section 10.2).
  func admit(_ request: Request) throws(Failure) {
    guard request.upgrade != nil else { return }
    if targets[request.domain.number]?.speaksForOwner == true, request.isFromForeignPage {
      throw .foreignPage
    }
    guard request.meters.tunnels.count >= tunnelLimit else { return }
    request.meters.tunnelsRefused.add(1)
    throw .tunnelsExhausted
  }

  /// The answer to a request whose origin switched protocols.
  func tunnel(
    _ request: Request, _ connection: OriginConnection, _ head: ResponseHead
  ) throws(Failure) -> Response {
    guard let offered = request.upgrade, let chosen = Upgrade.accepted(head, offered: offered) else {
      throw .malformedResponse("101 without an upgrade was sent.", fault: .unasked101)
    }
    try admit(request)
    let (stream, early) = connection.leave()
    let tunnel = Tunnel(stream, early: early, idle: timeouts.tunnelIdle, request)
    var response = Response(
      status: 101, fields: .parsed(head.fields), body: .empty,
      cacheStatus: CacheStatus(.forwarded(request.forwarded)))
    response.switching = Switching(chosen, tunnel: LoopBound(tunnel, stream.loop))
    return response
  }
}

/// What a 101 switches to.
final class Switching: Sendable {
  /// The protocol, as a field value.
  let chosen: [UInt8]
  let tunnel: LoopBound<Tunnel>

  init(_ chosen: [UInt8], tunnel: LoopBound<Tunnel>) {
    self.chosen = chosen
    self.tunnel = tunnel
  }
}

extension Request {
  /// Whether a browser says that a page asks which is not of the host that is asked.
  fileprivate var isFromForeignPage: Bool {
    guard let origin = head.fields.first(.origin) else { return false }
    // scheme "://" host [":" port]; "null" is of nowhere.
    guard let colon = origin.firstIndex(of: 0x3A), origin[colon...].starts(with: "://".utf8),
      let host = head.fields.first(.host)
    else { return true }
    return !origin[(colon + 3)...].equalsIgnoringCase(host)
  }
}
