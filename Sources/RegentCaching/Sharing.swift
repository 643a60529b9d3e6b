// May the response to one request answer others that asked for the same while it was fetched? It is held to what a stored
// response is held to (RFC 9111 sections 3 and 4), at the moment at which it arrives. Pure: values in, one enum out.

public import RegentHTTP

/// Who may be given a response besides the request that it was fetched for.
public enum Sharing: Sendable, Equatable {
  /// Who is selected by it, as if it came from a store: those who waited, and those who come while it arrives.
  case asStored
  /// Those alone who asked before it was here, and only without credentials: it was stale at once, and nothing forbids to
  /// use it, but the next request asks the origin.
  case once
  /// Nobody.
  case refused

  /// Decides about a response that has just arrived.
  ///
  /// - Parameters:
  ///   - metadata: What is known of it; nil for one that must not be stored.
  ///   - requestFields: The fields of the request that it was fetched for.
  ///   - now: Wall-clock seconds since 1970.
  public static func decide(
    _ storability: Storability, _ metadata: StoredMetadata?, requestFields: Fields, policy: CachePolicy,
    now: Int64
  ) -> Sharing {
    guard storability == .store, let metadata else { return .refused }
    // What their clients ask for themselves is satisfied by a response that arrives now.
    switch Reuse.decide(metadata, request: .none, policy: policy, now: now) {
    case .serve, .serveStale: return .asStored
    case .validate(.stale): return isPersonal(requestFields, policy) ? .refused : .once
    case .validate, .no: return .refused
    }
  }

  /// Whether a request has credentials that its key does not tell from others'.
  public static func isPersonal(_ request: Fields, _ policy: CachePolicy) -> Bool {
    policy.scope == .shared && (request.contains(.authorization) || request.contains(.cookie))
  }
}
