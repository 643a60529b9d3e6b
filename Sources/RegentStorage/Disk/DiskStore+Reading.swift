// Finding a stored response: the index says where it may be, the record itself whether it is. What is in the page cache
// is read at once; what is not is read by the pool, so that no loop ever waits for a disk, and no client for long.

public import RegentLoop
import Synchronization

/// The disk would have to be waited for.
public struct DiskBlocked: Error {}

/// What is looked for.
private struct DiskQuery {
  let key: RecordKey
  /// Monotonic time in nanoseconds.
  let now: Int64
  /// Whether the index knows of one place only.
  let isOnly: Bool
  /// The longest record, in bytes, that is read whole.
  let copying: Int
  /// Whether it may wait for the disk.
  let waits: Bool

  /// Whether the record of a lead is what an entry that was found stands for, under the key that is looked for.
  func wants(_ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry) -> Bool {
    lead.keyCount == key.bytes.count && lead.variant == entry.variant
      && bytes.block.holds(key.bytes, at: lead.keyRange.lowerBound)
  }
}

extension DiskStore {
  /// Of so many responses that match, the best is looked for.
  private static let mostCompared = 8

  /// The key's response that `matches` accepts by its head; nil where there is none, and where the disk does not let it be
  /// read. Of several it is the last written one, unless `isBetter` says of another head (the first) that it is preferred
  /// to it (the second). It counts nothing: that is for ``count(_:for:)``, once it is settled what a request gets.
  ///
  /// - Parameters:
  ///   - now: Monotonic time in nanoseconds.
  ///   - copying: The longest record, in bytes, whose body is read into memory; a longer one's stays where it is.
  /// - Throws: Where it is not in the page cache: then ``lookup(_:now:copying:where:preferring:)`` waits for it.
  public func lookupAtOnce(
    _ key: RecordKey, now: Int64, copying: Int = DiskStore.copiedForKeeping,
    where matches: (Slice) -> Bool = { _ in true },
    preferring isBetter: (Slice, Slice) -> Bool = { _, _ in false }
  ) throws(DiskBlocked) -> DiskRecord? {
    try lookup(key, now, copying, core.pool == nil, matches, isBetter)
  }

  /// The same, waiting for the disk where that has to be, but not for long: nil where it takes its time.
  public func lookup(
    _ key: RecordKey, now: Int64, copying: Int = DiskStore.copiedForKeeping,
    where matches: @escaping @Sendable (Slice) -> Bool = { _ in true },
    preferring isBetter: @escaping @Sendable (Slice, Slice) -> Bool = { _, _ in false }
  ) async -> DiskRecord? {
    do throws(DiskBlocked) {
      return try lookupAtOnce(key, now: now, copying: copying, where: matches, preferring: isBetter)
    } catch {
      // Who may wait is never blocked.
      return await waiting { try? self.lookup(key, now, copying, true, matches, isBetter) }
    }
  }

  /// Counts what a look for a request came to: what it found, or nothing. While the disk is not read, nobody looks.
  public func count(_ found: DiskRecord?, for key: RecordKey) {
    guard core.isReading else { return }
    if let found {
      core.index.touch(found.entry, core.logTime.load(ordering: .relaxed))
    } else {
      core.index.countMiss(key.hash)
    }
  }

  private func lookup(
    _ key: RecordKey, _ now: Int64, _ copying: Int, _ waits: Bool, _ matches: (Slice) -> Bool,
    _ isBetter: (Slice, Slice) -> Bool
  ) throws(DiskBlocked) -> DiskRecord? {
    guard core.isReading else { return nil }
    func query(isOnly: Bool) -> DiskQuery {
      DiskQuery(key: key, now: now, isOnly: isOnly, copying: copying, waits: waits)
    }
    switch core.index.finds(key.hash) {
    case .none: return nil
    // Most often there is one: no list is made of it.
    case .one(let entry): return try look(entry, query(isOnly: true), matches)
    case .several(let entries):
      let found = try records(entries, query(isOnly: false), limit: Self.mostCompared, matches)
      return found.dropFirst().reduce(found.first) { best, record in
        best.map { isBetter(record.head, $0.head) ? record : $0 }
      }
    }
  }

  /// The key's responses that `matches` accepts, the last written first; at most `limit`. It counts nothing.
  public func records(
    _ key: RecordKey, now: Int64, limit: Int = 32,
    where matches: @escaping @Sendable (Slice) -> Bool = { _ in true }
  ) async -> [DiskRecord] {
    guard core.isReading else { return [] }
    let entries = core.index.finds(key.hash).entries
    guard !entries.isEmpty else { return [] }
    @Sendable func look(waits: Bool) throws(DiskBlocked) -> [DiskRecord] {
      let query = DiskQuery(
        key: key, now: now, isOnly: entries.count == 1, copying: Self.copiedForKeeping, waits: waits)
      return try records(entries, query, limit: limit, matches)
    }
    let found: [DiskRecord]
    do throws(DiskBlocked) {
      found = try look(waits: core.pool == nil)
    } catch {
      // As above.
      found = await waiting { try? look(waits: true) } ?? []
    }
    return found
  }

  private func records(
    _ entries: [DiskEntry], _ query: DiskQuery, limit: Int, _ matches: (Slice) -> Bool
  ) throws(DiskBlocked) -> [DiskRecord] {
    var found: [DiskRecord] = []
    for entry in entries where found.count < limit {
      if let record = try look(entry, query, matches) { found.append(record) }
    }
    return found
  }

