// What flights count, each with its name on the page /stats.

/// How often each thing happened; guarded by whoever holds it.
struct FlightCounts: Sendable, Equatable {
  /// Requests that fetched, with others free to join.
  var led = 0
  /// Requests that waited for another one's head.
  var followed = 0
  /// Requests that joined while the body arrived.
  var joinedLate = 0
  /// Followers who became leaders: because one failed, or because the lease passed.
  var elected = 0
  var leaseExpired = 0
  /// Followers who went on alone because the response was not to be shared.
  var released = 0
  /// Followers whom the response does not select.
  var unselected = 0
  /// Followers who got a stale response after the leader's failure.
  var stale = 0
  /// Followers who share a leader's failure.
  var failed = 0
  /// Requests that found no room among the waiting.
  var overflowed = 0
  /// Requests that did not wait, because the key's responses are not shared.
  var unshared = 0
  /// Requests that looked into the cache again, because a flight had just ended.
  var lookedAgain = 0

  static let names: [(String, any WritableKeyPath<FlightCounts, Int> & Sendable)] = [
    ("leaders", \.led), ("followers", \.followed), ("joined-late", \.joinedLate), ("elections", \.elected),
    ("lease-expired", \.leaseExpired), ("released", \.released), ("not-selected", \.unselected),
    ("stale", \.stale), ("failed", \.failed), ("overflow", \.overflowed), ("not-shared", \.unshared),
    ("looked-again", \.lookedAgain),
  ]

  mutating func add(_ other: FlightCounts) {
    for (_, path) in Self.names { self[keyPath: path] += other[keyPath: path] }
  }
}

/// The flights' figures at one moment.
struct FlightFigures: Sendable, Equatable {
  var inTheAir = 0
  var waiting = 0
  var rememberedKeys = 0
  var counts = FlightCounts()

  func write(_ json: inout JSONWriter) {
    json.value("in-the-air", inTheAir)
    json.value("waiting", waiting)
    json.value("hit-for-miss-keys", rememberedKeys)
    for (name, path) in FlightCounts.names { json.value(name, counts[keyPath: path]) }
  }
}
