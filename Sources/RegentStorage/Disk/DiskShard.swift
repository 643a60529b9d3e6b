// One part of the index: an open-addressing table with linear probing, whose places follow the order of the hashes.
// It grows by half when it is four fifths full, so that an entry takes 30 to 45 bytes all in.
// The table is always as full everywhere, or probing would become a walk: see ``reserve(_:)``.

/// What there is under a hash.
enum DiskFinds: Sendable {
  case none
  case one(DiskEntry)
  /// The last written first.
  case several([DiskEntry])

  var entries: [DiskEntry] {
    switch self {
    case .none: []
    case .one(let entry): [entry]
    case .several(let entries): entries
    }
  }
}

/// A table of entries by hash.
struct DiskShard: Sendable {
  private(set) var places: [DiskEntry] = []
  private(set) var count = 0
  var hits = 0
  var misses = 0

  /// The most responses under one hash.
  static let variantLimit = 32

  // MARK: Finding

  /// The shard was chosen by the top six bits; the next 32 choose the place.
  private func home(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: (((hash << 6) >> 32) * UInt64(places.count)) >> 32)
  }

  private func after(_ index: Int) -> Int { index + 1 == places.count ? 0 : index + 1 }

  /// Calls `body` with the place of each entry of the hash, until it returns false.
  private func forEach(_ hash: UInt64, _ body: (Int) -> Bool) {
    guard !places.isEmpty else { return }
    var index = home(hash)
    while !places[index].isEmpty {
      if places[index].hash == hash, !body(index) { return }
      index = after(index)
    }
  }

  private func place(_ hash: UInt64, where matches: (DiskEntry) -> Bool) -> Int? {
    var found: Int?
    forEach(hash) { index in
      if matches(places[index]) { found = index }
      return found == nil
    }
    return found
  }

  /// The entries of a hash, the last written first.
  func entries(_ hash: UInt64) -> [DiskEntry] {
    var found: [DiskEntry] = []
    forEach(hash) { index in
      found.append(places[index])
      return true
    }
    if found.count > 1 { found.sort { $0.location > $1.location } }
    return found
  }

  /// The same without a list where there is only one.
  func finds(_ hash: UInt64) -> DiskFinds {
    var (first, isOnly): (Int?, Bool) = (nil, true)
    forEach(hash) { index in
      if first == nil { first = index } else { isOnly = false }
      return isOnly
    }
    guard let first else { return .none }
    return isOnly ? .one(places[first]) : .several(entries(hash))
  }

  func holds(_ hash: UInt64) -> Bool { place(hash) { _ in true } != nil }
  func contains(_ hash: UInt64, _ location: UInt64) -> Bool { place(hash) { $0.location == location } != nil }

  mutating func touch(_ hash: UInt64, _ location: UInt64, _ time: UInt16) {
    hits += 1
    guard let index = place(hash, where: { $0.location == location }) else { return }
    places[index].touch(time)
  }

  // MARK: Changing

  /// Adds an entry in place of those of the same hash and variant that are older; false where one is newer.
  mutating func insert(_ entry: DiskEntry) -> Bool {
    var (same, others, oldest): (Int?, Int, Int?) = (nil, 0, nil)
    forEach(entry.hash) { index in
      if places[index].variant == entry.variant {
        same = index
        return false
      }
      others += 1
      if oldest.map({ places[index].location < places[$0].location }) ?? true { oldest = index }
      return true
    }
    if let same {
      guard places[same].location < entry.location else { return false }
      places[same] = entry
      return true
    }
    if others >= Self.variantLimit, let oldest {
      guard places[oldest].location < entry.location else { return false }
      close(oldest)
    }
    add(entry)
    return true
  }

  /// Puts another entry in the place of the one at a location; false where that is gone.
  mutating func replace(_ hash: UInt64, _ location: UInt64, with entry: DiskEntry) -> Bool {
    guard let index = place(hash, where: { $0.location == location }) else { return false }
    places[index] = entry
    return true
  }

  /// Removes the entries of a hash that `matches` accepts; how many.
  @discardableResult
  mutating func remove(_ hash: UInt64, where matches: (DiskEntry) -> Bool) -> Int {
    var removed = 0
    while let index = place(hash, where: matches) {
      close(index)
      removed += 1
    }
    return removed
  }

  /// Removes whatever `matches` accepts; how many.
  mutating func removeAll(where matches: (DiskEntry) -> Bool) -> Int {
    let before = count
    for entry in places where !entry.isEmpty && matches(entry) {
      remove(entry.hash) { $0.location == entry.location }
    }
    return before - count
  }

  private mutating func add(_ entry: DiskEntry) {
    if (count + 1) * 5 > places.count * 4 { grow() }
    var index = home(entry.hash)
    while !places[index].isEmpty { index = after(index) }
    places[index] = entry
    count += 1
  }

  /// Makes room for so many entries at once. What comes in the order of the hashes would else crowd at the front.
  mutating func reserve(_ wanted: Int) {
    let needed = wanted * 5 / 4 + 1
    if needed > places.count { resize(needed) }
  }

  private mutating func grow() { resize(max(16, places.count + places.count / 2)) }

  private mutating func resize(_ wanted: Int) {
    let old = places
    places = Array(repeating: .empty, count: wanted)
    count = 0
    for entry in old where !entry.isEmpty { add(entry) }
  }

  /// Empties a place, and moves what was put behind it back, so that no chain is broken (Knuth 6.4, algorithm R).
  private mutating func close(_ index: Int) {
    var (hole, next) = (index, after(index))
    while !places[next].isEmpty {
      let distance = (next - home(places[next].hash) + places.count) % places.count
      if distance >= (next - hole + places.count) % places.count {
        places[hole] = places[next]
        hole = next
      }
      next = after(next)
    }
    places[hole] = .empty
    count -= 1
  }
}
