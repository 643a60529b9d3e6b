// Why a decision fell as it did: closed enums whose raw value is the one text used in Cache-Status details,
// logs and metrics. Each text is a structured-field token (RFC 9651 section 3.3.4), so it is written as it is.

/// Why a stored response may not answer by itself.
public enum MissReason: String, Sendable, CaseIterable {
  /// Its freshness lifetime is over and nothing allows to serve it stale (RFC 9111 section 4.2).
  case stale
  /// It is stale, and `must-revalidate`, `proxy-revalidate` or `s-maxage` forbids to serve it (section 4.2.4).
  case mustRevalidate = "must-revalidate"
  /// The response said `no-cache` (section 5.2.2.4).
  case responseNoCache = "response-no-cache"
  /// The request said `no-cache`, or `Pragma: no-cache` (sections 5.2.1.4 and 5.4).
  case requestNoCache = "request-no-cache"
  /// It is older than the request's `max-age` (section 5.2.1.1).
  case requestMaxAge = "request-max-age"
  /// It is not fresh for as long as the request's `min-fresh` (section 5.2.1.3).
  case requestMinFresh = "request-min-fresh"
  /// The wall clock went back behind the response's arrival: its age is unknown.
  case clockWentBack = "clock-went-back"
  /// The domain's policy is to ask the origin always.
  case networkOnly = "network-only"

  /// The text for Cache-Status, logs and metrics.
  public var text: String { rawValue }

  /// The registered word of RFC 9211 section 2.2 for it.
  public var fwd: FwdReason {
    switch self {
    case .stale, .mustRevalidate, .responseNoCache, .clockWentBack: .stale
    case .requestNoCache, .requestMaxAge, .requestMinFresh: .request
    case .networkOnly: .bypass
    }
  }

  /// What Cache-Status says of it beside ``fwd``; nothing where that word says it all.
  public var detail: CacheDetail { self == .stale ? .none : .miss(self) }
}

/// Why a response is served although it is stale.
public enum StaleReason: String, Sendable, CaseIterable {
  /// RFC 5861 section 3, from the response or from the domain's `stale`.
  case staleWhileRevalidate = "stale-while-revalidate"
  /// RFC 5861 section 4, from the response, the request, or the domain's `stale-if-error`.
  case staleIfError = "stale-if-error"
  /// The request's `max-stale` (RFC 9111 section 5.2.1.2).
  case requestMaxStale = "request-max-stale"
  /// The domain's policy serves what is stored, whatever its age, and asks the origin behind, fresh or not.
  case cacheThenNetwork = "cache-then-network"
  /// No origin can be reached: Regent is disconnected (RFC 9111 section 4.2.4).
  case disconnected

  /// The text for Cache-Status, logs and metrics.
  public var text: String { rawValue }
}

/// Why a response is not stored (RFC 9111 section 3).
public enum RefusalReason: String, Sendable, CaseIterable {
  /// The method is not one whose responses Regent stores.
  case method
  /// An interim response, or a 304, is no response to store.
  case status
  /// A 206 that does not say which one part it is or is stored as a whole, or a 416, which only the asking for one
  /// brought about (section 3.3).
  case partial
  /// The domain's policy stores nothing.
  case networkOnly = "network-only"
  /// The response said `no-store` (section 5.2.2.5).
  case responseNoStore = "response-no-store"
  /// The request said `no-store` (section 5.2.1.5).
  case requestNoStore = "request-no-store"
  /// The request had content, which is no part of the key.
  case requestContent = "request-content"
  /// The request offered to go on in another protocol: the answer is about that, too.
  case upgrade
  /// `must-understand`, and Regent does not know the status (section 5.2.2.3).
  case notUnderstood = "not-understood"
  /// `private` in a shared cache (section 5.2.2.7).
  case `private`
  /// The request had Authorization and the response does not permit to share it (section 3.5).
  case authorization
  /// Vary is `*`, malformed, or too large to keep (section 4.1).
  case vary
  /// Set-Cookie without explicit freshness or `public` (TRUST B7).
  case setCookie = "set-cookie"
  /// The domain stores no response with Set-Cookie: `set-cookie = "refuse"`.
  case setCookieRefused = "set-cookie-refused"
  /// The request had Cookie, and the response has neither explicit freshness nor `public` (TRUST F6).
  case requestCookie = "request-cookie"
  /// The status is not heuristically cacheable and there is no explicit freshness (section 3).
  case noExplicitFreshness = "no-explicit-freshness"
  /// It is larger than what the store takes, `max-object`.
  case tooLarge = "too-large"
  /// What is stored for its target was made invalid while it was fetched (section 4.4).
  case invalidated
  /// Its key was not asked for before, and only what is asked for again is stored: `admit = "second-hit"`.
  case firstRequest = "first-request"
  /// A 304's strong tag answers the question about a weak one, and must not change what is stored (section 4.3.4).
  case weaklyConfirmed = "weakly-confirmed"
  /// Its content is not what its Content-Digest or Repr-Digest says (RFC 9530).
  case digestMismatch = "digest-mismatch"
  /// Neither freshness nor a validator nor a stale window: a stored copy could never be used.
  case neverReusable = "never-reusable"

  /// The text for Cache-Status, logs and metrics.
  public var text: String { rawValue }

  /// Whether the request alone is why: what is stored for other requests stays as true as it was.
  public var concernsRequestOnly: Bool {
    switch self {
    case .requestNoStore, .requestContent, .authorization, .requestCookie: true
    default: false
    }
  }
}
