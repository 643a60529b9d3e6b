// The writer: one thread's state, and what it does each time it is woken. Removals first, then a step of the recovery,
// then what waits to be written, then what is due. Nothing else writes to the directory.

import RegentLoop
import Synchronization

/// All that the writer knows. Whoever steps it has it alone.
struct DiskEngine: Sendable {
  /// The segment that is written to.
  struct Active: Sendable {
    let segment: DiskSegment
    var offset: Int
    var isDirty = true
    /// As far as it was written to, be it with zeros.
    var reach = DiskFormat.page
  }
  /// What happens when the staged bytes are written.
  enum Pending: Sendable {
    case publish(DiskEntry, DiskOffer)
    case move(DiskEntry, DiskEntry)
    case extent(DiskFill, DiskPiece, DiskSegment)
  }

  let core: DiskCore
  var identity: DiskIdentity
  var clock = DiskTime(now: 0, wall: 0)
  var isOpen = false
  var isClosed = false
  var active: Active?
  /// The segments, oldest first, with the bytes of the disk that each takes.
  var files: [(number: UInt32, bytes: Int)] = []
  var nextNumber: UInt32 = 1
  var staged: [UInt8] = []
  var pending: [Pending] = []
  var journal = DiskJournal()
  /// Removals that are not on the disk yet.
  var unkept: [DiskRemoval] = []
  /// The names of memos that are not on the disk as they are to be.
  var unkeptMemos: Set<String> = []
  var recovery: DiskRecovery?
  var snapshots = [0, 0]
  var nextSnapshot = 0
  /// The index on its way to the disk.
  var writing: DiskSnapshotWriting?
  var sinceSnapshot = 0
  var lastSync: Int64 = 0
  var lastProbe: Int64 = 0
  var newestWall: Int64 = 0
  /// The bytes that the device had room for when it had no more, and until when that counts.
  var tightBudget = 0
  var tightUntil: Int64 = 0

  /// The bytes that are staged before they are written in one call.
  static let stageLimit = 1 << 20
  /// What identity, starts and lock take.
  static let overhead = 16 << 10

  init(_ core: DiskCore, _ identity: DiskIdentity) { (self.core, self.identity) = (core, identity) }

  var device: any DiskDevice { core.device }
  var options: DiskOptions { core.options }
  var now: Int64 { clock.now }

  /// Does what there is to do; when to be called again at the latest.
  mutating func step(_ clock: DiskTime) -> Int64 {
    guard !isClosed else { return .max }
    self.clock = clock
    core.lastStep.store(clock.now, ordering: .relaxed)
    let (work, isMore) = core.queue.take(2 << 20)
    if !isOpen, core.mayWrite(now) { open() }
    core.isOpen.store(isOpen, ordering: .releasing)
    keep(work)
    recoverSome()
    for job in work.jobs { run(job) }
    flush()
    maintain()
    publishFigures()
    if isMore || recovery != nil || writing != nil { return now }
    return min(now &+ 1_000_000_000, core.retryAt)
  }

  private mutating func run(_ job: DiskJob) {
    switch job {
    case .store(let offer): store(offer)
    case .extent(let fill, let slices): store(fill, slices)
    }
  }

  // MARK: Removals

  /// Where the next record goes, at the earliest.
  var logEnd: DiskPosition {
    active.map { DiskPosition(segment: $0.segment.number, offset: $0.offset + staged.count) }
      ?? DiskPosition(segment: nextNumber, offset: 0)
  }

  /// Brings removals and memos to the disk, and tells those who wait for that.
  private mutating func keep(_ work: DiskQueue.Work) {
    unkept += work.removals
    unkeptMemos.formUnion(work.memos)
    core.figures.withLock { $0.removals += work.removals.count }
    let areRemovalsKept = keepAll()
    let isKept = keepMemos() && areRemovalsKept
    if isKept { core.queue.keptRemovals() }
    for barrier in work.barriers { barrier.resume(isKept) }
  }

  private mutating func keepAll() -> Bool {
    guard !unkept.isEmpty else { return true }
    let end = logEnd
    let entries = unkept.map { removal in
      var removal = removal
      if removal.limit.rawValue == 0 { removal.limit = end }
      return removal
    }
    for entry in entries { recovery?.removals.add(entry) }
    guard isOpen, core.mayWrite(now) else {
      // More than this is not remembered one by one.
      if unkept.count > 1 << 16 { unkept = [DiskRemoval(kind: .everything)] }
      return false
    }
    do throws(SystemError) {
      try journal.append(entries, instance: identity.instance, device: device)
      unkept = []
      return true
    } catch {
      core.writeFailed(error, now)
      return false
    }
  }

  // MARK: Records

  private mutating func store(_ offer: DiskOffer) {
    var offer = offer
    if let fill = offer.fill {
      guard !fill.isFailed else { return refuse(offer) }
      offer.content.pieces = fill.pieces
    }
    guard offer.mark == core.marks.mark(offer.key) else {
      core.figures.withLock { $0.outdated += 1 }
      offer.fill?.fail()
      offer.done?(false)
      return
    }
    let isCurrent = offer.replaced.map { core.index.contains($0.hash, $0.location) } ?? true
    let isThere = offer.content.pieces.allSatisfy { core.segments[$0.position.segment] != nil }
    guard isCurrent, isThere, let lead = write(offer.content) else { return refuse(offer) }
    let entry = DiskEntry(
      hash: offer.key.hash, position: lead.position, variant: lead.variant, count: lead.recordCount)
    pending.append(.publish(entry, offer))
    if staged.count >= Self.stageLimit { flush() }
  }