  /// Has something done on a thread that may wait for the disk; nil where that takes too long.
  private func waiting<Found: Sendable>(_ find: @escaping @Sendable () -> Found?) async -> Found? {
    guard let pool = core.pool, !core.patience.isCrowded else {
      core.patience.countTimeout()
      return nil
    }
    core.figures.withLock { $0.slowReads += 1 }
    return await core.patience.run(on: pool, limit: core.options.readLimit, find) ?? nil
  }

  // MARK: One place

  /// The longest record, in bytes, that is read with one call into memory for those who may keep it there.
  public static let copiedForKeeping = 256 << 10
  /// The longest record, in bytes, that is sooner copied than sent from where it lies.
  public static let copiedForSending = 16 << 10
  /// How much is read of a longer record at first, and of one of several of a key, of which most do not match.
  private static let longRead = 4 << 10
  private static let headRead = 8 << 10

  /// The response at one place; nil where it is another one, or none.
  private func look(
    _ entry: DiskEntry, _ query: DiskQuery, _ matches: (Slice) -> Bool
  ) throws(DiskBlocked) -> DiskRecord? {
    guard let segment = core.segments[entry.position.segment, by: entry.hash] else {
      core.index.remove(entry)
      return nil
    }
    let bound = entry.lengthBound
    if bound > query.copying, let seen = seenLately(segment, entry.position),
      seen.lead.lead.recordCount > query.copying
    {
      let (lead, bytes) = (seen.lead.lead, seen.lead.bytes)
      guard query.wants(lead, bytes, entry), matches(lead.head(bytes)) else { return nil }
      return long(lead, bytes, entry, segment, seen: seen.looked)
    }
    let count =
      query.isOnly ? (bound <= query.copying ? bound : Self.longRead) : min(bound, Self.headRead)
    guard let (lead, bytes) = try lead(segment, entry, count, query) else { return nil }
    guard lead.kind == .response else { return damaged(entry, "kind") }
    guard query.wants(lead, bytes, entry), matches(lead.head(bytes)) else { return nil }
    guard lead.pieceCount == 0, lead.recordCount <= query.copying else {
      return long(lead, bytes, entry, segment)
    }
    var record = bytes
    if !lead.isWhole(in: bytes) {
      guard let (_, all) = try self.lead(segment, entry, lead.recordCount, query) else {
        return nil
      }
      record = all
    }
    guard lead.isWhole(in: record), lead.isIntact(record) else { return damaged(entry, "body") }
    return DiskRecord(lead, record, entry, .none, core)
  }

  /// The lead of a response all of whose body was seen lately, and when.
  private func seenLately(_ segment: DiskSegment, _ position: DiskPosition) -> (
    lead: DiskReadLead, looked: Int64
  )? {
    let now = core.options.clock()
    return segment.looks.withLock { $0.response(position, now: now) }
  }

  /// An entry's lead, with at least `count` bytes of its record if it has them; nil where it cannot be had.
  private func lead(
    _ segment: DiskSegment, _ entry: DiskEntry, _ count: Int, _ query: DiskQuery
  ) throws(DiskBlocked) -> (DiskLead, Slice)? {
    let found: DiskFound
    do throws(SystemError) {
      found = try segment.lead(at: entry.position, count: count, waits: query.waits)
    } catch {
      core.readFailed(error, query.now)
      // Want of descriptors or memory passes; what the device cannot read is gone.
      if error.isHard { core.index.remove(entry) }
      return nil
    }
    switch found {
    case .lead(let lead, let bytes): return (lead, bytes)
    case .blocked: throw DiskBlocked()
    case .damaged(let reason):
      _ = damaged(entry, reason)
      return nil
    }
  }

  /// Damage, unless the segment went while it was read.
  private func damaged(_ entry: DiskEntry, _ reason: String) -> DiskRecord? {
    if core.index.contains(entry.hash, entry.location) { core.damaged(entry, reason) }
    return nil
  }

  /// A response with a large body: all segments that it lies in are held from here on.
  ///
  /// - Parameter seen: When all of the body was looked at, if that is not long ago.
  private func long(
    _ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry, _ segment: DiskSegment, seen: Int64? = nil
  ) -> DiskRecord? {
    guard lead.pieceCount > 0 else {
      let piece = DiskPiece(position: entry.position, count: lead.inlineCount, crc: lead.crc)
      let part = DiskPart(segment: segment, piece: piece, start: 0)
      let start = entry.position.offset + lead.count
      let opening = seen.flatMap { looked in
        segment.sendable.map { FilePart(file: $0, range: start..<start + piece.count, looked: looked) }
      }
      return DiskRecord(lead, bytes, entry, .one(part), opening: opening.map(DiskBytes.file), core)
    }
    var parts: [DiskPart] = []
    for piece in bytes.withBytes({ lead.pieces($0) }) {
      guard let its = core.segments[piece.position.segment, by: entry.hash] else {
        core.index.remove(entry)
        return nil
      }
      parts.append(DiskPart(segment: its, piece: piece, start: parts.last?.end ?? 0))
    }
    guard parts.last?.end == lead.bodyCount else { return damaged(entry, "pieces") }
    return DiskRecord(lead, bytes, entry, .several(parts), core)
  }
}
