// RFC 9111 section 4: may this stored response answer this request now? Runs on every hit: fixed-size values
// in, one enum out, nothing allocated. The key and Vary have been compared by the caller.

/// What may be done with a stored response that matches the request.
public enum Reuse: Sendable, Equatable {
  /// Serve it, with this Age.
  case serve(age: Int32)
  /// Serve it at once, with this Age, stale or about to be replaced; the caller revalidates behind the answer.
  case serveStale(age: Int32, reason: StaleReason)
  /// Ask the origin first, with the stored validators if there are any.
  case validate(reason: MissReason)
  /// Take no notice of it.
  case no(reason: MissReason)

  /// Decides. `only-if-cached` is the caller's to answer with 504 where this is ``validate`` or ``no``.
  ///
  /// - Parameter now: Wall-clock seconds since 1970.
  public static func decide(
    _ stored: StoredMetadata, request: RequestDirectives, policy: CachePolicy, now: Int64
  ) -> Reuse {
    guard policy.kind != .networkOnly else { return .no(reason: .networkOnly) }
    guard stored.residentTime(now) != nil else { return .validate(reason: .clockWentBack) }
    let asked = policy.honoursRequestDirectives ? request : .none
    let age = stored.currentAge(now: now)
    let remaining = stored.remainingFreshness(policy: policy, now: now)
    if let reason = refusal(stored, asked, policy, age: age, remaining: remaining) {
      return .validate(reason: reason)
    }
    if policy.kind == .cacheThenNetwork, remaining > 0 || stored.isOwners {
      return .serveStale(age: age, reason: .cacheThenNetwork)
    }
    return remaining > 0
      ? .serve(age: age) : decideStale(stored, asked, policy, age: age, staleness: 0 &- remaining)
  }

  /// What forbids to reuse it without validation, be it fresh or stale.
  private static func refusal(
    _ stored: StoredMetadata, _ request: RequestDirectives, _ policy: CachePolicy, age: Int32,
    remaining: Int32
  ) -> MissReason? {
    if request.noCache { return .requestNoCache }
    if stored.flags.contains(.noCache), !stored.isOverruled(policy) { return .responseNoCache }
    // The age is rounded down, so a response as old as the limit is in truth older; max-age=0 always asks.
    if let maxAge = request.maxAge, age >= maxAge { return .requestMaxAge }
    if let minFresh = request.minFresh, remaining < minFresh { return .requestMinFresh }
    return nil
  }

  private static func decideStale(
    _ stored: StoredMetadata, _ request: RequestDirectives, _ policy: CachePolicy, age: Int32,
    staleness: Int32
  ) -> Reuse {
    if stored.forbidsStale(policy) { return .validate(reason: .mustRevalidate) }
    if let maxStale = request.maxStale, staleness <= maxStale, stored.isOwners {
      return .serveStale(age: age, reason: .requestMaxStale)
    }
    // A client that gives a max-age or min-fresh does not want a stale response (section 5.2.1.1).
    let wantsFresh = request.maxAge != nil || request.minFresh != nil
    let window = max(stored.staleWhileRevalidate, stored.isOwners ? policy.stale ?? 0 : 0)
    guard !wantsFresh, staleness < window else { return .validate(reason: .stale) }
    return .serveStale(age: age, reason: .staleWhileRevalidate)
  }
}

extension StoredMetadata {
  /// Whether the owner's policy overrules the response's `no-cache`: never for what may be one client's.
  @inline(__always)
  func isOverruled(_ policy: CachePolicy) -> Bool {
    policy.overrulesNoCache && isOwners
  }

  /// Whether the response must not be served stale (RFC 9111 section 4.2.4).
  ///
  /// An owner who chose another policy than `http` by name overrules what
  /// `s-maxage` only implies; nobody overrules `must-revalidate`, `proxy-revalidate` and `no-cache`.
  @inline(__always)
  func forbidsStale(_ policy: CachePolicy) -> Bool {
    let forbidding: Flags =
      policy.kind == .http || !isOwners
      ? [.mustRevalidate, .proxyRevalidate, .noCache, .sharedMaxAge]
      : [.mustRevalidate, .proxyRevalidate, .noCache]
    return !flags.isDisjoint(with: forbidding)
  }
}
