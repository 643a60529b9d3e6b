// The flights of a shard, side by side without order: there are few at a time, their hashes lie densely, and nearly every
// one is gone again after one fetch. Found by key, where they may be joined, or by ticket.

import RegentStorage

/// One flight in its list.
struct FlightEntry: Sendable {
  let key: RecordKey
  let number: UInt64
  /// What had been removed under the key when the first leader asked: a later request must not join.
  let mark: RemovalMark?
  /// Whether others may join.
  var isOpen = true
  var flight = Flight<Flights.Waiter>()
  /// What has landed and still arrives.
  var shared: SharedResponse?

  init(key: RecordKey, number: UInt64, mark: RemovalMark?) {
    self.key = key
    self.number = number
    self.mark = mark
  }

  /// Whether the key was invalidated between the leader's look into the cache and this request's.
  func isOutdated(for request: Request) -> Bool {
    guard let mark, let asked = request.marks.nearest else { return false }
    return asked.isLater(than: mark)
  }
}

/// Some flights.
struct FlightList: Sendable {
  private var hashes: [UInt64] = []
  private var entries: [FlightEntry] = []

  var count: Int { entries.count }
  /// How many wait in all of them.
  var waiting: Int { entries.reduce(0) { $0 + $1.flight.waiting.count } }

  subscript(index: Int) -> FlightEntry {
    get { entries[index] }
    _modify { yield &entries[index] }
  }

  /// The place of the key's flight that may be joined.
  func index(of key: RecordKey) -> Int? {
    for index in hashes.indices where hashes[index] == key.hash {
      if entries[index].isOpen, entries[index].key == key { return index }
    }
    return nil
  }

  /// The place of the ticket's own flight; nil where that is over.
  func index(of ticket: FlightTicket) -> Int? {
    for index in hashes.indices where hashes[index] == ticket.key.hash {
      if entries[index].number == ticket.number { return index }
    }
    return nil
  }

  mutating func append(_ entry: FlightEntry) {
    hashes.append(entry.key.hash)
    entries.append(entry)
  }

  /// Takes one out; the last one takes its place.
  mutating func remove(at index: Int) {
    if index != hashes.count - 1 {
      hashes.swapAt(index, hashes.count - 1)
      entries.swapAt(index, entries.count - 1)
    }
    hashes.removeLast()
    entries.removeLast()
  }
}
