// One event loop on one thread: libevent's core underneath, Swift's TaskExecutor on top.
// A task started on a loop stays there, so whatever belongs to the loop needs no lock. Only `enqueue`, `stop` and
// the figures marked so may be touched from other threads. A loop never blocks but in its poll.

import CLibevent
import Glibc
import Synchronization

/// An event loop with a thread of its own; the executor of every task that serves its connections.
// @unchecked: all mutable state but `inbox` and `isAwake` is touched on the loop's thread alone, which
// `assertOnLoop` verifies wherever work enters from outside.
@safe public final class EventLoop: TaskExecutor, @unchecked Sendable {
  /// The loop's place in its group, from 0.
  public let index: Int
  // Unsafe: libevent's base, made in init, freed in deinit, used on this thread only.
  let base: OpaquePointer
  private let inbox = Lock<[UnownedJob]>([])
  private let isAwake = Atomic<Bool>(false)
  private let wake: Int32
  /// The job that is ready and first; where there is none, the queue behind it is empty.
  private var nextJob: UnownedJob?
  private var isQueueing = false
  private var ready = JobQueue()
  // Set as a whole, by `changeWatched`: as with the time.
  private var watched = SlotTable<ByteStream>()
  private var listeners = SlotTable<Listener>()
  var timers = TimerQueue()
  // Unsafe continuations: each is taken out before it is resumed.
  private var sleepers: [UInt64: UnsafeContinuation<Void, Never>] = unsafe [:]
  private var lastSleeper: UInt64 = 0
  private var timerArmedFor = Int64.max
  // Unsafe: three events that live as long as the loop.
  private let wakeEvent: UnsafeMutablePointer<event>
  private let timerEvent: UnsafeMutablePointer<event>
  private let turnEvent: UnsafeMutablePointer<event>
  // Unsafe continuations: `turned` takes all of them out, and resumes each once.
  private var nextTurn: [UnsafeContinuation<Void, Never>] = unsafe []
  /// Whether its thread is no more; nothing new begins on it then.
  public private(set) var hasEnded = false
  private var buffers: [[UInt8]] = []
  /// The buffer that was given back last: with it alone, most answers are written.
  private var spare: [UInt8] = []
  public let scratch: ScratchBuffer
  // Private, and set as a whole: so the compiler proves that its uses never overlap, and checks none of them.
  private var time = LoopClock()
  /// The loop's clocks, as of the event being handled.
  public var clock: LoopClock { time }

  public init(index: Int) throws(SystemError) {
    self.index = index
    // Unsafe: the configuration is freed here; libevent copies what it needs.
    let configuration = unsafe event_config_new()
    defer { unsafe event_config_free(configuration) }
    unsafe event_config_set_flag(configuration, Int32(EVENT_BASE_FLAG_NOLOCK.rawValue))
    guard let base = unsafe event_base_new_with_config(configuration) else {
      throw SystemError(call: "event_base_new", code: ENOMEM)
    }
    unsafe self.base = base
    wake = try SystemError.check("eventfd", regent_eventfd())
    scratch = ScratchBuffer(capacity: 64 << 10)
    unsafe wakeEvent = .allocate(capacity: 1)
    unsafe timerEvent = .allocate(capacity: 1)
    unsafe turnEvent = .allocate(capacity: 1)
    // Unsafe: the three callbacks find this loop through the thread that runs them, not through a pointer.
    unsafe event_assign(wakeEvent, base, wake, Int16(EV_READ | EV_PERSIST), loopWoken, nil)
    unsafe event_assign(timerEvent, base, -1, 0, loopTimerFired, nil)
    unsafe event_assign(turnEvent, base, -1, 0, loopTurned, nil)
    unsafe event_add(wakeEvent, nil)
  }

  deinit {
    // Unsafe: the thread has ended (the group joins it), so nobody uses these any more.
    unsafe event_del(wakeEvent)
    unsafe event_del(timerEvent)
    unsafe event_del(turnEvent)
    unsafe wakeEvent.deallocate()
    unsafe timerEvent.deallocate()
    unsafe turnEvent.deallocate()
    unsafe event_base_free(base)
    close(wake)
  }

  // MARK: Running

  /// The loop whose thread this is; nil on any other thread.
  public static var current: EventLoop? {
    // Unsafe: the thread's value is this loop, kept alive by `run` for as long as it is set.
    guard let pointer = unsafe pthread_getspecific(currentLoopKey) else { return nil }
    return unsafe Unmanaged<EventLoop>.fromOpaque(pointer).takeUnretainedValue()
  }

