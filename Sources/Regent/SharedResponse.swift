// The response that a flight has brought, for those who asked for the same: whoever is selected by it gets it as it would
// come from a store, with a reader of its own of the body.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

/// A response that others than who fetched it may use.
final class SharedResponse: Sendable {
  private let response: Response
  private let metadata: StoredMetadata
  private let sharing: Sharing
  /// What a store would keep: its fields, and the request fields that selected it.
  private let fields: ResponseFields
  private let vary: [UInt8]

  /// Nil where nobody else may use it.
  init?(_ response: Response, to request: Request, now: Int64) {
    let policy = request.domain.policy
    sharing = Sharing.decide(
      response.storability, response.metadata, requestFields: request.fields, policy: policy, now: now)
    guard sharing != .refused, let metadata = response.metadata, response.parts == nil else { return nil }
    if case .composed = response.body { return nil }
    let parsed = response.fields.parsed
    var vary: [UInt8] = []
    guard Vary.encode(responseFields: parsed, requestFields: request.fields, onto: &vary) else {
      return nil
    }
    var lines: [UInt8] = []
    var own: [UInt8] = []
    StoredFields.split(parsed, shared: &lines, own: &own)
    fields = .stored(shared: nil, own: Slice(lines + own))
    self.vary = vary
    self.metadata = metadata
    self.response = response
  }

  /// The body that still arrives; nil where all of it is here.
  var arriving: BodyStream? {
    guard case .stream(let stream) = response.body, !stream.isWhole else { return nil }
    return stream
  }

  /// A reader from the first byte on, for one who has not come yet.
  func seat() -> BodyReader? {
    guard case .stream(let stream) = response.body else { return nil }
    return stream.makeReader()
  }

  /// Whether the body has broken off already.
  var isBroken: Bool {
    guard case .stream(let stream) = response.body else { return false }
    return stream.hasFailed
  }

  /// The answer for one who waited for it; nil where it may not use it.
  func answer(waiting request: Request, _ seat: BodyReader?) -> Response? {
    if sharing == .once, Sharing.isPersonal(request.fields, request.domain.policy) { return nil }
    return answer(request, seat)
  }

  /// The answer for one who came while the body arrives: by the rules for what is stored; nil where they do not allow it,
  /// or where the body's beginning is gone.
  func answer(late request: Request) -> Response? {
    guard sharing == .asStored, !isBroken, !response.body.isRefuted else { return nil }
    switch Reuse.decide(
      metadata, request: request.directives, policy: request.domain.policy, now: now(request))
    {
    case .serve, .serveStale(_, .cacheThenNetwork): break
    case .serveStale, .validate, .no: return nil
    }
    return answer(request, seat())
  }

  private func answer(_ request: Request, _ seat: BodyReader?) -> Response? {
    let vary = vary
    guard Vary.matches(vary.span, requestFields: request.fields) else { return nil }
    if case .stream = response.body, seat == nil { return nil }
    let policy = request.domain.policy
    var answer = Response(
      status: response.status, fields: fields, body: response.body,
      cacheStatus: CacheStatus(
        .forwarded(request.forwarded), fwdStatus: response.cacheStatus.fwdStatus, collapsed: true,
        ttl: metadata.remainingFreshness(policy: policy, now: now(request)),
        detail: request.cause?.detail ?? .none))
    answer.metadata = metadata
    answer.age = metadata.currentAge(now: now(request))
    if let seat { answer.seat = seat }
    return answer
  }

  /// Who waited came before the response did, and another loop's clock may be a moment behind.
  private func now(_ request: Request) -> Int64 { max(request.wall, metadata.responseTime) }
}
