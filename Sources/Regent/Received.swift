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
  /// What the content must be, where the origin says so.
  private let digests: DigestCheck?

  init(_ head: ResponseHead, requestTime: Int64, responseTime: Int64, digests: DigestCheck? = nil) {
    self.head = head
    self.digests = digests
    self.requestTime = requestTime
    self.responseTime = responseTime
  }

  /// The response that it makes for a request; nil where it confirms a stored one that it does not know.
  func response(to request: Request, _ body: ResponseBody) -> Response? {
    if head.status == 304, request.asksToConfirm {
      return request.candidate(confirmedBy: head.fields).flatMap { confirm($0, request) }
    }
    if let missing = request.missing, head.status == 206 || head.status == 416 {
      return complete(missing, body, request)
    }
    if let candidate = request.candidate, let confirmed = confirm(candidate, request) { return confirmed }
    return fetched(body, request)
  }

  private func fetched(_ body: ResponseBody, _ request: Request) -> Response {
    // Taken out once: each use of them in place would copy them.
    let (received, asked) = (head.fields, request.fields)
    let status = UInt16(head.status)
    let directives = ResponseDirectives(received)
    let storability = storability(status, received, directives, request, asked)
    var cacheStatus = CacheStatus(
      .forwarded(request.forwarded), detail: request.cause?.detail ?? .none)
    if storability.keeps {
      let fields = request.domain.policy.stripped(received, storability)
      let metadata = metadata(status, fields, directives, request, asked)
      cacheStatus.ttl = metadata.remainingFreshness(policy: request.domain.policy, now: responseTime)
      return Response(
        status: Int(status), fields: .parsed(fields), body: digests?.verified(body) ?? body,
        cacheStatus: cacheStatus, storability: storability, metadata: metadata)
    }
    if case .refuse(let reason) = storability, request.forwarded != .bypass,
      request.forwarded != .method || reason != .method
    {
      cacheStatus.detail = .refused(reason)
    }
    return Response(
      status: Int(status), fields: .parsed(received), body: body, cacheStatus: cacheStatus,
      storability: storability)
  }

  /// Whether a response that was not confirmed may be stored.
  @inline(__always)
  private func storability(
    _ status: UInt16, _ received: Fields, _ directives: ResponseDirectives, _ request: Request,
    _ asked: Fields
  ) -> Storability {
    if isTargetItself(request), let offered = offered(request) { return offered }
    if request.upgrade != nil { return .refuse(.upgrade) }
    // The content may have decided the answer, and it is no part of the key.
    if request.hasBody { return .refuse(.requestContent) }
    if status == 206, !isPart(answering: request) { return .refuse(.partial) }
    return Storability.decide(
      method: request.method, requestFields: asked, requestDirectives: request.directives,
      status: status, responseFields: received, policy: request.domain.policy, directives: directives)
  }

  /// What is known of a response that may be stored.
  @inline(__always)
  private func metadata(
    _ status: UInt16, _ fields: Fields, _ directives: ResponseDirectives, _ request: Request, _ asked: Fields
  ) -> StoredMetadata {
    var metadata = StoredMetadata(
      status: status, fields: fields, requestFields: asked, requestTime: requestTime,
      responseTime: responseTime, policy: request.domain.policy, hasQuery: request.query != nil,
      directives: directives)
    if asked.contains(.authorization) { metadata.flags.insert(.authorized) }
    return metadata
  }

  /// Whether a 206 was asked for and says which part it is (RFC 9110 section 15.3.7).
  private func isPart(answering request: Request) -> Bool {
    guard case .part? = ContentRange(head.fields), request.fields.contains(.range) else { return false }
    return !RequestFields.kept(from: request).contains(.range)
  }

  /// The stored parts together with the one that was missing (RFC 9111 section 3.4); nil where they do not belong together.
  private func complete(_ missing: MissingPart, _ body: ResponseBody, _ request: Request) -> Response? {
    let date = head.fields.first(.date).flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    let body = digests?.verified(body) ?? body
    guard head.status == 206, let new = BodyPieces(body),
      let (parts, stretches) = missing.parts.completed(
        missing.gap, by: head.fields, bodyCount: new.count, validator: missing.validator, date: date),
      let fields = Validation.freshened(stored: missing.stored.fields, by: head.fields),
      let old = BodyPieces(missing.stored.body)
    else {
      body.leaveUnread()
      return nil
    }
    let pieces = BodyPieces(stretches, of: old, missing.parts, and: new, from: missing.gap.first)
    return renewed(missing.stored, fields, pieces.body, parts.isWhole ? nil : parts, request)
  }

  /// Whether this answers a POST with what it says is its target's own representation (RFC 9110 section 9.3.3). Fields
  /// that a GET's key would not tell apart must not have shaped it (TRUST B5).
  private func isTargetItself(_ request: Request) -> Bool {
    guard request.method == .post, head.status == 200, head.fields.contains(.contentLocation),
      !request.fields.hasUnkeyed
    else { return false }
    return head.fields.all(.contentLocation).allSatisfy {
      request.targets(namedBy: $0).contains { request.key(of: $0) == request.key }
    }
  }

  /// Whether a GET may have what a POST brought; nil where the response does not say how long it is fresh (RFC 9110
  /// section 9.3.3).
  private func offered(_ request: Request) -> Storability? {
    let metadata = StoredMetadata(
      status: 200, fields: head.fields, requestFields: request.fields, requestTime: requestTime,
      responseTime: responseTime, policy: request.domain.policy, hasQuery: request.query != nil)
    guard metadata.lifetime > 0, !metadata.flags.contains(.heuristic) else { return nil }
    return Storability.decide(
      method: .get, requestFields: request.fields, requestDirectives: request.directives, status: 200,
      responseFields: head.fields, policy: request.domain.policy)
  }

  /// The fields of the stored response as a 304 leaves them, or the answer to a HEAD; nil where they are about another
  /// response, or about none.
  private func freshened(_ candidate: Candidate, _ request: Request) -> Fields? {
    // Without a condition there is nothing that a 304 could confirm.
    if head.status == 304, candidate.metadata.hasValidator {
      return Validation.freshened(stored: candidate.fields, by: head.fields)
    }
    guard request.method == .head, head.status == 200, candidate.metadata.status == 200,
      let length = candidate.body.count
    else { return nil }
    return Validation.freshened(stored: candidate.fields, contentLength: length, byHead: head.fields)
  }

  /// The stored response that a 304 or the answer to a HEAD confirms, with the fields that it brings (RFC 9111 sections
  /// 4.3.4 and 4.3.5); they may forbid to store it again. Nil where it confirms another one.
  private func confirm(_ candidate: Candidate, _ request: Request) -> Response? {
    guard let fields = freshened(candidate, request) else { return unchanged(candidate, request) }
    return renewed(candidate, fields, candidate.body, candidate.parts, request)
  }

  /// The stored response as it is, where a 304 lets it answer this once but must not change it (RFC 9111 section 4.3.4).
  private func unchanged(_ candidate: Candidate, _ request: Request) -> Response? {
    guard head.status == 304, request.candidate != nil,
      Validation.permitsOnce(stored: candidate.fields, by: head.fields)
    else { return nil }
    let metadata = candidate.metadata
    var response = Response(
      status: Int(metadata.status), fields: .parsed(candidate.fields), body: candidate.body,
      cacheStatus: CacheStatus(
        .forwarded(request.forwarded), fwdStatus: 304,
        ttl: metadata.remainingFreshness(policy: request.domain.policy, now: responseTime),
        detail: .refused(.weaklyConfirmed)))
    response.metadata = metadata
    response.age = metadata.currentAge(now: responseTime)
    if candidate.parts != nil { response.parts = candidate.parts }
    response.storability = .refuse(.weaklyConfirmed)
    return response
  }

  /// A stored response with the fields that this answer left it.
  private func renewed(
    _ stored: Candidate, _ fields: Fields, _ body: ResponseBody, _ parts: Parts?, _ request: Request
  ) -> Response {
    let policy = request.domain.policy
    let status: UInt16 = stored.parts == nil ? stored.metadata.status : parts == nil ? 200 : 206
    // Whoever asks now: what was once fetched with credentials stays theirs until the origin permits to share it.
    var asked = request.fields
    if stored.metadata.flags.contains(.authorized) { asked.append(.authorization, [0x2A]) }
    // Whatever it was asked with, what is stored is the response to a GET; parts are kept where the whole that they
    // are of could be.
    let storability = Storability.decide(
      method: .get, requestFields: asked, requestDirectives: request.directives,
      status: status == 206 ? 200 : status, responseFields: fields, policy: policy)
    let kept = policy.stripped(fields, storability)
    var metadata = StoredMetadata(
      status: status, fields: kept, received: head.fields, requestFields: asked,
      requestTime: requestTime, responseTime: responseTime, policy: policy, hasQuery: request.query != nil)
    if asked.contains(.authorization) { metadata.flags.insert(.authorized) }
    var response = Response(
      status: Int(status), fields: .parsed(kept), body: body,
      cacheStatus: CacheStatus(
        .forwarded(request.forwarded), fwdStatus: head.status == 200 ? nil : UInt16(head.status),
        ttl: metadata.remainingFreshness(policy: policy, now: responseTime),
        detail: request.cause?.detail ?? .none))
    if case .refuse(let reason) = storability { response.cacheStatus.detail = .refused(reason) }
    response.metadata = metadata
    response.age = metadata.currentAge(now: responseTime)
    if parts != nil { response.parts = parts }
    response.storability = storability
    return response
  }
}
