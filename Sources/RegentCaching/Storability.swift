// RFC 9111 section 3: may this response be stored? The first prohibition decides; its order is from what is certain
// by the method to what needs the response's fields. A cache with scope `private` keeps more for those who send
// credentials; for others it is a shared one.

public import RegentHTTP

/// Whether a response may be stored.
public enum Storability: Sendable, Equatable {
  case store
  /// It is a part, and may be kept as one where the cache keeps parts (section 3.3).
  case storePart
  case refuse(RefusalReason)

  /// Decides for a complete response (section 3.3 is the caller's to keep: no broken body).
  ///
  /// - Parameter directives: What the response's fields say of caching, where that was read already.
  public static func decide(
    method: Method, requestFields: Fields, requestDirectives: RequestDirectives, status: UInt16,
    responseFields: Fields, policy: CachePolicy, directives: ResponseDirectives? = nil
  ) -> Storability {
    if let reason = refusal(method, status, policy) { return .refuse(reason) }
    let exchange = Exchange(
      requestFields, responseFields, status, policy, directives ?? ResponseDirectives(responseFields))
    let asked = policy.honoursRequestDirectives ? requestDirectives : .none
    let reason =
      exchange.prohibition(asked) ?? exchange.sharing ?? selection(responseFields, for: requestFields)
      ?? partiality(status, responseFields) ?? exchange.uselessness
    return reason.map { .refuse($0) } ?? (status == 206 ? .storePart : .store)
  }

  /// What is certain before the response's fields are read.
  private static func refusal(_ method: Method, _ status: UInt16, _ policy: CachePolicy) -> RefusalReason? {
    if policy.kind == .networkOnly { return .networkOnly }
    if method != .get { return .method }
    if status == 416 { return .partial }
    return status < 200 || status > 599 || status == 304 ? .status : nil
  }

  /// What no cache could tell apart (section 4.1).
  private static func selection(_ response: Fields, for request: Fields) -> RefusalReason? {
    guard Vary.concerns(response) else { return nil }
    var encoded: [UInt8] = []
    return Vary.encode(responseFields: response, requestFields: request, onto: &encoded) ? nil : .vary
  }

  /// A part is of use only if it says which one it is, and one at a time.
  private static func partiality(_ status: UInt16, _ response: Fields) -> RefusalReason? {
    guard status == 206 else { return nil }
    let ranges = response.contains(.contentRange) ? response.lines.count { $0.name == .contentRange } : 0
    return ranges == 1 ? nil : .partial
  }
}

/// A GET and its response, as the conditions of section 3 see them.
private struct Exchange {
  /// Which fields both have: to hold these themselves would copy them.
  let request: FieldNameSet
  let response: FieldNameSet
  let status: UInt16
  let policy: CachePolicy
  let directives: ResponseDirectives
  let isPrivate: Bool
  let isExplicit: Bool

  init(
    _ request: borrowing Fields, _ response: borrowing Fields, _ status: UInt16, _ policy: CachePolicy,
    _ directives: ResponseDirectives
  ) {
    self.request = request.present
    self.response = response.present
    self.status = status
    self.policy = policy
    self.directives = directives
    isPrivate = policy.isPrivate(for: request.present)
    isExplicit = Freshness.isExplicit(directives, response, isPrivate: isPrivate)
  }

  /// Sections 5.2.1.5, 5.2.2.3, 5.2.2.5 and 5.2.2.7.
  func prohibition(_ asked: RequestDirectives) -> RefusalReason? {
    if directives.flags.contains(.mustUnderstand) {
      if !CacheableStatus.isUnderstood(status) { return .notUnderstood }
    } else if directives.flags.contains(.noStore) {
      return .responseNoStore
    }
    if asked.noStore { return .requestNoStore }
    return directives.flags.contains(.private) && !isPrivate ? .private : nil
  }

  /// What a shared cache must not give to others (section 3.5).
  var sharing: RefusalReason? {
    if response.contains(.setCookie), policy.setCookie == .refuse { return .setCookieRefused }
    return isPrivate ? nil : exposure
  }

  private var exposure: RefusalReason? {
    let permitted = directives.flags.contains(.public) || directives.sharedMaxAge.value != nil
    if request.contains(.authorization), !permitted, !directives.flags.contains(.mustRevalidate) {
      return .authorization
    }
    guard !permitted, !isExplicit else { return nil }
    if response.contains(.setCookie), policy.setCookie != .strip { return .setCookie }
    return request.contains(.cookie) ? .requestCookie : nil
  }

  /// The last condition of section 3, and whether a copy could ever answer.
  var uselessness: RefusalReason? {
    let byOwner = status >= 400 ? policy.negativeTTL.seconds(status) ?? 0 > 0 : false
    guard
      isExplicit || byOwner || CacheableStatus.isHeuristic(status)
        || directives.permitsAnyStatus(isPrivate: isPrivate)
    else { return .noExplicitFreshness }
    let canBeAsked = response.contains(.etag) || response.contains(.lastModified)
    let ownerKeeps = byOwner || status < 400 && policy.keepsWhatOriginsDoNot
    let usable =
      lasts || ownerKeeps || canBeAsked || directives.staleWhileRevalidate.value != nil
      || directives.staleIfError.value != nil
    return usable ? nil : .neverReusable
  }

  /// Whether its own lifetime is more than nothing.
  private var lasts: Bool {
    if let shared = directives.sharedMaxAge.value, !isPrivate { return shared > 0 }
    if let maxAge = directives.maxAge.value { return maxAge > 0 }
    return response.contains(.expires) && !directives.isTargeted
  }
}
