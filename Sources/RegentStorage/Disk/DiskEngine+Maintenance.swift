// What is due from time to time: bringing written records to the disk, writing the index down, looking whether the
// directory is still there; and the end.

import RegentLoop
import Synchronization

extension DiskEngine {
  mutating func maintain() {
    guard isOpen else { return }
    if now &- lastProbe >= 1_000_000_000 { probe() }
    guard isOpen else { return }
    if !core.isWriting, core.mayWrite(now) { tryAgain() }
    if now &- lastSync >= options.syncInterval { sync() }
    // A snapshot for each eight times its own size that was written, so that a start looks through little.
    let size = DiskSnapshot.size(core.index.count)
    if recovery == nil, sinceSnapshot > options.segmentSize + 8 * size { beginSnapshot() }
    if writing != nil { continueSnapshot() }
  }

  /// So many bytes of segments may be mapped for longer than a second: what was looked at of them counts as the process's
  /// memory, though it is the page cache's.
  private static let mostMapped = 256 << 20

  /// Notices that the directory was removed: nothing that is written there would be found again. And lets go of what was only of
  /// use for a moment.
  private mutating func probe() {
    lastProbe = now
    core.segments.unmap(over: Self.mostMapped)
    core.segments.forgetLooks(now, options.verify)
    guard !device.isPresent else { return }
    core.writeFailed(SystemError(call: "open", code: 2), now)
    forgetAll()
  }

  /// Lets go of everything; the directory is opened anew when it can be.
  mutating func forgetAll() {
    for one in pending { if case .publish(_, let offer) = one { offer.done?(false) } }
    (staged, pending) = ([], [])
    (active, recovery, writing, files) = (nil, nil, nil, [])
    journal = DiskJournal()
    (snapshots, nextSnapshot) = ([0, 0], 0)
    core.segments.removeAll()
    core.index.removeAll { _ in true }
    isOpen = false
  }

  /// Finds out whether writing works again, by what failed: a new segment, or what removals could not be kept.
  private mutating func tryAgain() {
    if active == nil {
      guard addSegment() else { return }
    } else {
      sync()
    }
    if active != nil, unkept.isEmpty, unkeptMemos.isEmpty { core.writeSucceeded() }
  }

  /// Brings what was written to the disk.
  mutating func sync() {
    lastSync = now
    guard let writing = active, writing.isDirty else { return }
    do throws(SystemError) {
      try writing.segment.file.sync()
      active?.isDirty = false
    } catch {
      active = nil
      distrust(writing.segment.number, error)
    }
  }

  // MARK: The index on the disk

  /// Begins to write the index down, over the older of its two copies.
  mutating func beginSnapshot() {
    guard writing == nil else { return }
    flush()
    sync()
    let count = core.index.count
    guard isOpen, core.mayWrite(now), bytes + DiskSnapshot.size(count) <= options.budget else { return }
    sinceSnapshot = 0
    do throws(SystemError) {
      writing = try DiskSnapshotWriting(
        device, count: count, instance: identity.instance, end: logEnd, witness: journal.witness)
    } catch {
      // It is only a way to start faster.
      core.figures.withLock { $0.writeErrors += 1 }
    }
  }

  /// Goes on with it, for as long as other work may wait.
  mutating func continueSnapshot() {
    let (index, piece) = (core.index, options.snapshotPiece)
    do throws(SystemError) {
      guard try writing?.writeSome(piece, of: index) == true else { return }
      // What took another's place meanwhile must be on the disk before the index that does not know the other any more.
      flush()
      sync()
      try device.rename(DiskName.newIndex, to: DiskName.indexes[nextSnapshot])
      try device.sync()
      snapshots[nextSnapshot] = writing?.size ?? 0
      nextSnapshot = 1 - nextSnapshot
    } catch {
      core.figures.withLock { $0.writeErrors += 1 }
    }
    writing = nil
  }

  /// Writes the index down as it is now.
  private mutating func writeSnapshot() {
    writing = nil
    beginSnapshot()
    while writing != nil { continueSnapshot() }
  }

  // MARK: The end

  /// Writes what waits, the index, and that the end was a clean one.
  mutating func close(_ clock: DiskTime) {
    core.queue.close()
    var steps = 0
    // What waits is bounded by the queue; a recovery that goes on is left to the next start.
    while core.queue.bytes > 0, steps < 1000 {
      _ = step(clock)
      steps += 1
    }
    _ = step(clock)
    let isRecovered = recovery == nil
    if isOpen {
      seal()
      if isRecovered { writeSnapshot() }
      if core.isWriting { noteCleanEnd() }
    }
    isClosed = true
    publishFigures()
    core.device.close()
  }

  private func noteCleanEnd() {
    var starts = DiskStarts()
    starts.endedCleanly()
    // A start that seems not to have ended well costs nothing alone.
    try? device.replace(DiskName.starts, with: starts.encoded)
  }

  // MARK: Figures

  func publishFigures() {
    core.isSettled.store(isOpen && recovery == nil, ordering: .releasing)
    core.newestWall.store(newestWall, ordering: .relaxed)
    let bytes = bytes
    core.figures.withLock { figures in
      figures.bytes = bytes
      figures.segments = files.count
      figures.isRecovering = recovery != nil || !isOpen
    }
  }
}
