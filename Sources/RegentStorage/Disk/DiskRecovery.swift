// How the index comes back after a start: removals first, then the segments that the snapshot does not cover, newest
// first, then the snapshot. So whatever can be found at any time is the newest of its kind. In steps, between which
// the writer writes, and readers find what there is so far. Every doubt drops what is doubted.

import RegentLoop

/// What is still to be done.
struct DiskRecovery: Sendable {
  var removals = DiskRemovals()
  var snapshot: DiskSnapshot?
  /// How many removals there must be, by the word of segments and snapshot.
  var witnesses: [UInt64] = []
  /// The next entry of the snapshot.
  var next = 0
  /// The segments to look through, newest last, each from an offset on.
  var scans: [(number: UInt32, from: Int)] = []
  /// The segment that is being looked through.
  var scanner: DiskScanner?
  /// Entries of the snapshot that are taken in one step.
  static let batch = 1 << 16

  mutating func forget(_ number: UInt32) {
    scans.removeAll { $0.number == number }
    if scanner?.number == number { scanner = nil }
  }
}

extension DiskEngine {
  /// Opens the directory, or opens it again after it was lost.
  mutating func open() {
    do throws(DiskOpenFailure) {
      if !device.isPresent { try device.open() }
    } catch {
      core.writeFailed(error.systemError, now)
      return
    }
    do throws(SystemError) {
      try claimIdentity()
      recovery = try begin()
      isOpen = true
      lastSync = now
    } catch {
      core.writeFailed(error, now)
      forgetAll()
    }
  }

  /// Goes by the identity that is there if it is the one that keys are hashed with; else starts anew.
  private mutating func claimIdentity() throws(SystemError) {
    let found = device.start(of: DiskName.identity, DiskPage.count)?.withBytes { DiskIdentity($0) }
    if let found, found.secret == core.secret {
      identity = found
      return
    }
    identity = DiskIdentity(instance: Randomness.number(), secret: core.secret)
    // What is there belongs to nobody any more, and would never be read.
    for name in try device.names() where name != DiskName.identity { removeOwn(name) }
    try device.replace(DiskName.identity, with: identity.encoded)
  }

  /// Removes a regular file. What else has a name of ours stays.
  private func removeOwn(_ name: String) {
    // What cannot be opened or removed stays, and is nothing to us.
    guard (try? device.file(name, .reading)) != nil else { return }
    try? device.remove(name)
  }

  private mutating func begin() throws(SystemError) -> DiskRecovery {
    var recovery = DiskRecovery()
    // What was being written when the last process ended; if it stays, it is overwritten.
    for name in [DiskName.temporary, DiskName.newIndex] { try? device.remove(name) }
    let names = try device.names()
    try readMemos(names)
    let numbers = names.compactMap { DiskName.number($0, ".segment") }.sorted()
    for number in numbers { try adopt(number, &recovery) }
    // A name that is not ours says nothing of our numbers, however large it is.
    take(number: files.map(\.number).max())
    // Whoever bears witness to removals is read before them: beside a writer, there may be more by then, but not fewer.
    try chooseSnapshot(&recovery)
    for number in names.compactMap({ DiskName.number($0, ".removals") }).sorted() {
      try readRemovals(number, into: &recovery)
    }
    for witness in recovery.witnesses where !journal.bears(witness) {
      distrustRemovals(UInt32(truncatingIfNeeded: witness >> 32), &recovery)
      break
    }
    let ends = [recovery.removals.last, recovery.snapshot?.end].compactMap { $0?.segment }
    take(number: ends.max())
    for removal in unkept {
      var removal = removal
      if removal.limit.rawValue == 0 { removal.limit = logEnd }
      recovery.removals.add(removal)
    }
    planScans(&recovery)
    return recovery
  }

  /// A segment's number was given before: later ones are greater.
  private mutating func take(number: UInt32?) {
    if let number, number < DiskFormat.lastSegment { nextNumber = max(nextNumber, number + 1) }
  }

  /// Takes a segment's file as ours if it begins as one; a damaged one goes.
  private mutating func adopt(_ number: UInt32, _ recovery: inout DiskRecovery) throws(SystemError) {
    let name = DiskName.segment(number)
    do throws(SystemError) {
      let file = try device.file(name, .changing)
      let page = try file.bytes(DiskPage.count, at: 0).withBytes {
        DiskPage($0, magic: DiskFormat.segmentMagic)
      }
      guard let page, page.instance == identity.instance, page.first == UInt64(number) else {
        core.countDamage(segment: number, offset: 0, "segment")
        return try device.remove(name)
      }
      let size = try file.size()
      files.append((number, max(size.length, size.taken)))
      recovery.witnesses.append(page.third)
      core.segments.add(DiskSegment(number: number, instance: identity.instance, file: file))
    } catch {
      // No regular file is nobody's segment; trouble passes, and what cannot be read now is not there.
      guard !error.isExhaustion else { throw error }
      core.figures.withLock { $0.readErrors += 1 }
    }
  }

