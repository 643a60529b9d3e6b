// What an origin's answer means, apart from how it came: whether it may be stored, what is known of its freshness, and
// what a 304 makes of the stored response. No I/O and no clock: a test that plays the origin goes through here too.

import RegentCaching
import RegentHTTP

/// The head of an origin's final response, and when it was asked for and came.
struct Received {
  let head: ResponseHead
  /// Wall-clock seconds since 1970.
  let requestTime: Int64
  let responseTime: Int64

  init(_ head: ResponseHead, requestTime: Int64, responseTime: Int64) {
    self.head = head
    self.requestTime = requestTime
    self.responseTime = responseTime
  }

  /// The response that it makes for a request; nil where it confirms a stored one that it does not know.
  func response(to request: Request, _ body: ResponseBody) -> Response? {
    if head.status == 304, let candidate = request.candidate { return confirm(candidate, request) }
    if let missing = request.missing, head.status == 206 || head.status == 416 {
      return complete(missing, body, request)
    }
    return fetched(body, request)
  }

  private func fetched(_ body: ResponseBody, _ request: Request) -> Response {
    let status = UInt16(head.status)
    var response = Response(
      status: head.status, fields: .parsed(head.fields), body: body,
      cacheStatus: CacheStatus(.forwarded(request.forwarded)))
    response.storability = Storability.decide(
      method: request.method, requestFields: request.head.fields, requestDirectives: request.directives,
      status: status, responseFields: head.fields, policy: request.domain.policy)
    if status == 206, !isPart { response.storability = .refuse(.partial) }
    // The content may have decided the answer, and it is no part of the key.
    if request.body != nil { response.storability = .refuse(.requestContent) }
    if response.storability == .store {
      response.metadata = StoredMetadata(
        status: status, fields: head.fields, requestTime: requestTime, responseTime: responseTime,
        policy: request.domain.policy, hasQuery: request.query != nil)
      response.cacheStatus.ttl = response.metadata?.remainingFreshness(
        policy: request.domain.policy, now: responseTime)
    } else if case .refuse(let reason) = response.storability, request.forwarded != .bypass {
      response.cacheStatus.detail = .refused(reason)
    }
    return response
  }

  /// Whether a 206 says what it is: one part, whose length its content announces, or does not.
  private var isPart: Bool {
    if case .part? = ContentRange(head.fields) { true } else { false }
  }

  /// The stored parts together with the one that was missing (RFC 9111 section 3.4); nil where they do not belong together.
  private func complete(_ missing: MissingPart, _ body: ResponseBody, _ request: Request) -> Response? {
    let date = head.fields.first(.date).flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    guard head.status == 206, let new = BodyPieces(body),
      let (parts, stretches) = missing.parts.completed(
        missing.gap, by: head.fields, bodyCount: new.count, validator: missing.validator, date: date),
      let fields = Validation.freshened(stored: missing.stored.fields, by: head.fields),
      let old = BodyPieces(missing.stored.body)
    else {
      body.leaveUnread()
      return nil
    }
    let status: UInt16 = parts.isWhole ? 200 : 206
    let metadata = StoredMetadata(
      status: status, fields: fields, received: head.fields, requestTime: requestTime,
      responseTime: responseTime, policy: request.domain.policy, hasQuery: request.query != nil)
    let pieces = BodyPieces(stretches, of: old, missing.parts, and: new, from: missing.gap.first)
    var response = Response(
      status: Int(status), fields: .parsed(fields), body: pieces.body,
      cacheStatus: CacheStatus(
        .forwarded(request.forwarded), fwdStatus: 206,
        ttl: metadata.remainingFreshness(policy: request.domain.policy, now: responseTime)))
    response.metadata = metadata
    response.age = metadata.currentAge(now: responseTime)
    response.parts = parts.isWhole ? nil : parts
    response.storability = Storability.decide(
      method: request.method, requestFields: request.head.fields, requestDirectives: request.directives,
      status: status, responseFields: fields, policy: request.domain.policy)
    return response
  }

  /// The stored response that a 304 confirms, with the fields that it brings (RFC 9111 section 4.3.4); they may forbid
  /// to store it again. Nil where it confirms another one.
  private func confirm(_ candidate: Candidate, _ request: Request) -> Response? {
    guard let fields = Validation.freshened(stored: candidate.fields, by: head.fields) else { return nil }
    let metadata = StoredMetadata(
      status: candidate.metadata.status, fields: fields, received: head.fields, requestTime: requestTime,
      responseTime: responseTime, policy: request.domain.policy, hasQuery: request.query != nil)
    var response = Response(
      status: Int(metadata.status), fields: .parsed(fields), body: candidate.body,
      cacheStatus: CacheStatus(
        .forwarded(request.forwarded), fwdStatus: 304,
        ttl: metadata.remainingFreshness(policy: request.domain.policy, now: responseTime)))
    response.metadata = metadata
    response.age = metadata.currentAge(now: responseTime)
    if candidate.parts != nil { response.parts = candidate.parts }
    response.storability = Storability.decide(
      method: request.method, requestFields: request.head.fields, requestDirectives: request.directives,
      status: metadata.status, responseFields: fields, policy: request.domain.policy)
    return response
  }
}