  public var isCurrent: Bool {
    // Unsafe: compares addresses only.
    unsafe pthread_getspecific(currentLoopKey)
      == UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque())
  }

  /// Runs the loop on the calling thread until ``stop()``.
  public func run() {
    // Unsafe: `self` outlives the call, and the value is taken back at its end.
    unsafe pthread_setspecific(currentLoopKey, Unmanaged.passUnretained(self).toOpaque())
    refreshClock()
    drain()
    unsafe event_base_loop(base, Int32(EVLOOP_NO_EXIT_ON_EMPTY))
    drain()
    pthread_setspecific(currentLoopKey, nil)
  }

  /// Ends what still waits on a loop whose thread has ended: sleepers wake, streams close, and whoever waited for them goes
  /// on to its end. Without this they and the loop would hold each other. True where there was anything.
  func finish() -> Bool {
    hasEnded = true
    // Unsafe: as in `run`; the loop's own thread is no more.
    unsafe pthread_setspecific(currentLoopKey, Unmanaged.passUnretained(self).toOpaque())
    defer { pthread_setspecific(currentLoopKey, nil) }
    refreshClock()
    takeInbox()
    // Unsafe: only counted.
    let hadAny = unsafe nextJob != nil || !sleepers.isEmpty || watched.count > 0 || !nextTurn.isEmpty
    for number in unsafe Array(sleepers.keys) { wake(number) }
    turned()
    for stream in watched.all { stream.close() }
    drain()
    return hadAny
  }

  /// Ends ``run()`` after what is ready now. From any thread.
  public func stop() {
    run { [self] in
      // Unsafe: our own base.
      unsafe event_base_loopbreak(base)
    }
  }

  /// Runs `work` on the loop, soon. From any thread.
  public func run(_ work: @escaping @Sendable () -> Void) {
    Task(executorPreference: self) { work() }
  }

  // MARK: TaskExecutor

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isCurrent {
      append(job)
    } else {
      inbox.withLock { $0.append(job) }
      wakeUp()
    }
  }

  private func wakeUp() {
    guard !isAwake.exchange(true, ordering: .acquiringAndReleasing) else { return }
    var one: UInt64 = 1
    // Unsafe: writes eight bytes of a local.
    _ = unsafe write(wake, &one, 8)
  }

  fileprivate func woken() {
    var count: UInt64 = 0
    // Unsafe: reads eight bytes into a local.
    _ = unsafe read(wake, &count, 8)
    isAwake.store(false, ordering: .releasing)
    takeInbox()
  }

  private func takeInbox() {
    let arrived = inbox.withLock { inbox in
      defer { inbox = [] }
      return inbox
    }
    for job in arrived { append(job) }
  }

  /// Most often one job is ready and no other: it needs no queue.
  private func append(_ job: UnownedJob) {
    if nextJob == nil {
      nextJob = job
    } else {
      isQueueing = true
      ready.append(job)
    }
  }

  private func takeJob() -> UnownedJob? {
    guard let job = nextJob else { return nil }
    nextJob = isQueueing ? ready.next() : nil
    if nextJob == nil { isQueueing = false }
    return job
  }

  /// Runs every job that is ready, and those that they make ready.
  func drain() {
    // Unsafe: the executor reference is only used while `self` is alive.
    let executor = unsafe asUnownedTaskExecutor()
    while let job = takeJob() { unsafe job.runSynchronously(on: executor) }
  }

  /// What every callback does: reads the clock, does its work, and runs the tasks that this made ready.
  @inline(__always)
  fileprivate func handleEvent(_ work: (EventLoop) -> Void) {
    refreshClock()
    work(self)
    drain()
  }

  // MARK: Streams

  func watch(_ stream: ByteStream) -> SlotID { changeWatched { $0.insert(stream) } }
  func unwatch(_ id: SlotID) { changeWatched { $0.remove(id) } }

  private func changeWatched<Result>(_ change: (inout SlotTable<ByteStream>) -> Result) -> Result {
    var table = watched
    watched = SlotTable()
    defer { watched = table }
    return change(&table)
  }

  func watch(_ listener: Listener) -> SlotID { listeners.insert(listener) }
  func unwatchListener(_ id: SlotID) { listeners.remove(id) }
  fileprivate func deliverConnection(to id: SlotID) { listeners[id]?.becameReadable() }

  fileprivate func deliver(_ what: Int16, to id: SlotID) {
    guard let stream = watched[id] else { return }  // a stale event of a closed stream
    if what & Int16(EV_READ) != 0 { stream.becameReadable() }
    if what & Int16(EV_WRITE) != 0 { stream.becameWritable() }
  }

  fileprivate func deliverDeparture(to id: SlotID) { watched[id]?.departureSeen() }

  // MARK: Time

  /// Re-reads the clock in the middle of an event, when something took time.
  public func refreshClock() { time = time.refreshed() }

  /// Waits on the loop's own clock; a cancelled task returns early. On the loop's tasks only.
  public func sleep(for duration: Duration) async {
    assertOnLoop()
    let deadline = clock.time(in: duration)
    lastSleeper &+= 1
    let number = lastSleeper
    // Unsafe continuation: resumed once, by the timer or by the cancellation, whichever takes it first.
    await withTaskCancellationHandler {
      await unsafe withUnsafeContinuation { continuation in
        if Task.isCancelled { return unsafe continuation.resume() }
        unsafe sleepers[number] = continuation
        timers.add(deadline, .sleeper(number))
        armTimer()
      }
    } onCancel: {
      run { [self] in
        timers.remove(sleeper: number)
        wake(number)
      }
    }
  }

  /// Wakes a sleeper, once.
  private func wake(_ sleeper: UInt64) {
    // Unsafe: whoever takes the continuation out resumes it.
    if let continuation = unsafe sleepers.removeValue(forKey: sleeper) { unsafe continuation.resume() }
  }

  /// Lets every other event have its turn before the calling task goes on.
  public func yieldTurn() async {
    assertOnLoop()
    await unsafe withUnsafeContinuation { continuation in
      if unsafe nextTurn.isEmpty {
        var now = timeval()
        // Unsafe: libevent copies the time.
        unsafe event_add(turnEvent, &now)
      }
      unsafe nextTurn.append(continuation)
    }
  }

  fileprivate func turned() {
    // Unsafe continuations: forgotten before they are resumed.
    let continuations = unsafe nextTurn
    unsafe nextTurn = []
    // `forEach`, because swift-format joins `for unsafe` and the name behind it.
    // swift-format-ignore: ReplaceForEachWithForLoop
    unsafe continuations.forEach { unsafe $0.resume() }
  }

  /// Sees to it that the stream's deadline is looked at; a deadline that only moves back costs nothing.
  func deadlineSet(_ stream: ByteStream, _ deadline: Int64) {
    timers.add(deadline, .stream(stream.slot))
    armTimer()
  }

  private func armTimer() {
    guard let next = timers.next, next < timerArmedFor else { return }
    timerArmedFor = next
    let wait = next > clock.now ? next &- clock.now : 0
    var time = timeval(tv_sec: Int(wait / 1_000_000_000), tv_usec: Int(wait % 1_000_000_000 / 1000))
    // Unsafe: libevent copies the time.
    unsafe event_add(timerEvent, &time)
  }

  fileprivate func timerFired() {
    timerArmedFor = .max
    while let due = timers.popDue(clock.now) {
      switch due.target {
      // Unsafe continuation: `popDue` has taken it out of the queue.
      case .sleeper(let number): wake(number)
      case .stream(let id): watched[id]?.timerLooked(entry: due.deadline, now: clock.now)
      }
    }
    armTimer()
  }

  // MARK: Buffers

  /// An empty buffer with room in it, to be given back with ``giveBack(_:)``.
  public func takeBuffer() -> [UInt8] {
    let buffer = spare
    if buffer.capacity > 0 {
      spare = []
      return buffer
    }
    if let buffer = buffers.popLast() { return buffer }
    var made: [UInt8] = []
    made.reserveCapacity(16 << 10)
    return made
  }

  public func giveBack(_ buffer: consuming [UInt8]) {
    guard buffer.capacity <= 128 << 10, buffer.capacity > 0 else { return }
    if !buffer.isEmpty { buffer.removeAll(keepingCapacity: true) }
    let before = spare
    spare = buffer
    if before.capacity > 0, buffers.count < 64 { buffers.append(before) }
  }

  public func assertOnLoop() { precondition(isCurrent, "a loop's own state was touched from another thread") }
}

