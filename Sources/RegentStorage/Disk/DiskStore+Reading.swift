// Finding a stored response: the index says where it may be, the record itself whether it is. What is in the page cache
// is read at once; what is not is read by the pool, so that no loop ever waits for a disk, and no client for long.

public import RegentLoop
import Synchronization

/// What is looked for.
private struct DiskQuery: Sendable {
  let key: RecordKey
  /// Monotonic time in nanoseconds.
  let now: Int64
  /// Whether the index knows of one place only.
  let isOnly: Bool
  /// The longest record, in bytes, that is read whole.
  let copying: Int
  let matches: @Sendable (Slice) -> Bool
}

/// What came of looking at one place.
private enum DiskLook: Sendable {
  case found(DiskRecord)
  case other
  case blocked
}

extension DiskStore {
  /// Of so many responses that match, the best is looked for.
  private static let mostCompared = 8

  /// The key's response that `matches` accepts by its head; nil where there is none, and where the disk does not let it be
  /// read, or not in time. Of several it is the last written one, unless `isBetter` says of another head (the first) that it
  /// is preferred to it (the second).
  ///
  /// - Parameters:
  ///   - now: Monotonic time in nanoseconds.
  ///   - copying: The longest record, in bytes, whose body is read into memory; a longer one's stays where it is.
  public func lookup(
    _ key: RecordKey, now: Int64, copying: Int = DiskStore.copiedForKeeping,
    where matches: @escaping @Sendable (Slice) -> Bool = { _ in true },
    preferring isBetter: (Slice, Slice) -> Bool = { _, _ in false }
  ) async -> DiskRecord? {
    guard core.isReading else { return nil }
    let finds = core.index.finds(key.hash)
    guard case .one(let entry) = finds else {
      let found = await records(of: finds, key, now, limit: Self.mostCompared, copying, matches)
      let best = found.dropFirst().reduce(found.first) { best, record in
        best.map { isBetter(record.head, $0.head) ? record : $0 }
      }
      if let best { core.index.touch(best.entry, core.logTime.load(ordering: .relaxed)) }
      return best
    }
    // Most often there is one, which is in the page cache: no list is made of it.
    let query = DiskQuery(key: key, now: now, isOnly: true, copying: copying, matches: matches)
    var record: DiskRecord?
    switch look(entry, query, waits: core.pool == nil) {
    case .found(let found): record = found
    case .other: break
    case .blocked: record = await waiting([entry], query, limit: 1).first
    }
    if record == nil {
      core.index.countMiss(key.hash)
    } else {
      core.index.touch(entry, core.logTime.load(ordering: .relaxed))
    }
    return record
  }

  /// The key's responses that `matches` accepts, the last written first; at most `limit`. It counts no hit.
  public func records(
    _ key: RecordKey, now: Int64, limit: Int = 32,
    where matches: @escaping @Sendable (Slice) -> Bool = { _ in true }
  ) async -> [DiskRecord] {
    guard core.isReading else { return [] }
    let finds = core.index.finds(key.hash)
    return await records(of: finds, key, now, limit: limit, Self.copiedForKeeping, matches)
  }

  private func records(
    of finds: DiskFinds, _ key: RecordKey, _ now: Int64, limit: Int, _ copying: Int,
    _ matches: @escaping @Sendable (Slice) -> Bool
  ) async -> [DiskRecord] {
    let entries = finds.entries
    guard !entries.isEmpty else { return [] }
    let query = DiskQuery(
      key: key, now: now, isOnly: entries.count == 1, copying: copying, matches: matches)
    let found = await search(entries, query, limit: limit)
    if found.isEmpty { core.index.countMiss(key.hash) }
    return found
  }

  private func search(_ entries: [DiskEntry], _ query: DiskQuery, limit: Int) async -> [DiskRecord] {
    var found: [DiskRecord] = []
    for (index, entry) in entries.enumerated() where found.count < limit {
      switch look(entry, query, waits: core.pool == nil) {
      case .found(let record): found.append(record)
      case .other: continue
      case .blocked:
        return found + (await waiting(Array(entries[index...]), query, limit: limit - found.count))
      }
    }
    return found
  }