  private mutating func readRemovals(
    _ number: UInt32, into recovery: inout DiskRecovery
  ) throws(SystemError) {
    let slice: Slice
    do throws(SystemError) {
      let file = try device.file(DiskName.removals(number), .reading)
      slice = try file.bytes(min(try file.size().length, 1 << 30), at: 0)
    } catch {
      guard !error.isExhaustion else { throw error }
      // Its removals are unknown, as are those of a folder or a link of that name. The number is passed over.
      journal.found(number, length: 0, limit: logEnd)
      return distrustRemovals(number, &recovery)
    }
    let isGood = slice.withBytes { bytes in
      // So short, it was never written to: an entry follows when the page is on the disk.
      guard bytes.count > DiskPage.count else { return true }
      guard let page = DiskPage(bytes, magic: DiskFormat.removalsMagic),
        page.instance == identity.instance, page.first == UInt64(number)
      else { return false }
      return !recovery.removals.read(bytes.extracting(DiskPage.count..<bytes.count), instance: page.instance)
    }
    if !isGood { distrustRemovals(number, &recovery) }
    journal.found(number, length: slice.count, limit: max(recovery.removals.last, logEnd))
  }

  /// Any record may be one that was removed: all go that are older than this start.
  private mutating func distrustRemovals(_ number: UInt32, _ recovery: inout DiskRecovery) {
    core.countDamage(segment: number, offset: 0, "removals")
    recovery.removals.add(
      DiskRemoval(kind: .everything, limit: DiskPosition(segment: nextNumber, offset: 0)))
  }

  private mutating func chooseSnapshot(_ recovery: inout DiskRecovery) throws(SystemError) {
    var found: [DiskSnapshot?] = []
    for (index, name) in DiskName.indexes.enumerated() {
      found.append(nil)
      do throws(SystemError) {
        let file = try device.file(name, .reading)
        snapshots[index] = try file.size().length
        found[index] = try DiskSnapshot(file, instance: identity.instance)
        if found[index] == nil { core.countDamage(segment: 0, offset: index, "index") }
      } catch {
        guard !error.isExhaustion else { throw error }
      }
    }
    let newest = found.indices.max {
      (found[$0]?.end.rawValue ?? 0) < (found[$1]?.end.rawValue ?? 0)
    }
    recovery.snapshot = newest.flatMap { found[$0] }
    if let witness = recovery.snapshot?.witness { recovery.witnesses.append(witness) }
    nextSnapshot = 1 - (newest ?? 1)
  }

  private func planScans(_ recovery: inout DiskRecovery) {
    let end = recovery.snapshot?.end ?? DiskPosition(rawValue: 0)
    for (number, _) in files where number >= end.segment {
      let from = number == end.segment ? max(end.offset, DiskFormat.page) : DiskFormat.page
      recovery.scans.append((number, from))
    }
  }

  // MARK: Steps

  /// Does one step of what is left of the recovery.
  mutating func recoverSome() {
    guard isOpen, recovery != nil else { return }
    if recovery?.scanner != nil {
      scanSome()
    } else if let (number, from) = recovery?.scans.popLast() {
      beginScan(number, from)
    } else if let snapshot = recovery?.snapshot, let next = recovery?.next, next < snapshot.count {
      if next == 0 { core.index.reserve(core.index.count + snapshot.count) }
      let range = next..<min(next + DiskRecovery.batch, snapshot.count)
      admit { body in snapshot.forEach(range, body) }
      recovery?.next = range.upperBound
    } else {
      recovery = nil
      keepBudget()
      core.report(.recovered(entries: core.index.count, segments: files.count))
    }
  }

  /// Takes entries into the index, but for those of segments that are gone and those that were removed.
  private func admit(_ forEach: ((DiskEntry) -> Void) -> Void) {
    guard let recovery else { return }
    let numbers = Set(core.segments.numbers)
    var (last, isThere): (UInt32, Bool) = (0, false)
    forEach { entry in
      let number = entry.position.segment
      if number != last { (last, isThere) = (number, numbers.contains(number)) }
      guard isThere, !entry.isEmpty, !recovery.removals.contains(entry) else { return }
      _ = core.index.insert(entry)
    }
  }

  private mutating func beginScan(_ number: UInt32, _ from: Int) {
    guard let segment = core.segments[number], segment !== active?.segment else { return }
    do throws(SystemError) {
      recovery?.scanner = try DiskScanner(segment.file, number: number, identity: identity, from: from)
      scanSome()
    } catch {
      scanFailed()
    }
  }

  private mutating func scanSome() {
    let piece = options.scanPiece
    do throws(SystemError) {
      guard try recovery?.scanner?.scan(piece) == true else { return }
      guard let scanner = recovery?.scanner else { return }
      recovery?.scanner = nil
      try take(scanner)
    } catch {
      scanFailed()
    }
  }

  /// What was not found is not there; the segment goes in its turn.
  private mutating func scanFailed() {
    recovery?.scanner = nil
    core.figures.withLock { $0.readErrors += 1 }
  }

  /// Takes what was found in one segment, the newest first.
  private mutating func take(_ scanner: DiskScanner) throws(SystemError) {
    let scan = scanner.found
    admit { body in for entry in scan.entries.reversed() { body(entry) } }
    newestWall = max(newestWall, scan.wall)
    if scan.isDamaged { core.countDamage(segment: scanner.number, offset: scan.end, "record") }
    sinceSnapshot += scan.end - scanner.start
    if scan.end < scanner.length { try scanner.file.truncate(to: scan.end) }
    if let index = files.firstIndex(where: { $0.number == scanner.number }) {
      files[index].bytes = min(scan.end, scanner.length)
    }
  }

  /// The budget may be smaller than it was.
  private mutating func keepBudget() {
    while bytes > options.budget, evictOldest(keepingUsed: false) {}
  }
}

extension DiskOpenFailure {
  /// The failure as a system call's.
  var systemError: SystemError {
    switch self {
    case .system(let error): error
    case .inUse: SystemError(call: "flock", code: 11)
    case .crashLoop: SystemError(call: "open", code: 16)
    }
  }
}
