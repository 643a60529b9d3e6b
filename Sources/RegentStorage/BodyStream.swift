// The body of one message: one writer, any number of readers, each at its own pace and on any thread. What all have
// read is dropped unless somebody keeps the body; without a keeper the slowest reader holds the writer back.
// A body has a proven end or a failure; an early end must never look like a clean one.

public import RegentLoop

/// A body that is written once and read by many, while it arrives and after.
///
/// One task writes: it must call ``finish()`` or ``fail(_:)`` in the end, or write through ``makeWriter()``.
public final class BodyStream: Sendable {
  /// The length that was announced, in bytes; nil where none was.
  public let expected: Int?
  /// How many bytes the slowest reader may lie behind the writer while nobody keeps the body.
  public let window: Int
  // Guards everything that changes; held for a few list operations, and never while a task is resumed.
  let state: Lock<BodyState>

  public init(expected: Int?, window: Int = 256 << 10) {
    self.expected = expected
    self.window = max(1, window)
    state = Lock(BodyState(window: self.window))
  }

  /// A body that is already whole, and kept.
  public init(whole slices: [Slice]) {
    expected = slices.reduce(0) { $0 + $1.count }
    window = 1
    state = Lock(BodyState(whole: slices))
  }

  /// A body that is here, and not what it should be: it may be read, and nobody keeps it.
  public convenience init(refuted slices: [Slice]) {
    let count = slices.reduce(0) { $0 + $1.count }
    self.init(expected: count, window: count + 1)
    for slice in slices { _ = tryAppend(slice) }
    refute()
  }

  deinit { state.withLock { $0.giveBackAll() } }

  /// The bytes written so far.
  public var total: Int { state.withLock { $0.chunks.end } }
  /// Whether the proven end was reached, of a body that is what it should be.
  public var isFinished: Bool { state.withLock { $0.end == .finished } }
  /// Whether it ended without a proven end.
  public var hasFailed: Bool { state.withLock { if case .failed = $0.end { true } else { false } } }
  /// Whether the proven end was reached of a body that is not what it should be.
  public var isRefuted: Bool { state.withLock { $0.end == .refuted } }
  /// Whether nothing more will be written.
  public var hasEnded: Bool { state.withLock { $0.end != .open } }
  /// Whether the proven end was reached and every byte is still in memory, for good.
  public var isWhole: Bool { state.withLock { $0.isSettled } }

  // MARK: Writing

  /// Appends bytes if there is room for them now.
  public func tryAppend(_ slice: Slice) -> AppendOutcome {
    let step = state.withLock { $0.append(slice) }
    step.wakes.resume()
    guard case .pay(let price, let account) = step.result else { return step.outcome }
    // Outside the lock, because making room in the account may let go of other bodies.
    let isPaid = account.take(price)
    let paid = state.withLock { $0.append(slice, paid: isPaid ? price : nil) }
    paid.wakes.resume()
    return paid.outcome
  }

  /// Appends bytes; waits while nobody keeps the body and the slowest reader is a window behind.
  ///
  /// A cancelled wait appends nothing and is answered with `.abandoned`.
  public func append(_ slice: Slice) async -> AppendOutcome {
    while true {
      let outcome = tryAppend(slice)
      guard outcome == .full else { return outcome }
      guard await waitForRoom() else { return .abandoned }
    }
  }

  /// Ends the body; what was written is the whole of it.
  public func finish() { end(.finished) }

  /// Ends the body at its proven end, though it is not what it should be: readers get all of it, and nobody keeps it.
  public func refute() { end(.refuted) }

  /// Ends the body without a proven end; all readers are told.
  public func fail(_ failure: BodyFailure) { end(.failed(failure)) }

  /// A writer that fails the body when it is dropped before it finished.
  public func makeWriter() -> BodyWriter { BodyWriter(self) }

  private func end(_ end: BodyState.End) {
    state.withLock { $0.close(end, expected: expected) }.resume()
  }

  // MARK: Reading

  /// A reader from the first byte on; nil when bytes were already dropped that are not on the disk either.
  public func makeReader() -> BodyReader? {
    state.withLock { state -> BodyReader.Start? in
      if state.isSettled { return .settled(state.chunks) }
      return state.addReader().map { .live($0) }
    }.map { BodyReader(self, $0) }
  }

  // MARK: Keeping

  /// Forbids dropping, until more than `limit` bytes arrive or the account has no room for them.
  ///
  /// Returns false when it is too late: bytes were dropped, the body failed, or there are more than `limit` already.
  public func keep(limit: Int, account: ByteBudget?) -> Bool {
    if let expected, expected > limit { return false }
    while true {
      let held = state.withLock { $0.chunks.cost }
      guard account?.take(held) ?? true else { return false }
      let answer = state.withLock { $0.keep(limit: limit, account: account, paid: held) }
      answer.wakes.resume()
      guard answer.result != .kept else { return true }
      account?.give(held)
      // Whole already: a store has it charged when it takes it.
      guard answer.result != .settled else { return true }
      // Bytes arrived between the two looks: count again.
      guard answer.result == .changed else { return false }
    }
  }

  /// Counts a whole body against this account from now on; false where it is not whole, or there is no room.
  func charge(to account: ByteBudget) -> Bool {
    let price = state.withLock { $0.isSettled ? $0.price(of: account) : nil }
    guard let price, account.take(price) else { return false }
    let isTaken = state.withLock { $0.charge(to: account, paid: price) }
    if !isTaken { account.give(price) }
    return true
  }

  /// The bytes that an account counts for this body now.
  var charged: Int { state.withLock { $0.charged } }

  /// The bytes of a whole body, in order.
  public var wholeSlices: [Slice] { state.withLock { $0.chunks }.whole }

  /// Whether somebody keeps all of it.
  public var isKept: Bool { state.withLock { $0.isKept } }

  /// Tells a body that is not kept that a while has passed: a reader that took less than a window since the last time, and
  /// holds back the writer and others, is left behind. False where it is kept, or has ended.
  public func whilePassed() -> Bool {
    let (wakes, isOpen) = state.withLock { ($0.whilePassed(), $0.end == .open && !$0.isKept) }
    wakes.resume()
    return isOpen
  }

  /// Lets go of a body that is still arriving; one that is finished stays whole.
  public func stopKeeping() { state.withLock { $0.dismissKeeper() }.resume() }
}
