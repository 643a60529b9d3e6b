// RFC 9111 section 4.2.3: how old a response was when it came, and how old it is now. Clocks may be wrong on
// both sides and may jump; no sum here can trap, and a clock that went back never makes a response younger.

import RegentHTTP

/// The age calculations.
enum Age {
  /// The Date of a message, or its arrival where it has none, and its age then.
  static func initial(_ fields: Fields, requestTime: Int64, responseTime: Int64) -> (date: Int64, age: Int32)
  {
    let date = fields.first(.date).flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    return (date, initial(fields, date: date, requestTime: requestTime, responseTime: responseTime))
  }

  /// corrected_initial_age: the greater of what Date and what Age with the response's delay say.
  static func initial(_ fields: Fields, date: Int64, requestTime: Int64, responseTime: Int64) -> Int32 {
    let apparent = Seconds.clamp(Seconds.difference(responseTime, date))
    let delay = Seconds.clamp(Seconds.difference(responseTime, requestTime))
    let corrected = value(in: fields).addingReportingOverflow(delay)
    return max(apparent, corrected.overflow ? .max : corrected.partialValue)
  }

  /// The Age field: the first member counts, and what is no number is ignored (section 5.1). Empty members are none
  /// (RFC 9110 section 5.6.1.2).
  static func value(in fields: Fields) -> Int32 {
    guard fields.contains(.age), let line = fields.lines.first(where: { $0.name == .age }) else { return 0 }
    let bytes = fields.bytes
    let range = line.valueRange
    var start = range.lowerBound
    while start < range.upperBound, bytes[start] == .comma || bytes[start].isBlank { start += 1 }
    var end = start
    while end < range.upperBound, bytes[end] != .comma { end += 1 }
    while end > start, bytes[end - 1].isBlank { end -= 1 }
    return DeltaSeconds.parse(bytes, start..<end).value ?? 0
  }
}

extension StoredMetadata {
  /// How far the clock may stand behind the arrival, in seconds, before it is taken to have been set back:
  /// loops read the clock at slightly different moments.
  static let clockTolerance: Int64 = 2

  /// resident_time: how long the response has been here; nil where the clock went back.
  @inline(__always)
  func residentTime(_ now: Int64) -> Int32? {
    let resident = Seconds.difference(now, responseTime)
    return resident < -Self.clockTolerance ? nil : Seconds.clamp(resident)
  }

  /// current_age, for the Age field (sections 4.2.3 and 5.1), in seconds.
  public func currentAge(now: Int64) -> Int32 {
    let sum = initialAge.addingReportingOverflow(residentTime(now) ?? 0)
    return sum.overflow ? .max : sum.partialValue
  }

  /// How long the response stays fresh, for Cache-Status `ttl`; negative by how long it has been stale.
  ///
  /// A domain's `ttl` replaces the origin's lifetime and counts from the arrival here: what the owner
  /// wants is how long Regent may answer by itself. It does not change errors, and only shortens what may be one
  /// client's. `ttl-min` changes neither; `ttl-max` bounds every lifetime.
  public func remainingFreshness(policy: CachePolicy, now: Int64) -> Int32 {
    guard status < 400, isOwners else { return guardedFreshness(policy, now) }
    let bounded = min(max(policy.ttl ?? lifetime, policy.minimumTTL), policy.maximumTTL)
    let age = policy.ttl == nil ? currentAge(now: now) : residentTime(now) ?? .max
    return max(0, bounded) &- age
  }

  /// What remains of a lifetime that the owner may not prolong.
  private func guardedFreshness(_ policy: CachePolicy, _ now: Int64) -> Int32 {
    let limit = flags.contains(.negative) ? .max : policy.maximumTTL
    let own = min(lifetime, limit) &- currentAge(now: now)
    guard status < 400, let ttl = policy.ttl else { return own }
    return min(own, max(0, ttl) &- (residentTime(now) ?? .max))
  }
}
