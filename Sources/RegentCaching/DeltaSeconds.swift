// Numbers of seconds as the wire gives them (RFC 9111 section 1.2.2). Whatever the digits, nothing traps:
// what is too large is the largest, what is no number at all is `invalid` and is treated as stale.

/// The argument of a directive that takes seconds.
public enum DeltaSeconds: Sendable, Equatable {
  /// The directive did not occur.
  case absent
  /// It occurred without a usable value, or twice with different ones.
  case invalid
  /// At most 2^31 - 1; larger numbers on the wire are clamped (RFC 9111 section 1.2.2).
  case seconds(Int32)

  /// Whether the directive occurred, usable or not.
  public var isPresent: Bool { self != .absent }

  /// The value, where there is a usable one.
  public var value: Int32? {
    guard case .seconds(let seconds) = self else { return nil }
    return seconds
  }

  /// Reads `1*DIGIT` from part of an array; anything else is invalid.
  static func parse(_ bytes: [UInt8], _ range: Range<Int>) -> DeltaSeconds {
    guard !range.isEmpty else { return .invalid }
    var total: Int64 = 0
    for index in range {
      let digit = bytes[index] &- 0x30
      guard digit < 10 else { return .invalid }
      // Clamping at every step keeps the product far from overflow, however many digits follow.
      total = min(total &* 10 &+ Int64(digit), Int64(Int32.max))
    }
    return .seconds(Int32(clamping: total))
  }

  /// Adds one more occurrence: different values contradict each other (RFC 9111 section 4.2.1).
  mutating func merge(_ other: DeltaSeconds) {
    if self == .absent { self = other } else if self != other { self = .invalid }
  }
}

/// Sums and differences of times that cannot trap.
enum Seconds {
  static func difference(_ later: Int64, _ earlier: Int64) -> Int64 {
    let (result, overflow) = later.subtractingReportingOverflow(earlier)
    guard overflow else { return result }
    return later < 0 ? .min : .max
  }

  static func clamp(_ seconds: Int64) -> Int32 { Int32(clamping: max(0, seconds)) }
}
