// How long an origin asks to be left alone: Retry-After (RFC 9110 section 10.2.3), the RateLimit fields of
// draft-ietf-httpapi-ratelimit-headers in their older and newer forms, and X-RateLimit as it is widespread. What makes no
// sense says nothing; of several words the longest counts.

import RegentHTTP

extension Fields {
  /// The delay that an answer asks for; nil where it asks for none.
  ///
  /// - Parameters:
  ///   - wall: Wall-clock seconds since 1970, as of the answer's arrival.
  ///   - isLimiting: Whether the status says that there were too many requests: then a used-up limit is an answer.
  func demandedDelay(wall: Int64, isLimiting: Bool) -> Duration? {
    guard isLimiting || contains(.retryAfter) else { return nil }
    let sent = first(.date).flatMap { HTTPDate.parse($0, now: wall) } ?? wall
    var seconds = all(.retryAfter).compactMap { Self.seconds(retryAfter: $0, sent: sent) }
    if isLimiting {
      seconds += all(.rateLimit).compactMap { RateLimitReader.reset(in: $0) }
      for prefix in ["RateLimit", "X-RateLimit"] {
        if let reset = reset(prefix, sent: sent) { seconds.append(reset) }
      }
    }
    return seconds.max().map { .seconds($0) }
  }

  private static func seconds(retryAfter value: ArraySlice<UInt8>, sent: Int64) -> Int64? {
    if let seconds = Decimal.parse(value) { return Int64(min(seconds, longest)) }
    return HTTPDate.parse(value, now: sent).map { clamped($0, since: sent) }
  }

  /// The reset of a limit of which nothing remains, given in two fields: seconds, or a time since 1970.
  private func reset(_ prefix: String, sent: Int64) -> Int64? {
    guard let remaining = number("\(prefix)-Remaining"), remaining == 0,
      let reset = number("\(prefix)-Reset")
    else { return nil }
    // Nobody's limit lasts thirty years: a number so large is a moment, in seconds or in milliseconds.
    if reset >= 100_000_000_000 { return Self.clamped(Int64(reset / 1000), since: sent) }
    if reset >= 1_000_000_000 { return Self.clamped(Int64(reset), since: sent) }
    return Int64(min(reset, Self.longest))
  }

  private func number(_ name: String) -> Int? { all(named: Array(name.utf8)).first.flatMap(Decimal.parse) }

  /// What no domain waits for anyway, in seconds.
  private static let longest = 1 << 31

  private static func clamped(_ time: Int64, since start: Int64) -> Int64 {
    let (seconds, overflow) = time.subtractingReportingOverflow(start)
    return overflow ? (time < start ? 0 : Int64(longest)) : min(max(0, seconds), Int64(longest))
  }
}

/// Reads `RateLimit`, be it `"default";r=0;t=30` or `limit=10, remaining=0, reset=30`.
struct RateLimitReader {
  private var remaining: Int?
  private var after: Int?
  private var longest: Int64?

  /// The longest reset of those limits of which nothing remains.
  static func reset(in value: ArraySlice<UInt8>) -> Int64? {
    var reader = RateLimitReader()
    for part in value.split(whereSeparator: { $0 == 0x2C || $0 == 0x3B }) { reader.take(part) }
    reader.closeItem()
    return reader.longest
  }

  private mutating func take(_ part: ArraySlice<UInt8>) {
    let part = part.drop { $0 == 0x20 }
    // The name of a limit begins the next one.
    if part.first == 0x22 { return closeItem() }
    let sides = part.split(separator: 0x3D, maxSplits: 1)
    guard sides.count == 2, let number = Decimal.parse(sides[1].prefix { $0 != 0x20 }) else { return }
    if sides[0].elementsEqual("r".utf8) || sides[0].elementsEqual("remaining".utf8) { remaining = number }
    if sides[0].elementsEqual("t".utf8) || sides[0].elementsEqual("reset".utf8) { after = number }
  }

  private mutating func closeItem() {
    if remaining == 0, let after { longest = max(longest ?? 0, Int64(min(after, 1 << 31))) }
    (remaining, after) = (nil, nil)
  }
}
