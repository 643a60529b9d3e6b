// What waits for the writer: removals first, then what is to be written, oldest first. Bounded in bytes; a loop never
// waits to put something in.

import RegentLoop

/// A response that is to be written.
struct DiskOffer: Sendable {
  var key: RecordKey
  var content: DiskContent
  /// What was removed of the key when the response was asked for.
  var mark: RemovalMark
  /// The entry whose place it takes; without it the offer is void.
  var replaced: DiskEntry?
  /// The body that was written before in extents.
  var fill: DiskFill?
  /// Told whether it can be found now.
  var done: (@Sendable (Bool) -> Void)?
}

enum DiskJob: Sendable {
  case store(DiskOffer)
  case extent(DiskFill, [Slice])
}

final class DiskQueue: Sendable {
  struct Work: Sendable {
    var removals: [DiskRemoval] = []
    /// The memos that were changed.
    var memos: [String] = []
    var barriers: [Parked<Bool>] = []
    var jobs: [DiskJob] = []
  }
  /// Somebody who waits for room, until it is too long.
  private struct Place: Sendable {
    let wait: DiskWait
    let continuation: Parked<Bool>

    func resume(_ isRoom: Bool) { if wait.ended() { continuation.resume(isRoom) } }
  }
  private struct State: Sendable {
    var work = Work()
    var costs: [Int] = []
    var first = 0
    var bytes = 0
    var waiting: [Place] = []
    var isClosed = false
    /// Whether the writer has jobs in hand; until it comes for more.
    var isWorking = false
    /// Removals and memos that were handed over, that the writer took, and that are on the disk.
    var removals = 0
    var takenRemovals = 0
    var keptRemovals = 0
  }
  private let state = Lock<State>(State())
  private let limit: Int
  private let patience: DiskPatience
  private let longestWait: Int64
  // Set once, when the writer's thread starts.
  private let waker = Lock<WorkerThread?>(nil)

  init(limit: Int, _ patience: DiskPatience, waiting longestWait: Int64) {
    (self.limit, self.patience, self.longestWait) = (limit, patience, longestWait)
  }

  func connect(_ thread: WorkerThread?) { waker.withLock { $0 = thread } }
  func wake() { waker.withLock { $0 }?.wake() }

  /// Hands a job over; false where too much waits already.
  func offer(_ job: DiskJob, cost: Int) -> Bool {
    let isTaken = state.withLock { state in
      guard !state.isClosed, state.bytes == 0 || state.bytes + cost <= limit else { return false }
      state.work.jobs.append(job)
      state.costs.append(cost)
      state.bytes += cost
      return true
    }
    if isTaken { wake() }
    return isTaken
  }

  func remove(_ removal: DiskRemoval) {
    state.withLock { state in
      state.work.removals.append(removal)
      state.removals += 1
    }
    wake()
  }

  /// A memo was changed.
  func memo(_ name: String) {
    state.withLock { state in
      state.work.memos.append(name)
      state.removals += 1
    }
    wake()
  }

  /// Whether nothing is being written, or waits to be.
  var isIdle: Bool { state.withLock { $0.work.jobs.isEmpty && !$0.isWorking } }

  /// Whether there are removals that are not on the disk yet.
  var owesRemovals: Bool { state.withLock { $0.removals > $0.keptRemovals } }

  /// All removals that the writer took are on the disk.
  func keptRemovals() { state.withLock { $0.keptRemovals = $0.takenRemovals } }

  /// Waits until all removals so far are on the disk; false where they could not be brought there.
  func barrier() async -> Bool {
    await Parked.wait { continuation in
      let isClosed = state.withLock { state in
        if !state.isClosed { state.work.barriers.append(continuation) }
        return state.isClosed
      }
      if isClosed { continuation.resume(false) } else { wake() }
    }
  }

  /// Waits until there may be room; false where that takes too long, or there will never be any.
  func room() async -> Bool {
    await Parked.wait { continuation in
      let place = Place(
        wait: DiskWait(limit: longestWait) { continuation.resume(false) }, continuation: continuation)
      let answer = state.withLock { state -> Bool? in
        if state.isClosed { return false }
        if state.bytes < limit { return true }
        // A disk that does not even read holds nobody back.
        guard !patience.isCrowded else { return false }
        state.waiting.append(place)
        return nil
      }
      if let answer { place.resume(answer) } else { patience.add(place.wait) }
    }
  }

  /// Takes all removals, and jobs of about so many bytes.
  func take(_ wanted: Int) -> (work: Work, isMore: Bool) {
    let (work, waiting, isMore) = state.withLock { state in
      var work = Work(
        removals: state.work.removals, memos: state.work.memos, barriers: state.work.barriers)
      (state.work.removals, state.work.memos, state.work.barriers) = ([], [], [])
      state.takenRemovals = state.removals
      var bytes = 0
      while state.first < state.work.jobs.count, bytes < wanted {
        work.jobs.append(state.work.jobs[state.first])
        bytes += state.costs[state.first]
        state.first += 1
      }
      state.bytes -= bytes
      state.isWorking = !work.jobs.isEmpty
      let isMore = state.first < state.work.jobs.count
      if !isMore {
        (state.work.jobs, state.costs, state.first) = ([], [], 0)
      } else if state.first > 4096 {
        state.work.jobs.removeFirst(state.first)
        state.costs.removeFirst(state.first)
        state.first = 0
      }
      let waiting = state.bytes < limit ? state.waiting : []
      if !waiting.isEmpty { state.waiting = [] }
      return (work, waiting, isMore)
    }
    for one in waiting { one.resume(true) }
    return (work, isMore)
  }

  /// Refuses whatever comes from now on.
  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in waiting { one.resume(false) }
  }

  /// Lets go of what nobody will take any more: a body that waits to be written refers to the queue that it waits in.
  func abandon() {
    let (work, waiting) = state.withLock { state in
      let left = (state.work, state.waiting)
      state.isClosed = true
      (state.work, state.costs, state.first, state.bytes, state.waiting) = (Work(), [], 0, 0, [])
      return left
    }
    for one in waiting { one.resume(false) }
    for one in work.barriers { one.resume(false) }
    for case .store(let offer) in work.jobs { offer.done?(false) }
  }

  var bytes: Int { state.withLock { $0.bytes } }
}
