// RFC 5861 section 4 and RFC 9111 section 4.2.4: may a stored candidate answer when the origin does not?

/// How the origin failed.
public enum OriginFailure: Sendable, Equatable {
  /// No answer: refused, unreachable, timed out, closed before an answer, or its name unknown.
  case unreachable
  /// An answer with this status.
  case status(UInt16)
}

/// The decision whether a stored candidate replaces an error.
public enum StaleIfError: Sendable, Equatable {
  /// Serve the candidate with this Age.
  case serve(age: Int32, reason: StaleReason)
  /// Let the error be seen.
  case no

  /// Decides. Only 500, 502, 503 and 504 are errors in the sense of RFC 5861.
  ///
  /// - Parameter now: Wall-clock seconds since 1970.
  public static func decide(
    _ stored: StoredMetadata, request: RequestDirectives, policy: CachePolicy, failure: OriginFailure,
    now: Int64
  ) -> StaleIfError {
    guard policy.kind != .networkOnly, stored.residentTime(now) != nil else { return .no }
    let asked = policy.honoursRequestDirectives ? request : .none
    let staleness = 0 &- stored.remainingFreshness(policy: policy, now: now)
    guard !asked.noCache, !forbids(stored, policy, isStale: staleness >= 0) else { return .no }
    let granted = stored.isOwners ? max(policy.staleIfError ?? 0, asked.staleIfError ?? 0) : 0
    let window = max(stored.staleIfError, granted)
    let age = stored.currentAge(now: now)
    switch failure {
    case .unreachable:
      if staleness < window { return .serve(age: age, reason: .staleIfError) }
      // What one client's credentials brought is never given to others beyond the origin's own word (TRUST F6).
      return stored.isOwners || staleness < 0 ? .serve(age: age, reason: .disconnected) : .no
    case .status(500), .status(502), .status(503), .status(504):
      return staleness < window ? .serve(age: age, reason: .staleIfError) : .no
    case .status: return .no
    }
  }

  private static func forbids(_ stored: StoredMetadata, _ policy: CachePolicy, isStale: Bool) -> Bool {
    if stored.isOverruled(policy), !isStale || policy.kind == .cacheThenNetwork { return false }
    return isStale ? stored.forbidsStale(policy) : stored.flags.contains(.noCache)
  }
}
