// Finding a stored response: the index says where it may be, the record itself whether it is. What is in the page cache
// is read at once; what is not is read by the pool, so that no loop ever waits for a disk.

public import RegentLoop
import Synchronization

/// What came of looking at one place.
private enum DiskLook: Sendable {
  case found(DiskRecord)
  case other
  case blocked
}

extension DiskStore {
  /// The key's response that `matches` accepts by its head, the last written one of several; nil where there is none,
  /// and where the disk does not let it be read.
  ///
  /// - Parameter now: Monotonic time in nanoseconds.
  public func lookup(
    _ key: RecordKey, now: Int64, where matches: @escaping @Sendable (Slice) -> Bool = { _ in true }
  ) async -> DiskRecord? {
    await records(key, now: now, limit: 1, countingHits: true, where: matches).first
  }

  /// The key's responses that `matches` accepts, the last written first; at most `limit`.
  public func records(
    _ key: RecordKey, now: Int64, limit: Int = 32, countingHits: Bool = false,
    where matches: @escaping @Sendable (Slice) -> Bool = { _ in true }
  ) async -> [DiskRecord] {
    guard core.isReading else { return [] }
    let entries = core.index.entries(key.hash)
    var found: [DiskRecord] = []
    for entry in entries where found.count < limit {
      var look = look(entry, key, now, isOnly: entries.count == 1, waits: core.pool == nil, matches)
      if case .blocked = look, let pool = core.pool {
        core.figures.withLock { $0.slowReads += 1 }
        look =
          await pool.run {
            self.look(entry, key, now, isOnly: entries.count == 1, waits: true, matches)
          } ?? .other
      }
      guard case .found(let record) = look else { continue }
      found.append(record)
      if countingHits { core.index.touch(entry, core.logTime.load(ordering: .relaxed)) }
    }
    if found.isEmpty, !entries.isEmpty { core.index.countMiss(key.hash) }
    return found
  }

  /// The longest record, in bytes, that is read with one call, and handed out from memory.
  static let wholeLimit = 256 << 10
  /// How much is read of one of several records of a key, of which most do not match.
  private static let headRead = 8 << 10

  private func look(
    _ entry: DiskEntry, _ key: RecordKey, _ now: Int64, isOnly: Bool, waits: Bool,
    _ matches: @Sendable (Slice) -> Bool
  ) -> DiskLook {
    guard let segment = core.segments[entry.position.segment] else {
      core.index.remove(entry)
      return .other
    }
    let isShort = entry.lengthBound <= Self.wholeLimit
    let count = isOnly ? (isShort ? entry.lengthBound : 16 << 10) : min(entry.lengthBound, Self.headRead)
    do throws(SystemError) {
      switch try lead(entry, segment, count, waits) {
      case .blocked: return .blocked
      case .damaged(let reason): return damaged(entry, segment, reason)
      case .lead(let lead, let bytes):
        guard lead.kind == .response else { return damaged(entry, segment, "kind") }
        guard lead.key(bytes).block.holds(key.bytes, at: lead.keyRange.lowerBound),
          lead.keyCount == key.bytes.count,
          lead.variant == entry.variant, matches(lead.head(bytes))
        else { return .other }
        return try record(lead, bytes, entry, segment, now, waits)
      }
    } catch {
      core.readFailed(error, now)
      // Want of descriptors or memory passes; what the device cannot read is gone.
      if error.isHard { core.index.remove(entry) }
      return .other
    }
  }

  private func lead(
    _ entry: DiskEntry, _ segment: DiskSegment, _ count: Int, _ waits: Bool
  ) throws(SystemError) -> DiskFound {
    try segment.lead(at: entry.position, count: count, waits: waits)
  }

  /// Damage, unless the segment went while it was read.
  private func damaged(_ entry: DiskEntry, _ segment: DiskSegment, _ reason: String) -> DiskLook {
    if core.index.contains(entry.hash, entry.location) { core.damaged(entry, reason) }
    return .other
  }

  private func record(
    _ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry, _ segment: DiskSegment, _ now: Int64, _ waits: Bool
  ) throws(SystemError) -> DiskLook {
    guard lead.pieceCount == 0, lead.recordCount <= Self.wholeLimit else {
      return stored(lead, bytes, entry, segment)
    }
    var bytes = bytes
    if !lead.isWhole(in: bytes) {
      switch try self.lead(entry, segment, lead.recordCount, waits) {
      case .blocked: return .blocked
      case .damaged(let reason): return damaged(entry, segment, reason)
      case .lead(_, let all): bytes = all
      }
    }
    guard lead.isWhole(in: bytes), lead.isIntact(bytes) else { return damaged(entry, segment, "body") }
    return .found(made(lead, bytes, entry, .packed(lead.body(bytes))))
  }

  /// A response with a large body: all segments that it lies in are held from here on.
  private func stored(_ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry, _ segment: DiskSegment)
    -> DiskLook
  {
    var parts: [DiskPart] = []
    let pieces =
      lead.pieceCount > 0
      ? bytes.withBytes { lead.pieces($0) }
      : [DiskPiece(position: lead.position, count: lead.inlineCount, crc: lead.crc)]
    for piece in pieces {
      guard let its = core.segments[piece.position.segment] else {
        core.index.remove(entry)
        return .other
      }
      parts.append(DiskPart(segment: its, piece: piece, start: parts.last?.end ?? 0))
    }
    guard parts.last?.end == lead.bodyCount else { return damaged(entry, segment, "pieces") }
    let body = DiskStoredBody(count: lead.bodyCount, parts: parts, entry: entry, core: core)
    return .found(made(lead, bytes, entry, .stored(body)))
  }

  private func made(_ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry, _ body: DiskBody) -> DiskRecord {
    DiskRecord(
      key: lead.key(bytes), head: lead.head(bytes), body: body, wall: lead.wall, hits: entry.hits,
      variant: lead.variant, entry: entry,
      pieces: lead.pieceCount > 0
        ? bytes.withBytes { lead.pieces($0) }
        : [DiskPiece(position: lead.position, count: lead.inlineCount, crc: lead.crc)])
  }
}
