// RFC 9111 section 4.2.1, the freshness lifetime that a response's own fields give, and 4.2.2, the guess where they
// give none. The domain's `ttl` and its bounds are applied later, when the response is to be reused.

import RegentHTTP

/// The freshness lifetime of a response and where it comes from.
struct Freshness: Equatable {
  /// Seconds; 0 is stale at once.
  var lifetime: Int32 = 0
  /// `sharedMaxAge`, `heuristic` or `invalidFreshness`.
  var flags: StoredMetadata.Flags = []

  /// How a missing lifetime is guessed (section 4.2.2).
  struct Heuristics {
    /// The longest guess, in seconds; 0 forbids to guess.
    var maximum: Int32
    var percent: Int32
  }

  /// - Parameters:
  ///   - isPrivate: Whether the cache is one client's; `s-maxage` is not for it (section 5.2.2.10).
  ///   - date: The response's Date, or its arrival.
  init(
    status: UInt16, fields: borrowing Fields, directives: ResponseDirectives, isPrivate: Bool, date: Int64,
    heuristics: Heuristics
  ) {
    if directives.sharedMaxAge.isPresent, !isPrivate {
      flags.insert(.sharedMaxAge)
      take(directives.sharedMaxAge)
    } else if directives.maxAge.isPresent {
      take(directives.maxAge)
    } else if fields.contains(.expires), !directives.isTargeted {
      takeExpires(fields, date)
    } else if CacheableStatus.isHeuristic(status) || directives.permitsAnyStatus(isPrivate: isPrivate) {
      guess(fields, date, heuristics)
    }
  }

  /// Whether the fields give a lifetime, usable or not.
  static func isExplicit(_ directives: ResponseDirectives, _ fields: Fields, isPrivate: Bool) -> Bool {
    directives.maxAge.value != nil || !isPrivate && directives.sharedMaxAge.value != nil
      || !directives.isTargeted && fields.contains(.expires)
  }

  private mutating func take(_ value: DeltaSeconds) {
    lifetime = value.value ?? 0
    if value == .invalid { flags.insert(.invalidFreshness) }
  }

  /// An Expires that is no date, or several that differ, is in the past (RFC 9111 sections 4.2.1 and 5.3).
  private mutating func takeExpires(_ fields: Fields, _ date: Int64) {
    var expires: Int64?
    for line in fields.lines where line.name == .expires {
      guard let time = HTTPDate.parse(fields.value(of: line), now: date), time == expires ?? time else {
        flags.insert(.invalidFreshness)
        return
      }
      expires = time
    }
    lifetime = Seconds.clamp(Seconds.difference(expires ?? date, date))
  }

  /// A share of the time that the representation had not changed when it was sent.
  private mutating func guess(_ fields: Fields, _ date: Int64, _ heuristics: Heuristics) {
    guard heuristics.maximum > 0, let value = fields.first(.lastModified),
      let modified = HTTPDate.parse(value, now: date), modified < date
    else { return }
    let unchanged = Int64(Seconds.clamp(Seconds.difference(date, modified)))
    lifetime = min(Seconds.clamp(unchanged &* Int64(heuristics.percent) / 100), heuristics.maximum)
    flags.insert(.heuristic)
  }
}

extension ResponseDirectives {
  /// Whether a response of any final status may be stored and its lifetime guessed: `public` says so to all caches,
  /// `private` to one client's (RFC 9111 sections 3, 5.2.2.7 and 5.2.2.9).
  func permitsAnyStatus(isPrivate: Bool) -> Bool {
    flags.contains(.public) || isPrivate && flags.contains(.private)
  }
}

/// What the status says of caching.
enum CacheableStatus {
  /// The statuses that may be stored and reused without explicit freshness (RFC 9110 section 15.1).
  static func isHeuristic(_ status: UInt16) -> Bool {
    switch status {
    case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
    default: false
    }
  }

  /// The statuses whose caching rules Regent obeys, for `must-understand` (RFC 9111 section 5.2.2.3).
  static func isUnderstood(_ status: UInt16) -> Bool {
    switch status {
    case 200...206, 300...303, 307, 308, 400...417, 421, 422, 426, 428, 429, 431, 451, 500...505, 511: true
    default: false
    }
  }
}