  private mutating func store(_ fill: DiskFill, _ slices: [Slice]) {
    guard !fill.isFailed else { return }
    guard let lead = write(DiskContent(kind: .extent, body: slices)), let active else { return fill.fail() }
    let piece = DiskPiece(position: lead.position, count: lead.bodyCount, crc: lead.crc)
    fill.placed(piece)
    pending.append(.extent(fill, piece, active.segment))
    if staged.count >= Self.stageLimit { flush() }
  }

  private func refuse(_ offer: DiskOffer) {
    core.figures.withLock { $0.refusals += 1 }
    offer.fill?.fail()
    offer.done?(false)
  }

  /// Stages a record behind all others; nil where there is no place for it.
  mutating func write(_ content: DiskContent) -> DiskLead? {
    let count = content.lead(at: logEnd, wall: 0).recordCount
    guard content.pieces.count <= DiskFormat.pieceLimit, count <= options.segmentSize - DiskFormat.page,
      makeRoom(count)
    else { return nil }
    newestWall = max(newestWall, clock.wall)
    return content.write(at: logEnd, instance: identity.instance, wall: clock.wall, onto: &staged)
  }

  func fits(_ count: Int) -> Bool {
    active.map { $0.offset + staged.count + count <= options.segmentSize } ?? false
  }

  private mutating func makeRoom(_ count: Int) -> Bool {
    if fits(count) { return true }
    guard isOpen, core.mayWrite(now) else { return false }
    seal()
    return addSegment()
  }

  // MARK: Writing

  /// Writes what is staged, and only then lets it be found.
  mutating func flush() {
    guard !staged.isEmpty, let active else { return }
    defer {
      staged.removeAll(keepingCapacity: staged.capacity <= 4 * Self.stageLimit)
      pending = []
    }
    let count = staged.count
    let reach = pad(from: active.offset, reach: active.reach)
    do throws(SystemError) {
      try active.segment.file.write(staged.span, at: active.offset)
    } catch {
      for one in pending { fail(one) }
      core.writeFailed(error, now)
      abandonActive()
      return
    }
    let end = active.offset + count
    self.active = Active(segment: active.segment, offset: end, reach: reach)
    sinceSnapshot += count
    core.figures.withLock { $0.writtenBytes += count }
    core.writeSucceeded()
    let position = DiskPosition(segment: active.segment.number, offset: end)
    core.logTime.store(DiskEviction.time(position, segmentSize: options.segmentSize), ordering: .relaxed)
    for one in pending { complete(one) }
  }

  /// Fills the piece of the page cache that a write at an offset ends in, unless it was written to before: with zeros, as
  /// which the segment's rest reads anyway. Linux takes as large a piece of memory for the page cache as a write fills; records
  /// one by one come to five small ones for each 100 KiB, which cost a tenth more to send, and more to write. How far the
  /// segment is written to then.
  private mutating func pad(from offset: Int, reach: Int) -> Int {
    let end = offset + staged.count
    guard end > reach else { return reach }
    let piece = min(options.pagePiece, Self.zeros.count)
    let padded = min((end + piece - 1) / piece * piece, options.segmentSize)
    staged.append(contentsOf: Self.zeros[..<(padded - end)])
    return padded
  }

  private static let zeros = [UInt8](repeating: 0, count: 256 << 10)

  private func fail(_ one: Pending) {
    switch one {
    case .publish(_, let offer): refuse(offer)
    case .move: break
    case .extent(let fill, _, _): fill.fail()
    }
  }

  private mutating func complete(_ one: Pending) {
    switch one {
    case .extent(let fill, let piece, let segment): fill.written(piece, segment)
    case .move(let old, let new):
      guard core.index.replace(old, with: new) else { return unpublished(new) }
      core.figures.withLock { figures in
        figures.reinsertions += 1
        figures.reinsertedBytes += new.lengthBound
      }
    case .publish(let entry, let offer):
      let isFound = publish(entry, offer)
      if isFound { offer.fill?.finished() } else { offer.fill?.fail() }
      offer.done?(isFound)
    }
  }

  private mutating func publish(_ entry: DiskEntry, _ offer: DiskOffer) -> Bool {
    // Removals are counted before they take the shard's lock: one that is not seen here finds the entry afterwards.
    let isFound = core.index.insert(entry, replacing: offer.replaced) {
      offer.mark == core.marks.mark(offer.key)
    }
    if isFound { core.figures.withLock { $0.insertions += 1 } } else { unpublished(entry) }
    return isFound
  }

  /// A record is on the disk that must not be found, now or after a restart.
  private mutating func unpublished(_ entry: DiskEntry) {
    core.figures.withLock { $0.outdated += 1 }
    unkept.append(DiskRemoval(kind: .record, limit: entry.position.next))
  }
}
