// Reads a large body, some blocks at a time, and verifies each before it hands out any of it. It follows a body that
// is still being written as far as that is on the disk.

public import RegentLoop
import Synchronization

/// Bytes of a body, verified.
public enum DiskBytes: Sendable {
  case slice(Slice)
  /// Where they lie, in the page cache.
  case file(FilePart)
}

/// A reader of a stored body. One task reads at a time.
public final class DiskBodyReader: Sendable {
  enum Source: Sendable {
    case parts([DiskPart])
    case fill(DiskFill)
  }
  private struct Place: Sendable {
    var position: Int
    var index = 0
    /// The lead of the part that was read last.
    var lead: (number: Int, lead: DiskLead, bytes: Slice)?
    /// The block that was read into last, for the next read if nobody else has it any more.
    var spare: Block?
    /// The first bytes, where they were read before.
    var opening: Slice?
  }
  private enum Loaded: Sendable {
    case bytes(DiskLead, lead: Slice, Slice)
    case blocked
    case damaged(String)
    case failed(SystemError)
  }
  private let source: Source
  private let end: Int
  private let entry: DiskEntry
  private let core: DiskCore
  // Contended only if two tasks read at once, which they must not.
  private let place: Lock<Place>
  /// How many bytes are read at once, at most; rounded to whole blocks.
  static let window = 256 << 10

  init(
    _ source: Source, _ range: Range<Int>, opening: Slice? = nil, entry: DiskEntry, core: DiskCore
  ) {
    (self.source, end, self.entry, self.core) = (source, range.upperBound, entry, core)
    place = Lock(Place(position: range.lowerBound, opening: opening))
  }

  /// The next bytes; nil at the end. Damage and trouble end it with `.aborted`, after all that was good was read.
  public func next(upTo limit: Int = .max) async throws(BodyFailure) -> Slice? {
    if let opening = opening(limit) { return opening }
    let position = place.withLock { $0.position }
    guard position < end, let (number, part) = try await part(at: position) else { return nil }
    return try await read(position, number, part, limit)
  }

  /// The next bytes, where they lie in a file if they may be sent from there: they are in the page cache, and were
  /// verified since the start, which is enough with `verify` once.
  public func nextOrFile(upTo limit: Int = .max) async throws(BodyFailure) -> DiskBytes? {
    if let opening = opening(limit) { return .slice(opening) }
    let position = place.withLock { $0.position }
    guard position < end, let (number, part) = try await part(at: position) else { return nil }
    if core.options.verify == .once, let file = file(position, part, limit) {
      place.withLock { $0.position += file.count }
      core.figures.withLock { $0.fileBytes += file.count }
      return .file(file)
    }
    return try await read(position, number, part, limit).map(DiskBytes.slice)
  }

  /// The first bytes, once, if they are here.
  private func opening(_ limit: Int) -> Slice? {
    place.withLock { place in
      guard let opening = place.opening else { return nil }
      let count = min(opening.count, limit)
      place.opening = count < opening.count ? opening.dropping(count) : nil
      place.position += count
      return opening.first(count)
    }
  }

  /// Whether the next bytes can be sent from where they lie.
  var isAtFile: Bool {
    guard core.options.verify == .once, case .parts(let parts) = source, let part = parts.first else {
      return false
    }
    return place.withLock { $0.position } == 0 && file(0, part, .max) != nil
  }

  /// Takes back so many of the last bytes: they are handed out again.
  public func takeBack(_ count: Int) { place.withLock { $0.position -= count } }

  private func file(_ position: Int, _ part: DiskPart, _ limit: Int) -> FilePart? {
    let from = position - part.start
    let to = min(part.piece.count, end - part.start, from + min(limit, DiskFormat.inlineLimit))
    let blocks = from / DiskFormat.block..<(to + DiskFormat.block - 1) / DiskFormat.block
    guard let file = part.segment.file.sendable,
      let start = part.segment.verified.withLock({ $0.start(part.piece.position, blocks: blocks) }),
      file.isResident(start + from..<start + to)
    else { return nil }
    return FilePart(file: file, range: start + from..<start + to)
  }

  private func read(
    _ position: Int, _ number: Int, _ part: DiskPart, _ limit: Int
  ) async throws(BodyFailure) -> Slice? {
    let range = window(position, part, limit)
    let known = place.withLock { $0.lead.flatMap { $0.number == number ? ($0.lead, $0.bytes) : nil } }
    let block = emptyBlock(range.count)
    var loaded = load(part, range, known, block, waits: core.pool == nil)
    if case .blocked = loaded {
      core.figures.withLock { $0.slowReads += 1 }
      if let pool = core.pool {
        loaded =
          await core.patience.run(on: pool, limit: core.options.bodyLimit) {
            self.load(part, range, known, Block(capacity: range.count), waits: true)
          } ?? .blocked
      }
    }
    return try take(loaded, part, number, range, position, limit)
  }

