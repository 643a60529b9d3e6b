// RFC 9111 section 3: may this response be stored, in a cache that all clients share? The first prohibition
// decides; its order is from what is certain by the method to what needs the response's fields.

public import RegentHTTP

/// Whether a response may be stored.
public enum Storability: Sendable, Equatable {
  case store
  case refuse(RefusalReason)

  /// Decides for a complete response (section 3.3 is the caller's to keep: no broken body).
  public static func decide(
    method: Method, requestFields: Fields, requestDirectives: RequestDirectives, status: UInt16,
    responseFields: Fields, policy: CachePolicy
  ) -> Storability {
    if let reason = refusal(method, status, policy) { return .refuse(reason) }
    // RFC 9110 section 15.3.7: a part that nobody asked for is none.
    if status == 206, !requestFields.contains(.range) { return .refuse(.partial) }
    let directives = ResponseDirectives(responseFields)
    let asked = policy.honoursRequestDirectives ? requestDirectives : .none
    let reason =
      prohibition(directives, status: status, request: asked)
      ?? sharing(directives, requestFields, responseFields)
      ?? uselessness(directives, status, responseFields, policy)
    return reason.map { .refuse($0) } ?? .store
  }

  /// What is certain before the response's fields are read.
  private static func refusal(_ method: Method, _ status: UInt16, _ policy: CachePolicy) -> RefusalReason? {
    if policy.kind == .networkOnly { return .networkOnly }
    if method != .get { return .method }
    if status == 416 { return .partial }
    return status < 200 || status > 599 || status == 304 ? .status : nil
  }

  /// Sections 5.2.1.5, 5.2.2.3, 5.2.2.5 and 5.2.2.7.
  private static func prohibition(
    _ directives: ResponseDirectives, status: UInt16, request: RequestDirectives
  ) -> RefusalReason? {
    if directives.flags.contains(.mustUnderstand) {
      if !CacheableStatus.isUnderstood(status) { return .notUnderstood }
    } else if directives.flags.contains(.noStore) {
      return .responseNoStore
    }
    if request.noStore { return .requestNoStore }
    return directives.flags.contains(.private) ? .private : nil
  }

  /// What a shared cache must not give to others, or could not tell apart (sections 3.5 and 4.1).
  private static func sharing(
    _ directives: ResponseDirectives, _ request: Fields, _ response: Fields
  ) -> RefusalReason? {
    let permitted = directives.flags.contains(.public) || directives.sharedMaxAge.value != nil
    if request.contains(.authorization), !permitted, !directives.flags.contains(.mustRevalidate) {
      return .authorization
    }
    if response.contains(.setCookie), !permitted, !hasExplicitFreshness(directives, response) {
      return .setCookie
    }
    guard response.contains(.vary) else { return nil }
    var encoded: [UInt8] = []
    return Vary.encode(responseFields: response, requestFields: request, onto: &encoded) ? nil : .vary
  }

  /// The last condition of section 3, and whether a copy could ever answer.
  private static func uselessness(
    _ directives: ResponseDirectives, _ status: UInt16, _ response: Fields, _ policy: CachePolicy
  ) -> RefusalReason? {
    let isExplicit = hasExplicitFreshness(directives, response)
    let isPublic = directives.flags.contains(.public)
    let isHeuristic = CacheableStatus.isHeuristic(status)
    guard isExplicit || isPublic || isHeuristic else { return .noExplicitFreshness }
    let lasts = directives.sharedMaxAge.value ?? directives.maxAge.value ?? 0 > 0
    let ownerKeeps =
      status < 400
      && (policy.ttl != nil || policy.kind == .cacheThenNetwork || policy.stale != nil
        || policy.staleIfError != nil)
    let canBeAsked = response.contains(.etag) || response.contains(.lastModified)
    let usable =
      lasts || ownerKeeps || canBeAsked || response.contains(.expires)
      || directives.staleWhileRevalidate.value != nil || directives.staleIfError.value != nil
    return usable ? nil : .neverReusable
  }

  private static func hasExplicitFreshness(_ directives: ResponseDirectives, _ response: Fields) -> Bool {
    directives.sharedMaxAge.value != nil || directives.maxAge.value != nil || response.contains(.expires)
  }
}