/// The thread's own loop.
// Unsafe: the key is made once and never deleted.
private let currentLoopKey: pthread_key_t = {
  var key = pthread_key_t()
  unsafe pthread_key_create(&key, nil)
  return key
}()

// libevent's callbacks: plain functions that find the loop through its thread, and streams through a slot number
// with a generation, so that an event which arrives late finds nothing rather than the wrong object.

private func loopWoken(_: Int32, _: Int16, _: UnsafeMutableRawPointer?) {
  EventLoop.current?.handleEvent { $0.woken() }
}

private func loopTimerFired(_: Int32, _: Int16, _: UnsafeMutableRawPointer?) {
  EventLoop.current?.handleEvent { $0.timerFired() }
}

private func loopTurned(_: Int32, _: Int16, _: UnsafeMutableRawPointer?) {
  EventLoop.current?.handleEvent { $0.turned() }
}

func streamEvent(_: Int32, what: Int16, slot: UnsafeMutableRawPointer?) {
  // Unsafe: the pointer is a number in disguise and is never followed.
  let id = SlotID(bits: UInt(bitPattern: slot))
  EventLoop.current?.handleEvent { $0.deliver(what, to: id) }
}

func departureEvent(_: Int32, what: Int16, slot: UnsafeMutableRawPointer?) {
  // Unsafe: the pointer is a number in disguise and is never followed.
  let id = SlotID(bits: UInt(bitPattern: slot))
  EventLoop.current?.handleEvent { $0.deliverDeparture(to: id) }
}

func listenerEvent(_: Int32, what: Int16, slot: UnsafeMutableRawPointer?) {
  // Unsafe: the pointer is a number in disguise and is never followed.
  let id = SlotID(bits: UInt(bitPattern: slot))
  EventLoop.current?.handleEvent { $0.deliverConnection(to: id) }
}
