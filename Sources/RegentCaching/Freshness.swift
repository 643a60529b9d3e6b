// RFC 9111 section 4.2.1, the freshness lifetime that a response's own fields give a shared cache, and 4.2.2,
// the guess where they give none. The domain's `ttl` is applied later, when the response is to be reused.

import RegentHTTP

/// The freshness lifetime of a response and where it comes from.
struct Freshness: Equatable {
  /// Seconds; 0 is stale at once.
  var lifetime: Int32 = 0
  /// `sharedMaxAge`, `heuristic` or `invalidFreshness`.
  var flags: StoredMetadata.Flags = []

  /// - Parameters:
  ///   - date: The response's Date, or its arrival.
  ///   - heuristicMaximum: The longest guess, in seconds; 0 forbids to guess.
  init(
    status: UInt16, fields: Fields, directives: ResponseDirectives, date: Int64, heuristicMaximum: Int32
  ) {
    if directives.sharedMaxAge.isPresent {
      flags.insert(.sharedMaxAge)
      take(directives.sharedMaxAge)
    } else if directives.maxAge.isPresent {
      take(directives.maxAge)
    } else if fields.contains(.expires) {
      takeExpires(fields, date)
    } else if CacheableStatus.isHeuristic(status) || directives.flags.contains(.public) {
      guess(fields, date, maximum: heuristicMaximum)
    }
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

  /// A tenth of the time that the representation had not changed when it was sent.
  private mutating func guess(_ fields: Fields, _ date: Int64, maximum: Int32) {
    guard maximum > 0, let value = fields.first(.lastModified),
      let modified = HTTPDate.parse(value, now: date), modified < date
    else { return }
    lifetime = min(Seconds.clamp(Seconds.difference(date, modified) / 10), maximum)
    flags.insert(.heuristic)
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
    case 200...205, 300...303, 307, 308, 400...417, 421, 422, 426, 428, 429, 431, 451, 500...505, 511: true
    default: false
    }
  }
}
