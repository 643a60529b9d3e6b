// How many repetitions an origin is to bear: a share of its recent requests, so that a failing origin is not attacked by
// those who wait for it (TRUST D7). A pure machine.

/// The repetitions that one origin is sent.
struct RetryBudget: Sendable {
  /// What counts as recent, in nanoseconds.
  static let window: Int64 = 10_000_000_000
  /// So many repetitions are allowed in a window, however few requests there were.
  static let floor = 3

  private let percent: Int
  private var recent = SlidingCounts(window: window)
  private(set) var refusals = 0

  /// `percent` of the requests may be repeated; 0 allows none at all.
  init(percent: Int) { self.percent = max(0, percent) }

  /// A request was sent for the first time.
  mutating func requestSent(now: Int64) { recent.add(all: 1, marked: 0, now: now) }

  /// A request wants to be sent again; whether it may be.
  mutating func repetitionWanted(now: Int64) -> Bool {
    recent.advance(to: now)
    guard recent.marked < allowed else {
      refusals &+= 1
      return false
    }
    recent.add(all: 0, marked: 1, now: now)
    return true
  }

  private var allowed: Int {
    guard percent > 0 else { return 0 }
    let (product, overflow) = recent.all.multipliedReportingOverflow(by: percent)
    return max(Self.floor, overflow ? .max : product / 100)
  }
}
