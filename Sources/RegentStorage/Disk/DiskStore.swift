// The disk store: responses by key in a log of segment files, found by an index in memory. Mechanism only: it knows no
// HTTP. Losing a response is always allowed; handing out a byte that was not verified, or was removed, never is.

public import RegentLoop
import Synchronization

/// A store of responses on the disk. All of it may be called from any thread, and no call waits for the disk but by
/// `await`. A closure given to it runs on any thread, and must not call into the store.
public final class DiskStore: Sendable {
  let core: DiskCore
  // The writer's state; only its thread, and tests that have none, take it.
  let engine: Lock<DiskEngine>
  private let threads = Lock<[WorkerThread]>([])

  /// Opens a directory, made where there is none, and starts to find what is in it. Serving may start at once.
  ///
  /// Throws where another process has the directory, or where three starts within a minute ended abnormally. Any other
  /// trouble degrades the store, which then tries again by itself.
  public static func open(
    path: String, options: DiskOptions, pool: BlockingPool, clock: LoopClock
  ) throws(DiskOpenFailure) -> DiskStore {
    let store = try DiskStore(
      FolderDevice(path: path), options, pool: pool, clock: DiskTime(now: clock.now, wall: clock.wall))
    do throws(SystemError) {
      try store.start()
    } catch {
      throw .system(error)
    }
    return store
  }

  init(
    _ device: any DiskDevice, _ options: DiskOptions, pool: BlockingPool?, clock: DiskTime
  ) throws(DiskOpenFailure) {
    var trouble: SystemError?
    do throws(DiskOpenFailure) {
      try device.open()
    } catch {
      guard case .system(let error) = error else { throw error }
      trouble = error
    }
    if trouble == nil { try DiskStore.noteStart(device, clock.wall) }
    let found = device.start(of: DiskName.identity, DiskPage.count)?.withBytes { DiskIdentity($0) }
    let identity = found ?? .random()
    core = DiskCore(options, device, identity.secret, pool)
    engine = Lock(DiskEngine(core, identity))
    if let trouble { core.writeFailed(trouble, clock.now) }
    core.figures.withLock { ($0.budget, $0.isRecovering) = (options.budget, true) }
  }

  private static func noteStart(_ device: any DiskDevice, _ wall: Int64) throws(DiskOpenFailure) {
    var starts =
      device.start(of: DiskName.starts, DiskPage.count).flatMap { DiskStarts($0.bytes) } ?? DiskStarts()
    guard starts.mayStart(wall) else {
      device.close()
      throw .crashLoop
    }
    starts.started(wall)
    // A start that could not be noted is one more that is let through.
    try? device.replace(DiskName.starts, with: starts.encoded)
  }

  private func start() throws(SystemError) {
    let patience = core.patience
    let watch = try WorkerThread(name: "regent-patience") { patience.step($0.now) }
    patience.connect(watch)
    threads.withLock { $0 = [watch] }
    let writer = try WorkerThread(name: "regent-disk") { clock in
      self.work(DiskTime(now: clock.now, wall: clock.wall))
    }
    core.queue.connect(writer)
    threads.withLock { $0.append(writer) }
  }

  /// Does the writer's work once; when it wants to again, in monotonic nanoseconds.
  @discardableResult
  func work(_ clock: DiskTime) -> Int64 { engine.withLock { $0.step(clock) } }

  /// Writes what waits and ends; the store answers nothing from then on. It may wait for the disk.
  public func close(clock: LoopClock) { close(DiskTime(now: clock.now, wall: clock.wall)) }

  func close(_ clock: DiskTime) {
    let ending = threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
    for thread in ending { thread.stop() }
    core.queue.connect(nil)
    core.patience.connect(nil)
    core.patience.close()
    engine.withLock { $0.close(clock) }
  }

  // Without ``close(clock:)`` before, as after a crash: what waits is lost.
  deinit { core.queue.abandon() }

  // MARK: Storing

  /// The key with these bytes, hashed with the directory's secret.
  public func key(_ bytes: [UInt8]) -> RecordKey { RecordKey(bytes, hash: core.secret.hash(bytes.span)) }

  /// What was removed under the key so far: to be taken before its response is asked for.
  public func mark(_ key: RecordKey) -> RemovalMark { core.marks.mark(key) }

  /// This store's mark, among those that a request has met.
  public func mark(among marks: RemovalMarks) -> RemovalMark? { core.marks.own(marks) }

  /// Hands a whole response over to be stored, in place of the key's response with the same `variant` (a hash of what
  /// selects it); false where it is refused. It is not stored if the key was removed since the mark was made.
  ///
  /// - Parameter done: Told whether the response can be found now; on the writer's thread.
  public func insert(
    _ key: RecordKey, variant: UInt32, head: [UInt8], body: [Slice], since mark: RemovalMark? = nil,
    done: (@Sendable (Bool) -> Void)? = nil
  ) -> Bool {
    let count = body.reduce(0) { $0 + $1.count }
    guard count <= core.options.extentSize else {
      guard let fill = fill(key, variant: variant, since: mark) else { return false }
      guard body.allSatisfy({ fill.tryAppend($0) == .accepted }) else { return refuse() }
      return fill.commit(head: head, done: done)
    }
    let content = DiskContent(variant: variant, key: key.bytes, head: head, body: body)
    return offer(DiskOffer(key: key, content: content, mark: mark ?? self.mark(key), done: done))
  }

