// A decision told to people: which rule or setting is behind each reason, and the arithmetic of age line by line
// (RFC 9111 section 4.2.3). The same enums and functions that decide; nothing is decided anew here.

import RegentHTTP

/// What is stored, and what is decided about it, in lines of text.
public enum Explanation {
  /// The age calculation of section 4.2.3 with this response's figures, a line each.
  public static func age(_ stored: StoredMetadata, now: Int64) -> [String] {
    guard let resident = stored.residentTime(now) else {
      return ["the clock went back behind the arrival (\(date(stored.responseTime))): the age is unknown"]
    }
    return [
      "date_value             \(date(stored.date))",
      "response_time          \(date(stored.responseTime))",
      "corrected_initial_age  \(stored.initialAge) s   max(response_time - date_value, age_value + response_delay)",
      "resident_time          \(resident) s   now - response_time",
      "current_age            \(stored.currentAge(now: now)) s   corrected_initial_age + resident_time",
    ]
  }

  /// The freshness lifetime, where it comes from, and what is left of it.
  public static func freshness(_ stored: StoredMetadata, policy: CachePolicy, now: Int64) -> [String] {
    let remaining = stored.remainingFreshness(policy: policy, now: now)
    var lines = ["lifetime               \(stored.lifetime) s   \(lifetimeSource(stored))"]
    lines += settings(stored, policy)
    lines.append(
      remaining > 0
        ? "fresh for              \(remaining) s more" : "stale for              \(0 &- remaining) s")
    for (name, window) in windows(stored, policy) { lines.append("\(name) \(window) s") }
    return lines
  }

  private static func lifetimeSource(_ stored: StoredMetadata) -> String {
    if stored.flags.contains(.negative) { return "the domain's negative-ttl for status \(stored.status)" }
    if stored.flags.contains(.invalidFreshness) {
      return "its lifetime cannot be read (RFC 9111 section 4.2.1)"
    }
    if stored.flags.contains(.sharedMaxAge) { return "s-maxage (RFC 9111 section 5.2.2.10)" }
    if stored.flags.contains(.heuristic) { return "a guess from Last-Modified (RFC 9111 section 4.2.2)" }
    return stored.lifetime > 0
      ? "from the origin's fields (RFC 9111 section 4.2.1)"
      : "the origin's fields give none, or none that lasts"
  }

  private static func settings(_ stored: StoredMetadata, _ policy: CachePolicy) -> [String] {
    var lines: [String] = []
    if !stored.isOwners { lines.append("the domain's settings do not prolong what may be one client's own") }
    if let ttl = policy.ttl { lines.append("the domain's ttl       \(ttl) s   counted from the arrival") }
    if policy.minimumTTL > 0 { lines.append("the domain's ttl-min   \(policy.minimumTTL) s") }
    if policy.maximumTTL < .max { lines.append("the domain's ttl-max   \(policy.maximumTTL) s") }
    return lines
  }

  private static func windows(_ stored: StoredMetadata, _ policy: CachePolicy) -> [(String, Int32)] {
    let all: [(String, Int32)] = [
      ("stale-while-revalidate", max(stored.staleWhileRevalidate, stored.isOwners ? policy.stale ?? 0 : 0)),
      ("stale-if-error        ", max(stored.staleIfError, stored.isOwners ? policy.staleIfError ?? 0 : 0)),
    ]
    return all.filter { $0.1 > 0 }
  }

  /// The age, the freshness, and what is decided of them.
  public static func lines(
    _ stored: StoredMetadata, _ reuse: Reuse, policy: CachePolicy, now: Int64
  ) -> [String] {
    ["age (RFC 9111 section 4.2.3):"] + age(stored, now: now).map { "  " + $0 }
      + ["freshness (RFC 9111 section 4.2):"]
      + freshness(stored, policy: policy, now: now).map { "  " + $0 }
      + ["decision: \(reuse.explanation)"]
  }

  /// A time as HTTP writes it.
  public static func date(_ seconds: Int64) -> String {
    var bytes: [UInt8] = []
    HTTPDate.append(seconds, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension Reuse {
  /// The decision in a sentence, with the rule or setting behind it.
  public var explanation: String {
    switch self {
    case .serve(let age): "serve it, with Age: \(age) (it is fresh: RFC 9111 section 4.2)"
    case .serveStale(let age, let reason):
      "serve it stale, with Age: \(age): \(reason.text) (\(reason.basis))"
    case .validate(let reason): "ask the origin first: \(reason.text) (\(reason.basis))"
    case .no(let reason): "take no notice of it: \(reason.text) (\(reason.basis))"
    }
  }
}

extension MissReason {
  /// The section or setting behind the reason.
  public var basis: String {
    switch self {
    case .stale: "RFC 9111 section 4.2"
    case .mustRevalidate: "RFC 9111 sections 4.2.4, 5.2.2.2, 5.2.2.8 and 5.2.2.10"
    case .responseNoCache: "RFC 9111 section 5.2.2.4"
    case .requestNoCache: "RFC 9111 sections 5.2.1.4 and 5.4"
    case .requestMaxAge: "RFC 9111 section 5.2.1.1"
    case .requestMinFresh: "RFC 9111 section 5.2.1.3"
    case .clockWentBack: "RFC 9111 section 4.2.3 needs a clock that goes on"
    case .networkOnly: "the domain's policy network-only"
    }
  }
}

extension StaleReason {
  /// The section or setting behind the reason.
  public var basis: String {
    switch self {
    case .staleWhileRevalidate: "RFC 5861 section 3, or the domain's stale"
    case .staleIfError: "RFC 5861 section 4, or the domain's stale-if-error"
    case .requestMaxStale: "RFC 9111 section 5.2.1.2"
    case .cacheThenNetwork: "the domain's policy cache-then-network"
    case .disconnected: "RFC 9111 section 4.2.4"
    }
  }
}
