// The state of one body, changed under its lock by one method for each event. Each method hands out whom to wake;
// the caller does so after it released the lock.

import RegentLoop

/// What is known of one body.
struct BodyState: Sendable {
  enum End: Sendable, Equatable {
    case open, finished
    /// The proven end of a body that is not what it should be.
    case refuted
    case failed(BodyFailure)
  }

  let window: Int
  var chunks = BodyChunks()
  var end = End.open
  var readers = BodyReaders()
  /// Whether a keeper forbids dropping.
  var isKept = false
  /// What of the body lies on the disk, too; nil where nobody writes it there.
  var extents: BodyExtents?
  private var limit = Int.max
  /// The limit that a keeper was dismissed at.
  private var dismissedAt: Int?
  /// What pays for kept bytes, and how many it paid for that are still here.
  private var account: ByteBudget?
  private(set) var charged = 0
  /// Whether a reader or a keeper was ever here; before that, nobody can have abandoned the body.
  private var wasWanted = false
  private(set) var writer: Parked<Bool>?
  /// How far the writer was a while ago.
  private var pace: Int?
  private var awaiting: [(id: Int, continuation: Parked<BodyCompletion>)] = []
  private var nextID = 0

  init(window: Int) { self.window = window }

  /// A body that is already whole.
  init(whole slices: [Slice]) {
    self.init(window: 1)
    for slice in slices { _ = chunks.append(slice) }
    (isKept, end) = (true, .finished)
  }

  /// Whether the body is finished and will stay whole in memory.
  var isSettled: Bool { isKept && end == .finished }
  var isAbandoned: Bool { wasWanted && !isKept && readers.live == 0 }
  private var hasRoom: Bool { extents.map { $0.hasRoom(self) } ?? (chunks.end - read < window) }
  /// What the slowest reader has read.
  var read: Int { readers.live > 0 ? readers.slowest : chunks.start }

  /// How many wait for the end.
  var awaitingCount: Int { awaiting.count }

  // MARK: The writer's events

  enum Appended {
    case done(AppendOutcome)
    case pay(Int, ByteBudget)
  }

  /// Bytes were offered.
  mutating func append(_ slice: Slice) -> BodyStep<Appended> {
    guard end == .open, !isAbandoned else { return BodyStep(.done(.abandoned)) }
    var wakes = Wakes()
    if isKept {
      if slice.count > limit - chunks.end {
        wakes = dismissKeeper()
        return add(slice, wakes)
      }
      let price = chunks.price(slice)
      if price > 0, let account { return BodyStep(.pay(price, account)) }
    }
    return add(slice, wakes)
  }

  /// The same bytes were offered again, after the account was asked: with what it paid, or with its refusal.
  mutating func append(_ slice: Slice, paid: Int?) -> BodyStep<Appended> {
    guard end == .open, !isAbandoned else {
      account?.give(paid ?? 0)
      return BodyStep(.done(.abandoned))
    }
    guard let paid else { return add(slice, dismissKeeper()) }
    let step = add(slice, Wakes())
    // The keeper may have gone meanwhile; what was paid is then given back when the chunk is dropped.
    if case .done(.accepted) = step.result { charged += paid } else { account?.give(paid) }
    return step
  }

  private mutating func add(_ slice: Slice, _ before: Wakes) -> BodyStep<Appended> {
    guard !isAbandoned else { return BodyStep(.done(.abandoned), before) }
    guard isKept || hasRoom else { return BodyStep(.done(.full), before) }
    if !isKept, let extents, extents.isFull(self) { giveBack(chunks.drop(before: needed)) }
    let saved = chunks.append(slice)
    // Without a keeper the chunk was not paid for.
    if isKept { giveBack(saved) }
    var wakes = before
    readers.wakeAll(into: &wakes)
    return BodyStep(.done(.accepted), wakes)
  }

  /// The writer ended the body.
  mutating func close(_ wanted: End, expected: Int?) -> Wakes {
    guard end == .open else { return Wakes() }
    end = wanted
    if wanted == .finished || wanted == .refuted, let expected, expected != chunks.end {
      end = .failed(chunks.end < expected ? .originClosedEarly : .malformed)
    }
    if isSettled {
      giveBack(chunks.tightenLast())
      // Nobody will read it from there, and its segments must not be held for as long as it is kept.
      extents = nil
    }
    var wakes = end == .finished ? Wakes() : dismissKeeper()
    readers.wakeAll(into: &wakes)
    wakes.wakeWriter(&writer)
    complete(into: &wakes)
    return wakes
  }

  /// The writer waits for room: true at once when there is no need to.
  mutating func park(_ continuation: Parked<Bool>) -> Bool {
    if end != .open || isAbandoned || isKept || hasRoom { return false }
    writer = continuation
    return true
  }

  mutating func cancelWriter() -> Parked<Bool>? {
    defer { writer = nil }
    return writer
  }

  // MARK: The readers' events

  /// A reader came; nil when the first byte is gone.
  mutating func addReader() -> Int? {
    guard chunks.start <= extents?.end ?? 0 else { return nil }
    wasWanted = true
    return readers.add()
  }