  /// Looks at entries on a thread that may wait for the disk; nothing is found where that takes too long.
  private func waiting(_ entries: [DiskEntry], _ query: DiskQuery, limit: Int) async -> [DiskRecord] {
    guard let pool = core.pool, !core.patience.isCrowded else {
      core.patience.countTimeout()
      return []
    }
    core.figures.withLock { $0.slowReads += 1 }
    let found = await core.patience.run(on: pool, limit: core.options.readLimit) {
      var found: [DiskRecord] = []
      for entry in entries where found.count < limit {
        if case .found(let record) = self.look(entry, query, waits: true) { found.append(record) }
      }
      return found
    }
    return found ?? []
  }

  // MARK: One place

  /// The longest record, in bytes, that is read with one call into memory for those who may keep it there.
  public static let copiedForKeeping = 256 << 10
  /// The longest record, in bytes, that is sooner copied than sent from where it lies.
  public static let copiedForSending = 16 << 10
  /// How much is read of a longer record at first, and of one of several of a key, of which most do not match.
  private static let longRead = 4 << 10
  private static let headRead = 8 << 10

  private func look(_ entry: DiskEntry, _ query: DiskQuery, waits: Bool) -> DiskLook {
    guard let segment = core.segments[entry.position.segment, by: entry.hash] else {
      core.index.remove(entry)
      return .other
    }
    let bound = entry.lengthBound
    let count =
      query.isOnly ? (bound <= query.copying ? bound : Self.longRead) : min(bound, Self.headRead)
    do throws(SystemError) {
      switch try segment.lead(at: entry.position, count: count, waits: waits) {
      case .blocked: return .blocked
      case .damaged(let reason): return damaged(entry, reason)
      case .lead(let lead, let bytes):
        guard lead.kind == .response else { return damaged(entry, "kind") }
        guard lead.keyCount == query.key.bytes.count, lead.variant == entry.variant,
          bytes.block.holds(query.key.bytes, at: lead.keyRange.lowerBound), query.matches(lead.head(bytes))
        else { return .other }
        return try record(lead, bytes, entry, segment, query, waits)
      }
    } catch {
      core.readFailed(error, query.now)
      // Want of descriptors or memory passes; what the device cannot read is gone.
      if error.isHard { core.index.remove(entry) }
      return .other
    }
  }

  /// Damage, unless the segment went while it was read.
  private func damaged(_ entry: DiskEntry, _ reason: String) -> DiskLook {
    if core.index.contains(entry.hash, entry.location) { core.damaged(entry, reason) }
    return .other
  }

  private func record(
    _ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry, _ segment: DiskSegment, _ query: DiskQuery,
    _ waits: Bool
  ) throws(SystemError) -> DiskLook {
    guard lead.pieceCount == 0, lead.recordCount <= query.copying else {
      return stored(lead, bytes, entry, segment)
    }
    var bytes = bytes
    if !lead.isWhole(in: bytes) {
      switch try segment.lead(at: entry.position, count: lead.recordCount, waits: waits) {
      case .blocked: return .blocked
      case .damaged(let reason): return damaged(entry, reason)
      case .lead(_, let all): bytes = all
      }
    }
    guard lead.isWhole(in: bytes), lead.isIntact(bytes) else { return damaged(entry, "body") }
    return .found(DiskRecord(lead, bytes, entry, .packed(lead.body(bytes))))
  }

  /// A response with a large body: all segments that it lies in are held from here on.
  private func stored(_ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry, _ segment: DiskSegment)
    -> DiskLook
  {
    var parts: [DiskPart] = []
    for piece in bytes.withBytes({ lead.allPieces($0) }) {
      guard let its = core.segments[piece.position.segment, by: entry.hash] else {
        core.index.remove(entry)
        return .other
      }
      parts.append(DiskPart(segment: its, piece: piece, start: parts.last?.end ?? 0))
    }
    guard parts.last?.end == lead.bodyCount else { return damaged(entry, "pieces") }
    let known = lead.pieceCount == 0 ? DiskBodyReader.Lead(number: 0, lead: lead, bytes: bytes) : nil
    let body = DiskStoredBody(count: lead.bodyCount, parts: parts, lead: known, entry: entry, core: core)
    return .found(DiskRecord(lead, bytes, entry, .stored(body)))
  }
}
