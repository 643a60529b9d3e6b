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
    if recovery == nil, sinceSnapshot > options.segmentSize + 8 * size { writeSnapshot() }
  }

  /// Notices that the directory was removed: nothing that is written there would be found again.
  private mutating func probe() {
    lastProbe = now
    guard !device.isPresent else { return }
    core.writeFailed(SystemError(call: "open", code: 2), now)
    forgetAll()
  }

  /// Lets go of everything; the directory is opened anew when it can be.
  mutating func forgetAll() {
    for one in pending { if case .publish(_, let offer) = one { offer.done?(false) } }
    (staged, pending) = ([], [])
    (active, recovery, files) = (nil, nil, [])
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
    if active != nil, unkept.isEmpty { core.writeSucceeded() }
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

  /// Writes the index down, over the older of its two copies.
  mutating func writeSnapshot() {
    flush()
    sync()
    let (end, entries) = (logEnd, core.index.entries { _ in true })
    let size = DiskSnapshot.size(entries.count)
    guard isOpen, core.mayWrite(now), bytes + size <= options.budget else { return }
    sinceSnapshot = 0
    do throws(SystemError) {
      let bytes = DiskSnapshot.encoded(
        entries, instance: identity.instance, end: end, witness: journal.witness)
      try device.replace(DiskName.indexes[nextSnapshot], with: bytes)
      snapshots[nextSnapshot] = size
      nextSnapshot = 1 - nextSnapshot
    } catch {
      // It is only a way to start faster.
      core.figures.withLock { $0.writeErrors += 1 }
    }
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
      figures.isRecovering = recovery != nil
    }
  }
}