  /// The part of the body that has the byte; waits while it is still to be written. Nil at the proven end.
  private func part(at position: Int) async throws(BodyFailure) -> (Int, DiskPart)? {
    switch source {
    case .fill(let fill): return try await fill.part(at: position)
    case .parts(let parts):
      var index = place.withLock { $0.index }
      while index < parts.count, parts[index].end <= position { index += 1 }
      place.withLock { $0.index = index }
      return index < parts.count ? (index, parts[index]) : nil
    }
  }

  /// The blocks of the part that are to be read, as a range within it.
  private func window(_ position: Int, _ part: DiskPart, _ limit: Int) -> Range<Int> {
    let from = (position - part.start) / DiskFormat.block * DiskFormat.block
    let wanted = min(end - part.start, position - part.start + min(limit, Self.window))
    let to = (wanted + DiskFormat.block - 1) / DiskFormat.block * DiskFormat.block
    return from..<min(part.piece.count, to)
  }

  private func emptyBlock(_ count: Int) -> Block {
    let spare = place.withLock { place in
      defer { place.spare = nil }
      return place.spare
    }
    if var spare, spare.capacity >= count, spare.reuse() { return spare }
    return Block(capacity: count)
  }

  private func load(
    _ part: DiskPart, _ range: Range<Int>, _ known: (DiskLead, Slice)?, _ block: Block, waits: Bool
  ) -> Loaded {
    do throws(SystemError) {
      var (lead, bytes) = (known?.0, known?.1)
      if known == nil {
        switch try part.segment.lead(at: part.piece.position, count: 4096, waits: waits) {
        case .blocked: return .blocked
        case .damaged(let reason): return .damaged(reason)
        case .lead(let found, let slice): (lead, bytes) = (found, slice)
        }
      }
      guard let lead, let bytes, lead.crc == part.piece.crc, lead.inlineCount == part.piece.count else {
        return .damaged("piece")
      }
      let start = part.piece.position.offset + lead.count + range.lowerBound
      guard let got = try part.segment.file.read(range.count, at: start, into: block, waits: waits) else {
        return .blocked
      }
      guard got == range.count else { return .damaged("cut short") }
      guard verify(block, range, lead, bytes) else { return .damaged("body") }
      if core.options.verify == .once { noteVerified(range, part, lead) }
      return .bytes(lead, lead: bytes, Slice(block))
    } catch {
      return .failed(error)
    }
  }

  /// The range begins with a block, and ends with one or with the body.
  private func noteVerified(_ range: Range<Int>, _ part: DiskPart, _ lead: DiskLead) {
    let position = part.piece.position
    let blocks =
      range.lowerBound / DiskFormat.block..<(range.upperBound + DiskFormat.block - 1) / DiskFormat.block
    part.segment.verified.withLock {
      $0.note(position, start: position.offset + lead.count, blocks: blocks)
    }
  }

  private func verify(_ block: Block, _ range: Range<Int>, _ lead: DiskLead, _ leadBytes: Slice) -> Bool {
    block.withBytes { bytes in
      leadBytes.withBytes { leadBytes in
        (range.lowerBound / DiskFormat.block..<(range.upperBound + DiskFormat.block - 1) / DiskFormat.block)
          .allSatisfy { number in
            let its = lead.block(number)
            let (from, to) = (its.lowerBound - range.lowerBound, its.upperBound - range.lowerBound)
            return lead.holds(bytes.extracting(from..<to), block: number, lead: leadBytes)
          }
      }
    }
  }

  private func take(
    _ loaded: Loaded, _ part: DiskPart, _ number: Int, _ range: Range<Int>, _ position: Int, _ limit: Int
  ) throws(BodyFailure) -> Slice? {
    switch loaded {
    case .blocked: throw .aborted
    case .failed(let error):
      core.readFailed(error, core.lastStep.load(ordering: .relaxed))
      if error.isHard { core.index.remove(entry) }
      throw .aborted
    case .damaged(let reason):
      core.damaged(entry, at: part.piece.position, reason)
      throw .aborted
    case .bytes(let lead, let leadBytes, let bytes):
      let skipped = position - part.start - range.lowerBound
      let count = min(bytes.count - skipped, end - position, limit)
      place.withLock { place in
        place.position += count
        place.lead = (number, lead, leadBytes)
        place.spare = bytes.block
      }
      return Slice(bytes.block, skipped..<skipped + count)
    }
  }
}
