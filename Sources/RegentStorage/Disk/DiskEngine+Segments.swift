// The life of segments: made, sealed, evicted, or no longer trusted. The budget is kept before anything is written, and
// one segment's worth of it stays free, so that what outlives the oldest can be written before that goes.

import RegentLoop
import Synchronization

extension DiskEngine {
  /// The bytes that the directory takes.
  var bytes: Int {
    files.reduce(Self.overhead + memoBytes + journal.bytes + snapshots.reduce(writing?.size ?? 0, +)) {
      $0 + $1.bytes
    }
  }

  /// Makes the next segment, and room for the one after it.
  mutating func addSegment() -> Bool {
    while bytes + options.segmentSize > budget {
      guard evictOldest(keepingUsed: false) else { return false }
    }
    guard makeSegment() || giveWay() && makeSegment() else { return false }
    while bytes + options.segmentSize > budget, files.count > 1 {
      guard evictOldest(keepingUsed: true), active != nil else { break }
    }
    return active != nil
  }

  /// What may be taken: the configured budget, or for a while after the device had no room less.
  private var budget: Int { now < tightUntil ? min(tightBudget, options.budget) : options.budget }

  /// Lets the oldest segment go where the device has no room for another one: others may need it, too. What is written
  /// from now on finds its room here for a minute, with what is used kept, before the device is asked for more again.
  private mutating func giveWay() -> Bool {
    guard core.isOutOfRoom, files.count > 1 else { return false }
    (tightBudget, tightUntil) = (bytes, now &+ 60_000_000_000)
    return evictOldest(keepingUsed: false)
  }

  private mutating func makeSegment() -> Bool {
    var number = nextNumber
    do throws(SystemError) {
      let file = try makeFile()
      number = nextNumber - 1
      files.append((number, options.segmentSize))
      try prepare(file, number)
      let segment = DiskSegment(number: number, instance: identity.instance, file: file)
      core.segments.add(segment)
      active = Active(segment: segment, offset: DiskFormat.page)
      return true
    } catch {
      core.writeFailed(error, now)
      // Somebody else's file of that name stays.
      if files.last?.number == number { drop(number) }
      return false
    }
  }

  /// The file of a new segment, with the next number of which nobody else has a file.
  private mutating func makeFile() throws(SystemError) -> any DiskFile {
    while true {
      let number = nextNumber
      // EOVERFLOW, in all likelihood never.
      guard number < DiskFormat.lastSegment else { throw SystemError(call: "number a segment", code: 75) }
      nextNumber += 1
      do throws(SystemError) {
        return try device.file(DiskName.segment(number), .making)
      } catch {
        guard error.isThere else { throw error }
      }
    }
  }

  private func prepare(_ file: any DiskFile, _ number: UInt32) throws(SystemError) {
    try file.allocate(options.segmentSize, at: 0, grows: true)
    let page = DiskPage(
      magic: DiskFormat.segmentMagic, instance: identity.instance, first: UInt64(number),
      second: UInt64(options.segmentSize), third: journal.witness)
    try file.write(page.encoded.span, at: 0)
    // The number is not given again, not even after the power failed.
    try device.sync()
  }

  // MARK: The end of writing to a segment

  /// Ends the segment that is written to: cut to its length, and on the disk.
  mutating func seal() {
    flush()
    guard let ending = active else { return }
    active = nil
    do throws(SystemError) {
      try ending.segment.file.truncate(to: ending.offset)
      try ending.segment.file.sync()
      setBytes(ending.segment.number, ending.offset)
    } catch {
      distrust(ending.segment.number, error)
    }
  }

  /// Nothing more is written to the segment after a failure; what was written before stays.
  mutating func abandonActive() {
    guard let ending = active else { return }
    active = nil
    do throws(SystemError) {
      try ending.segment.file.truncate(to: ending.offset)
      setBytes(ending.segment.number, ending.offset)
    } catch {
      // It takes what it took.
      core.figures.withLock { $0.writeErrors += 1 }
    }
  }

  /// A segment could not be brought to the disk: Linux may take its pages for written from now on, so that another try
  /// would succeed and mean nothing. What is in it is given up.
  mutating func distrust(_ number: UInt32, _ error: SystemError) {
    core.writeFailed(error, now)
    core.index.removeAll { $0.position.segment == number }
    drop(number)
  }

