// Latencies in log-linear buckets, as in HdrHistogram (Tene): eight to each doubling, so a quantile is at most
// an eighth off, in a fixed 2 KiB.

import RegentLoop

/// How long requests took, from their head to their last byte in the kernel's hands.
final class LatencyHistogram: Sendable {
  private static let steps = 8
  private static let size = 36 * 8
  private let buckets = Counters(count: size)

  /// Counts one duration in nanoseconds.
  func record(_ nanoseconds: Int64) { record(nanoseconds, times: 1) }

  func record(_ nanoseconds: Int64, times: Int) {
    buckets.add(times, at: Self.bucket(nanoseconds))
  }

  static func bucket(_ nanoseconds: Int64) -> Int {
    let value = UInt64(max(0, nanoseconds))
    guard value >= 8 else { return Int(value) }
    let exponent = 63 - value.leadingZeroBitCount
    let step = Int(value &>> UInt64(exponent - 3)) & 7
    return min((exponent - 2) * steps + step, size - 1)
  }

  /// The largest value of a bucket, in nanoseconds.
  static func upperBound(_ bucket: Int) -> Int64 {
    guard bucket >= steps else { return Int64(bucket) }
    let exponent = bucket / steps + 2
    let step = bucket % steps
    return (Int64(8 + step + 1) << Int64(exponent - 3)) - 1
  }

  var counts: [Int] { (0..<buckets.count).map { buckets[$0] } }

  /// The duration in nanoseconds that this part (0 to 1) of the counted ones did not exceed; 0 where nothing was counted.
  static func quantile(_ part: Double, of counts: [Int]) -> Int64 {
    let total = counts.reduce(0, +)
    guard total > 0 else { return 0 }
    let wanted = Double(total) * part
    var seen = 0
    for (bucket, count) in counts.enumerated() {
      seen += count
      if Double(seen) >= wanted, count > 0 { return upperBound(bucket) }
    }
    return upperBound(counts.count - 1)
  }
}
