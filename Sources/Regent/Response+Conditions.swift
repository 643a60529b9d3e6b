// What a client's own conditions make of an answer (RFC 9110 section 13.2.2): a 304 in place of what it has already.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

extension Response {
  /// The response that the client's conditions make of this one (RFC 9110 section 13.2.2): 304 without content.
  func conditional(on request: Request) -> Response {
    guard status == 200 || status == 206, request.routed.isConditional,
      request.method == .get || request.method == .head, meets(request)
    else { return self }
    body.leaveUnread()
    var answer = self
    answer.become(304)
    answer.body = .empty
    return answer
  }

  /// Takes another status, made from what an origin sent: without the origin's own beside it, the one that is sent
  /// would count as that (RFC 9211 section 2.3).
  mutating func become(_ status: Int) {
    if case .forwarded = cacheStatus.outcome, cacheStatus.fwdStatus == nil {
      cacheStatus.fwdStatus = UInt16(clamping: self.status)
    }
    self.status = status
  }

  private func meets(_ request: Request) -> Bool {
    let requestFields = request.head.fields
    // What no cache knows came just now: without a Last-Modified nothing says that it is older than the client's.
    var stored = metadata ?? StoredMetadata(status: 200, responseTime: 0, date: request.wall + 1, lifetime: 0)
    // A part is conditional on the validators of the whole, whose it has (RFC 9110 section 13.2.2).
    stored.status = 200
    if case .stored(_, let own) = fields {
      return own.withBytes { block in
        let none = 0..<0
        // If-None-Match counts alone where it is present.
        let hasTag = requestFields.contains(.ifNoneMatch)
        let etag = hasTag ? StoredFields.value(of: .etag, in: block) : nil
        let modified = hasTag ? nil : StoredFields.value(of: .lastModified, in: block)
        return Validation.answersNotModified(
          requestFields: requestFields, stored: stored, etag: block.extracting(etag ?? none),
          lastModified: block.extracting(modified ?? none))
      }
    }
    let parsed = fields.parsed
    let etag = Array(parsed.first(.etag) ?? [])
    let modified = Array(parsed.first(.lastModified) ?? [])
    // A response that is not stored has no Date of ours to stand in for Last-Modified (RFC 9110 section 13.1.3).
    guard metadata != nil || requestFields.contains(.ifNoneMatch) || !modified.isEmpty else { return false }
    return Validation.answersNotModified(
      requestFields: requestFields, stored: stored, etag: etag.span, lastModified: modified.span)
  }
}
