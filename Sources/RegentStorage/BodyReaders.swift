// The readers of one body, and whom an event wakes. The slowest position is kept at hand, so that a body with ten
// thousand readers costs each of them a constant time.

import RegentLoop

/// A reader's place in the table.
private struct ReaderEntry: Sendable {
  var position = 0
  var isLive = true
  /// Whether the others went on without it: it is not live any more, and has not noticed yet.
  var isBehind = false
  var waiting: Parked<Bool>?
}

/// All readers of one body.
struct BodyReaders: Sendable {
  private var entries: [ReaderEntry] = []
  private var free: [Int] = []
  private var waiting: [Int] = []
  private(set) var live = 0
  /// The position of the slowest reader, and how many are there.
  private(set) var slowest = 0
  private var atSlowest = 0

  /// How many readers wait.
  var parked: Int { entries.count { $0.waiting != nil } }

  /// Adds a reader at the first byte.
  mutating func add() -> Int {
    atSlowest = live > 0 && slowest == 0 ? atSlowest + 1 : 1
    slowest = 0
    live += 1
    guard let index = free.popLast() else {
      entries.append(ReaderEntry())
      return entries.count - 1
    }
    entries[index] = ReaderEntry()
    return index
  }

  mutating func move(_ index: Int, to position: Int) {
    let before = entries[index].position
    entries[index].position = position
    if before == slowest { leaveSlowest() }
  }

  mutating func remove(_ index: Int) {
    if entries[index].isBehind {
      entries[index].isBehind = false
      return free.append(index)
    }
    guard entries[index].isLive else { return }
    entries[index].isLive = false
    free.append(index)
    live -= 1
    if entries[index].position == slowest { leaveSlowest() }
  }

  /// The others go on without those who have not reached this position.
  mutating func leaveBehind(before position: Int) {
    for index in entries.indices where entries[index].isLive && entries[index].position < position {
      entries[index].isLive = false
      entries[index].isBehind = true
      live -= 1
    }
    findSlowest()
  }

  /// The others go on without this one.
  mutating func leaveBehind(_ index: Int) {
    guard entries[index].isLive else { return }
    entries[index].isLive = false
    entries[index].isBehind = true
    live -= 1
    if entries[index].position == slowest { leaveSlowest() }
  }

  func isBehind(_ index: Int) -> Bool { entries[index].isBehind }

  private mutating func leaveSlowest() {
    atSlowest -= 1
    if atSlowest == 0 { findSlowest() }
  }

  private mutating func findSlowest() {
    (slowest, atSlowest) = (.max, 0)
    for entry in entries where entry.isLive && entry.position <= slowest {
      atSlowest = entry.position == slowest ? atSlowest + 1 : 1
      slowest = entry.position
    }
  }

  mutating func park(_ index: Int, _ continuation: Parked<Bool>) {
    entries[index].waiting = continuation
    waiting.append(index)
  }

  mutating func cancel(_ index: Int) -> Parked<Bool>? {
    defer { entries[index].waiting = nil }
    return entries[index].waiting
  }

  mutating func wakeAll(into wakes: inout Wakes) {
    for index in waiting {
      if let one = cancel(index) { wakes.wake(one) }
    }
    waiting.removeAll(keepingCapacity: true)
  }
}

/// What an event answers, and whom it wakes.
struct BodyStep<Result: Sendable>: Sendable {
  let result: Result
  let wakes: Wakes

  init(_ result: Result, _ wakes: Wakes = Wakes()) {
    self.result = result
    self.wakes = wakes
  }
}

extension BodyStep<BodyState.Appended> {
  var outcome: AppendOutcome { if case .done(let outcome) = result { outcome } else { .full } }
}

/// The tasks that an event wakes, to be resumed after the lock is released.
struct Wakes: Sendable {
  private var first: Parked<Bool>?
  private var more: [Parked<Bool>] = []
  private var completed: [(Parked<BodyCompletion>, BodyCompletion)] = []

  mutating func wake(_ one: Parked<Bool>) {
    if first == nil { first = one } else { more.append(one) }
  }

  mutating func wakeWriter(_ writer: inout Parked<Bool>?) {
    if let one = writer { wake(one) }
    writer = nil
  }

  mutating func complete(_ one: Parked<BodyCompletion>, _ with: BodyCompletion) {
    completed.append((one, with))
  }

  mutating func add(_ others: Wakes) {
    if let one = others.first { wake(one) }
    more += others.more
    completed += others.completed
  }

  func resume() {
    first?.resume(true)
    for one in more { one.resume(true) }
    for (one, completion) in completed { one.resume(completion) }
  }
}