  /// Stores a new head for a stored response, whose body stays where it is; void if that is replaced meanwhile.
  public func update(
    _ record: DiskRecord, head: [UInt8], since mark: RemovalMark? = nil,
    done: (@Sendable (Bool) -> Void)? = nil
  ) -> Bool {
    let key = RecordKey(record.key.bytes, hash: record.entry.hash)
    var content = DiskContent(variant: record.variant, key: key.bytes, head: head)
    if let body = record.body, body.count <= DiskStore.rewritten {
      content.body = [body]
    } else {
      content.pieces = record.pieces
    }
    return offer(
      DiskOffer(key: key, content: content, mark: mark ?? self.mark(key), replaced: record.entry, done: done))
  }

  /// The longest body, in bytes, that is written again with a new head rather than referred to.
  private static let rewritten = 4096

  /// Begins to store a response whose body still arrives; nil while nothing is written.
  public func fill(_ key: RecordKey, variant: UInt32, since mark: RemovalMark? = nil) -> DiskFill? {
    guard core.isWriting, key.bytes.count <= DiskFormat.keyLimit else {
      _ = refuse()
      return nil
    }
    return DiskFill(core, key, variant: variant, mark: mark ?? self.mark(key))
  }

  private func offer(_ offer: DiskOffer) -> Bool {
    let isPossible =
      offer.key.bytes.count <= DiskFormat.keyLimit && offer.content.head.count <= DiskFormat.headLimit
      && offer.content.body.reduce(0) { $0 + $1.count } <= core.options.maxObject
    guard isPossible, core.isWriting, core.queue.offer(.store(offer), cost: offer.cost) else {
      return refuse()
    }
    return true
  }

  private func refuse() -> Bool {
    core.figures.withLock { $0.refusals += 1 }
    return false
  }

  // MARK: Removing

  /// Removes all of the key's responses, at once; the mark that stands for this removal and all before. It outlives a
  /// restart once ``durable()`` says so.
  @discardableResult
  public func invalidate(_ key: RecordKey) -> RemovalMark {
    let mark = core.marks.note(key)
    // What is being written now was marked before, and is not to be found after a restart either.
    guard mayHold(key) || !core.queue.isIdle else { return mark }
    core.index.remove(key.hash) { _ in true }
    core.queue.remove(DiskRemoval(kind: .key, hash: key.hash))
    return mark
  }

  /// Whether something is known to be stored under the key.
  public func holds(_ key: RecordKey) -> Bool { core.index.holds(key.hash) }

  /// Whether something may be stored under the key, found already or not.
  public func mayHold(_ key: RecordKey) -> Bool {
    !core.isSettled.load(ordering: .acquiring) || core.index.holds(key.hash)
  }

  /// Whether the directory is open: from then on ``memo(_:)`` knows what is there.
  public var isOpen: Bool { core.isOpen.load(ordering: .acquiring) }

  /// Whether there are removals that ``durable()`` would wait for.
  public var owesRemovals: Bool { core.queue.owesRemovals }

  /// Removes one stored response, and what was to take its place.
  public func remove(_ record: DiskRecord) {
    _ = core.marks.note(RecordKey(record.key.bytes, hash: record.entry.hash))
    core.index.remove(record.entry)
    core.queue.remove(
      DiskRemoval(
        kind: .variant, hash: record.entry.hash, variant: record.variant, limit: record.entry.position.next))
  }

  /// Removes everything.
  public func removeAll() {
    core.marks.noteAll()
    core.index.removeAll { _ in true }
    core.queue.remove(DiskRemoval(kind: .everything))
  }

  /// Waits until all removals so far are on the disk, to stay; false where they cannot be brought there.
  public func durable() async -> Bool { await core.queue.barrier() }

  /// The longest body, in bytes, that is taken.
  public var maxObject: Int { core.options.maxObject }

  /// Whether a wall clock can be true by what was written: one that is more than a day behind that cannot.
  public func mayTrust(wall: Int64) -> Bool {
    wall >= core.newestWall.load(ordering: .relaxed) - 86_400
  }

  // MARK: Figures

  public var statistics: DiskStatistics {
    var figures = core.figures.withLock { $0 }
    figures.state = core.state
    figures.entries = core.index.count
    figures.indexBytes = core.index.bytes
    (figures.hits, figures.misses) = core.index.lookups
    figures.queuedBytes = core.queue.bytes
    figures.fills = core.fills.load(ordering: .relaxed)
    (figures.timeouts, figures.stuckReads) = (core.patience.timeouts, core.patience.stuck)
    return figures
  }

  /// What a log should tell of since this was last asked; at most 64.
  public func takeReports() -> [DiskReport] { core.takeReports() }
}