  /// A reader asked for bytes.
  mutating func take(
    _ reader: Int, _ cursor: inout BodyCursor, upTo limit: Int, maxSlices: Int
  ) -> BodyStep<Taken> {
    guard !readers.isBehind(reader) else { return BodyStep(.failed(.outpaced)) }
    if cursor.position < chunks.start { return BodyStep(stored(at: cursor.position)) }
    let slices = chunks.take(&cursor, upTo: limit, maxSlices: maxSlices)
    guard slices.isEmpty else {
      readers.move(reader, to: cursor.position)
      return BodyStep(.slices(slices), dropRead())
    }
    switch end {
    case .open: return BodyStep(.none)
    case .finished, .refuted: return BodyStep(.end)
    case .failed(let failure): return BodyStep(.failed(failure))
    }
  }

  enum Taken {
    case slices([Slice])
    /// The bytes are on the disk alone.
    case stored(BodyStretch)
    case end, none
    case failed(BodyFailure)
  }

  /// A reader waits for bytes; false when there is no need to.
  mutating func park(
    _ reader: Int, at position: Int, _ continuation: Parked<Bool>
  ) -> Bool {
    guard end == .open, chunks.end == position, !readers.isBehind(reader) else { return false }
    readers.park(reader, continuation)
    return true
  }

  /// A reader left.
  mutating func removeReader(_ reader: Int) -> Wakes {
    readers.remove(reader)
    if extents?.reader == reader { extents?.reader = nil }
    return dropRead()
  }

  /// A while has passed. While the writer waits for room, and others for bytes, a reader that has not even come to where
  /// the writer was a while ago has taken less than a window in all that time: the others go on without it.
  mutating func whilePassed() -> Wakes {
    defer { pace = chunks.end }
    // Where a body is written to the disk it is that for which the writer waits.
    guard !isKept, end == .open, extents?.isOpen != true, writer != nil, let pace, readers.slowest < pace,
      readers.parked > 0
    else { return Wakes() }
    readers.leaveBehind(before: pace)
    return dropRead()
  }

  /// Drops what nobody needs any more, and lets the writer go on.
  mutating func dropRead() -> Wakes {
    var wakes = Wakes()
    guard !isKept, wasWanted else { return wakes }
    giveBack(chunks.drop(before: needed))
    if hasRoom || isAbandoned { wakes.wakeWriter(&writer) }
    return wakes
  }

  /// Where what must stay in memory begins.
  private var needed: Int {
    let read = readers.live > 0 ? readers.slowest : chunks.end
    return extents.map { $0.needed(self, read: read) } ?? read
  }

  // MARK: The keeper's events

  enum Kept { case kept, settled, changed, late }

  /// A keeper came, having paid for what is here.
  mutating func keep(limit: Int, account: ByteBudget?, paid: Int) -> BodyStep<Kept> {
    var wakes = Wakes()
    if isSettled { return BodyStep(chunks.end <= limit ? .settled : .late) }
    if isKept || chunks.start > 0 || chunks.end > limit { return BodyStep(.late) }
    guard end == .open || end == .finished else { return BodyStep(.late) }
    guard chunks.cost == paid else { return BodyStep(.changed) }
    (isKept, wasWanted, self.limit, self.account, charged) = (true, true, limit, account, 0)
    if account != nil { charged = paid }
    wakes.wakeWriter(&writer)
    return BodyStep(.kept, wakes)
  }

  /// The keeper went, or must go.
  mutating func dismissKeeper() -> Wakes {
    guard isKept, end != .finished else { return Wakes() }
    isKept = false
    if end == .open { dismissedAt = limit }
    var wakes = dropRead()
    complete(into: &wakes)
    return wakes
  }

  /// What another account would have to pay for a whole body.
  func price(of other: ByteBudget) -> Int { account === other ? 0 : chunks.cost }

  /// Another account paid; false when it had already.
  mutating func charge(to other: ByteBudget, paid: Int) -> Bool {
    guard account !== other else { return false }
    giveBackAll()
    (account, charged) = (other, paid)
    return true
  }

  mutating func giveBackAll() {
    account?.give(charged)
    charged = 0
  }

  private mutating func giveBack(_ bytes: Int) {
    let bytes = min(bytes, charged)
    charged -= bytes
    account?.give(bytes)
  }

  // MARK: Completion

  private var completion: BodyCompletion? {
    if let dismissedAt { return .tooLarge(dismissedAt) }
    switch end {
    case .open: return nil
    case .finished: return .finished(chunks.end)
    case .refuted: return .refuted
    case .failed(let failure): return .failed(failure)
    }
  }

  private mutating func complete(into wakes: inout Wakes) {
    guard let completion else { return }
    for one in awaiting { wakes.complete(one.continuation, completion) }
    awaiting = []
  }

  /// Somebody waits for the end: the answer, where there is one already.
  mutating func park(_ continuation: Parked<BodyCompletion>, id: Int) -> BodyCompletion? {
    if let completion { return completion }
    awaiting.append((id, continuation))
    return nil
  }

  mutating func cancelCompletion(_ id: Int) -> Parked<BodyCompletion>? {
    guard let index = awaiting.firstIndex(where: { $0.id == id }) else { return nil }
    return awaiting.remove(at: index).continuation
  }

  mutating func newID() -> Int {
    nextID += 1
    return nextID
  }
}
