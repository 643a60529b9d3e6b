// How long anybody waits for the disk. Reads that may block run on the pool; whoever waits for one is answered by its end
// or by its time limit, whichever comes first. A read that was given up goes on in its thread until the disk answers,
// so threads that are stuck are counted: while they are more than half, nothing is begun that would be stuck as well.

import RegentLoop
import Synchronization

/// Something that is waited for, and its limit. The first one to answer does; the other is told that it is too late.
final class DiskWait: Sendable {
  private struct State: Sendable {
    var isAnswered = false
    var isRunning = false
    var isOver = false
  }
  /// In nanoseconds.
  let limit: Int64
  private let state = Lock<State>(State())
  private let giveUp: @Sendable () -> Void

  init(limit: Int64, giveUp: @escaping @Sendable () -> Void) { (self.limit, self.giveUp) = (limit, giveUp) }

  var isOver: Bool { state.withLock { $0.isOver } }
  var isRunning: Bool { state.withLock { $0.isRunning && !$0.isOver } }

  /// A thread takes it on; false where it was given up before.
  func began() -> Bool {
    state.withLock { state in
      state.isRunning = !state.isAnswered
      return state.isRunning
    }
  }

  /// What was waited for has come; false where that is too late.
  func ended() -> Bool {
    state.withLock { state in
      defer { (state.isAnswered, state.isOver) = (true, true) }
      return !state.isAnswered
    }
  }

  /// Answers that it takes too long; false where it was answered before.
  func expired() -> Bool {
    let isFirst = state.withLock { state in
      defer { (state.isAnswered, state.isOver) = (true, state.isOver || !state.isRunning) }
      return !state.isAnswered
    }
    if isFirst { giveUp() }
    return isFirst
  }
}

/// What came of what was waited for; nothing where that was given up.
private final class DiskResult<Value: Sendable>: Sendable {
  let value = Lock<Value?>(nil)
}

/// All that is waited for.
final class DiskPatience: Sendable {
  fileprivate struct Waiting: Sendable {
    let wait: DiskWait
    /// When it was first seen, and when it was first seen on a thread; in monotonic nanoseconds.
    var since: Int64?
    var runningSince: Int64?
  }
  fileprivate struct State: Sendable {
    var waiting: [Waiting] = []
    /// Looks that found nothing, one after the other.
    var idle = 0
    var isClosed = false
  }
  /// How often it is looked whether a limit was reached, in nanoseconds; not at all after a second of nothing.
  static let tick: Int64 = 10_000_000
  private static let idleTicks = 100

  private let threads: Int
  /// How long a read may take before its thread counts as stuck.
  private let slow: Int64
  private let state = Lock<State>(State(idle: idleTicks))
  /// What is waited for now, and how much of it on a thread.
  var counts: (waiting: Int, running: Int) {
    state.withLock { state in (state.waiting.count, state.waiting.count { $0.wait.isRunning }) }
  }
  // Set once, when the thread starts that looks at the limits.
  private let waker = Lock<WorkerThread?>(nil)
  private let stuckThreads = Atomic<Int>(0)
  private let expirations = Atomic<Int>(0)

  init(threads: Int, slow: Int64) { (self.threads, self.slow) = (threads, slow) }

  func connect(_ thread: WorkerThread?) { waker.withLock { $0 = thread } }

  /// The threads that wait for the disk for longer than it should take.
  var stuck: Int { stuckThreads.load(ordering: .relaxed) }
  /// Whether so many are that the rest must be left to those that need not wait long.
  var isCrowded: Bool { stuck * 2 > threads }
  /// What was given up.
  var timeouts: Int { expirations.load(ordering: .relaxed) }
  func countTimeout() { _ = expirations.wrappingAdd(1, ordering: .relaxed) }

  /// Runs work that may block on the pool; nil where it takes too long, or too much waits already.
  func run<Result: Sendable>(
    on pool: BlockingPool, limit: Int64, _ work: @escaping @Sendable () -> Result
  ) async -> Result? {
    // Through a lock, so that the thread sanitizer sees who comes first (Scripts/races.supp): a result may be an object.
    let found = DiskResult<Result>()
    await Parked<Void>.wait { parked in
      let wait = DiskWait(limit: limit) { parked.resume(()) }
      let isTaken = pool.submit {
        guard wait.began() else { return }
        let result = work()
        guard wait.ended() else { return }
        found.value.withLock { $0 = result }
        parked.resume(())
      }
      if isTaken { add(wait) } else if wait.expired() { countTimeout() }
    }
    return found.value.withLock { $0 }
  }

  /// Has a limit kept.
  func add(_ wait: DiskWait) {
    let (isClosed, isIdle) = state.withLock { state in
      if !state.isClosed { state.waiting.append(Waiting(wait: wait)) }
      defer { if state.idle >= Self.idleTicks { state.idle = 0 } }
      return (state.isClosed, state.idle >= Self.idleTicks)
    }
    if isClosed, wait.expired() { countTimeout() }
    if isIdle { waker.withLock { $0 }?.wake() }
  }

  /// Gives up what has reached its limit; when to look again.
  func step(_ now: Int64) -> Int64 {
    let (late, stuck, next) = state.withLock { state in state.look(now, slow, Self.tick, Self.idleTicks) }
    stuckThreads.store(stuck, ordering: .relaxed)
    for wait in late where wait.expired() { countTimeout() }
    return next
  }

  /// Gives everything up.
  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in waiting { _ = one.wait.expired() }
  }
}

extension DiskPatience.State {
  fileprivate mutating func look(
    _ now: Int64, _ slow: Int64, _ tick: Int64, _ idleTicks: Int
  ) -> (late: [DiskWait], stuck: Int, next: Int64) {
    waiting.removeAll { $0.wait.isOver }
    var (late, stuck): ([DiskWait], Int) = ([], 0)
    for index in waiting.indices {
      let since = waiting[index].since ?? now
      waiting[index].since = since
      if now &- since >= waiting[index].wait.limit { late.append(waiting[index].wait) }
      guard waiting[index].wait.isRunning else { continue }
      let running = waiting[index].runningSince ?? now
      waiting[index].runningSince = running
      if now &- running >= slow { stuck += 1 }
    }
    idle = waiting.isEmpty ? min(idle + 1, idleTicks) : 0
    return (late, stuck, idle < idleTicks ? now &+ tick : .max)
  }
}
