// What happened in the last while: two counts over a window that slides in tenths. Pure; times come in, and one that is
// older than the newest counts as the newest, because loops read their clocks apart.

/// How many things happened within a window, and how many of them were marked.
struct SlidingCounts: Sendable {
  private static let places: Int64 = 10
  private var buckets = InlineArray<10, Bucket>(repeating: Bucket())
  private var newest: Int64?
  private let width: Int64
  private(set) var all = 0
  private(set) var marked = 0

  private struct Bucket {
    var all = 0
    var marked = 0
  }

  /// `window` in nanoseconds.
  init(window: Int64) { width = max(1, window / Self.places) }

  mutating func add(all more: Int, marked: Int, now: Int64) {
    advance(to: now)
    let place = place(newest ?? 0)
    buckets[place].all &+= more
    buckets[place].marked &+= marked
    all &+= more
    self.marked &+= marked
  }

  /// Forgets what the window has left behind.
  mutating func advance(to now: Int64) {
    let number = now / width
    guard let before = newest else {
      newest = number
      return
    }
    guard number > before else { return }
    let (distance, overflow) = number.subtractingReportingOverflow(before)
    let passed = overflow ? Self.places : min(distance, Self.places)
    for step in 0..<passed { empty(place(number &- step)) }
    newest = number
  }

  /// Whether what was counted then is within the window still, as of the last event.
  func holds(_ time: Int64) -> Bool {
    guard let newest else { return false }
    let (distance, overflow) = newest.subtractingReportingOverflow(time / width)
    return !overflow && distance < Self.places
  }

  private mutating func empty(_ place: Int) {
    all &-= buckets[place].all
    marked &-= buckets[place].marked
    buckets[place] = Bucket()
  }

  private func place(_ number: Int64) -> Int {
    let rest = number % Self.places
    return Int(rest < 0 ? rest + Self.places : rest)
  }
}