  private mutating func setBytes(_ number: UInt32, _ count: Int) {
    guard let index = files.firstIndex(where: { $0.number == number }) else { return }
    files[index].bytes = count
  }

  /// Removes a segment's file; false where it stays on the disk.
  @discardableResult
  mutating func drop(_ number: UInt32) -> Bool {
    core.segments.remove(number)
    if active?.segment.number == number { active = nil }
    do throws(SystemError) {
      try device.remove(DiskName.segment(number))
      files.removeAll { $0.number == number }
      return true
    } catch {
      core.writeFailed(error, now)
      return false
    }
  }

  // MARK: Eviction

  /// Removes the oldest segment; what was used of it may be written anew before. False where it cannot be removed.
  mutating func evictOldest(keepingUsed: Bool) -> Bool {
    guard let oldest = files.first?.number, oldest != active?.segment.number else { return false }
    if keepingUsed { moveUsed(of: oldest) }
    core.index.removeAll { $0.position.segment == oldest }
    guard drop(oldest) else { return false }
    core.figures.withLock { $0.evictions += 1 }
    recovery?.forget(oldest)
    journal.forget(before: files.first?.number ?? nextNumber, device: device)
    return true
  }

  private mutating func moveUsed(of number: UInt32) {
    guard let segment = core.segments[number], core.isReading else { return }
    let entries = core.index.entries { $0.position.segment == number }
    let quota = options.segmentSize / 100 * options.reinsertion
    for entry in DiskEviction.kept(of: entries, quota: quota, now: core.logTime.load(ordering: .relaxed)) {
      guard fits(entry.lengthBound + DiskFormat.headLimit / 16) else { break }
      move(entry, from: segment)
      if staged.count >= Self.stageLimit { flush() }
      guard active != nil else { return }
    }
    flush()
  }

  /// Writes one record anew. One whose body lies elsewhere takes it along if it is short, and else goes.
  private mutating func move(_ entry: DiskEntry, from segment: DiskSegment) {
    guard let content = content(entry, segment), fits(content.lead(at: logEnd, wall: 0).recordCount),
      let lead = write(content)
    else { return }
    let moved = DiskEntry(
      hash: entry.hash, position: lead.position, variant: lead.variant, count: lead.recordCount)
    pending.append(.move(entry, moved))
  }

  private func content(_ entry: DiskEntry, _ segment: DiskSegment) -> DiskContent? {
    guard let (lead, record) = whole(entry.position, in: segment, entry: entry) else { return nil }
    var content = DiskContent(
      variant: lead.variant, key: lead.key(record).bytes, head: lead.head(record).bytes)
    guard lead.pieceCount > 0 else {
      content.body = [lead.body(record)]
      return content
    }
    guard lead.bodyCount <= options.extentSize else { return nil }
    for piece in record.withBytes({ lead.pieces($0) }) {
      guard let from = core.segments[piece.position.segment],
        let (part, bytes) = whole(piece.position, in: from, entry: entry), part.crc == piece.crc
      else { return nil }
      content.body.append(part.body(bytes))
    }
    return content
  }

  /// A record that is all as it was written.
  private func whole(_ position: DiskPosition, in segment: DiskSegment, entry: DiskEntry) -> (
    DiskLead, Slice
  )? {
    do throws(SystemError) {
      let count = position == entry.position ? entry.lengthBound : 64 << 10
      guard
        case .lead(var lead, var record) = try segment.lead(
          at: position, count: count, waits: true)
      else { return damaged(entry, position, "lead") }
      if !lead.isWhole(in: record) {
        guard
          case .lead(let again, let all) = try segment.lead(
            at: position, count: lead.recordCount, waits: true)
        else { return damaged(entry, position, "lead") }
        (lead, record) = (again, all)
      }
      guard lead.isWhole(in: record), lead.isIntact(record) else { return damaged(entry, position, "body") }
      return (lead, record)
    } catch {
      core.readFailed(error, now)
      return nil
    }
  }

  private func damaged(_ entry: DiskEntry, _ position: DiskPosition, _ reason: String) -> (DiskLead, Slice)? {
    core.damaged(entry, at: position, reason)
    return nil
  }
}
