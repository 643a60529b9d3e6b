// The two clocks of a loop, read once per event: monotonic for deadlines and latencies, wall for dates and ages.
// Nothing else in Regent reads a clock.

import CLibevent
import Glibc

/// Monotonic and wall time as of the event that a loop is handling.
public struct LoopClock: Sendable {
  /// Monotonic time in nanoseconds.
  public private(set) var now: Int64 = 0
  /// Wall time in whole seconds since 1970-01-01T00:00:00Z.
  public private(set) var wall: Int64 = 0
  private var nextWallSecond: Int64 = .min

  public init() {}

  /// The clocks now, for what happens before the loops run.
  public static func read() -> LoopClock {
    let clock = LoopClock()
    return clock.refreshed()
  }

  /// The clocks of the loop that this thread runs, or, on another thread, now.
  public static var current: LoopClock { EventLoop.current?.clock ?? read() }

  /// The monotonic time so much later; the last there is where that is beyond it.
  public func time(in duration: Duration) -> Int64 { time(after: duration.nanoseconds) }

  /// The same for nanoseconds, which cost no division.
  public func time(after nanoseconds: Int64) -> Int64 {
    let (time, overflow) = now.addingReportingOverflow(nanoseconds)
    return overflow ? (nanoseconds < 0 ? .min : .max) : time
  }

  /// The shorter of a duration and what is left until a monotonic time.
  public func time(in duration: Duration, until deadline: Int64) -> Duration {
    let (left, overflow) = deadline.subtractingReportingOverflow(now)
    return overflow ? (deadline < now ? .zero : duration) : min(duration, .nanoseconds(max(0, left)))
  }

  /// The clocks read anew.
  func refreshed() -> LoopClock {
    var clock = self
    clock.now = Self.read(CLOCK_MONOTONIC).total
    if clock.now >= nextWallSecond {
      let time = Self.read(CLOCK_REALTIME)
      clock.wall = Int64(time.spec.tv_sec)
      // At most a second away, and sooner than that a step of the wall clock is noticed.
      clock.nextWallSecond = clock.now &+ min(1_000_000_000 - Int64(time.spec.tv_nsec), 1_000_000_000)
    }
    return clock
  }

  private static func read(_ clock: clockid_t) -> (spec: timespec, total: Int64) {
    var time = timespec()
    // Unsafe: fills a local.
    _ = unsafe clock_gettime(clock, &time)
    return (time, Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }
}

extension Duration {
  /// The duration in nanoseconds, clamped to what an Int64 holds (292 years).
  public var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return carried ? (seconds < 0 ? .min : .max) : sum
  }
}
