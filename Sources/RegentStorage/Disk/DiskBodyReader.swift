// Reads a large body, some blocks at a time, and verifies each before it hands out any of it; where they lie, if they may
// be sent from there. It follows a body that is still being written as far as that is on the disk.

public import RegentLoop
import Synchronization

/// Bytes of a body, verified.
public enum DiskBytes: Sendable {
  case slice(Slice)
  /// Where they lie, in the page cache: to be sent at once, or to be verified again.
  case file(FilePart)
}

/// A reader of a stored body. One task reads at a time.
public final class DiskBodyReader: Sendable {
  enum Source: Sendable {
    case parts([DiskPart])
    case fill(DiskFill)
  }
  /// The lead of one of the body's parts.
  struct Lead: Sendable {
    let number: Int
    let lead: DiskLead
    let bytes: Slice
  }
  private struct Place: Sendable {
    var position: Int
    var index = 0
    /// The lead of the part that was read last.
    var lead: Lead?
    /// The block that was read into last, for the next read if nobody else has it any more.
    var spare: Block?
    /// The first bytes, where they were read before.
    var opening: DiskBytes?
    /// How many bytes are handed out where they lie, at most.
    var fileWindow = DiskFormat.inlineLimit
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
    _ source: Source, _ range: Range<Int>, lead: Lead? = nil, opening: DiskBytes? = nil, entry: DiskEntry,
    core: DiskCore
  ) {
    (self.source, end, self.entry, self.core) = (source, range.upperBound, entry, core)
    place = Lock(Place(position: range.lowerBound, lead: lead, opening: opening))
  }

  /// The next bytes; nil at the end. Damage and trouble end it with `.aborted`, after all that was good was read.
  public func next(upTo limit: Int = .max) async throws(BodyFailure) -> Slice? {
    if let opening = openingSlice(limit) { return opening }
    let position = place.withLock { $0.position }
    guard position < end, let (number, part) = try await part(at: position) else { return nil }
    return try await read(position, number, part, limit)
  }

  /// The next bytes, where they lie if they may be sent from there: they are in the page cache, and were verified there,
  /// now or, with `verify` once, since the start.
  public func nextOrFile() async throws(BodyFailure) -> DiskBytes? {
    if let opening = openingFile() { return .file(opening) }
    if let opening = openingSlice(.max) { return .slice(opening) }
    let position = place.withLock { $0.position }
    guard position < end, let (number, part) = try await part(at: position) else { return nil }
    if let file = file(position, number, part) {
      place.withLock { place in
        place.position += file.count
        place.fileWindow = min(2 * place.fileWindow, DiskFormat.inlineLimit)
      }
      return .file(file)
    }
    return try await read(position, number, part, .max).map(DiskBytes.slice)
  }

  /// The first bytes, once, if they are in memory.
  private func openingSlice(_ limit: Int) -> Slice? {
    place.withLock { place in
      guard case .slice(let slice)? = place.opening else {
        // Where they lie is of no use to whoever must have them in memory: nothing of it is counted.
        place.opening = nil
        return nil
      }
      let count = min(slice.count, limit)
      place.opening = count < slice.count ? .slice(slice.dropping(count)) : nil
      place.position += count
      return slice.first(count)
    }
  }

  /// The first bytes, once, if they were verified where they lie.
  private func openingFile() -> FilePart? {
    place.withLock { place in
      guard case .file(let part)? = place.opening else { return nil }
      place.opening = nil
      place.position += part.count
      return part
    }
  }

  /// Counts what was sent of the last bytes that were handed out where they lie, and takes back the rest, as the peer took
  /// its time: that is verified again, and less at once.
  public func sent(_ count: Int, of part: FilePart) {
    core.figures.withLock { $0.fileBytes += count }
    guard count < part.count else { return }
    place.withLock { place in
      place.position -= part.count - count
      place.fileWindow = DiskFormat.block
    }
  }

  /// The lead of the part that was read last.
  var lead: Lead? { place.withLock { $0.lead } }

  // MARK: Where they lie

  /// The bytes from a position on in their file; nil where they have to be read to know more.
  private func file(_ position: Int, _ number: Int, _ part: DiskPart) -> FilePart? {
    guard let (file, mapping) = part.segment.mapping(core.options.segmentSize) else { return nil }
    let from = position - part.start
    // Whole blocks are looked at, so it ends where one does.
    let window = from / DiskFormat.block * DiskFormat.block + place.withLock { $0.fileWindow }
    let to = min(part.piece.count, end - part.start, window)
    let blocks = from / DiskFormat.block..<(to + DiskFormat.block - 1) / DiskFormat.block
    if let start = part.segment.verified.withLock({ $0.start(part.piece.position, blocks: blocks) }) {
      let range = start + from..<start + to
      return mapping.isResident(range) ? FilePart(file: file, range: range) : nil
    }
    return verifiedStart(number, part, blocks, mapping).map {
      FilePart(file: file, range: $0 + from..<$0 + to)
    }
  }

  /// Where in its file the body begins, if these blocks of it are in the page cache, and what was written.
  private func verifiedStart(_ number: Int, _ part: DiskPart, _ blocks: Range<Int>, _ mapping: FileMapping)
    -> Int?
  {
    guard let known = lead(number, part) else { return nil }
    let lead = known.lead
    let start = part.piece.position.offset + lead.count
    let looked = lead.block(blocks.lowerBound).lowerBound..<lead.block(blocks.upperBound - 1).upperBound
    guard mapping.isResident(start + looked.lowerBound..<start + looked.upperBound) else { return nil }
    let isGood = known.bytes.withBytes { bytes in
      blocks.allSatisfy { number in
        let its = lead.block(number)
        return mapping.checksum(of: start + its.lowerBound..<start + its.upperBound)
          == lead.checksum(ofBlock: number, bytes)
      }
    }
    guard isGood else { return nil }
    if core.options.verify == .once { noteVerified(looked, part, lead) }
    return start
  }

  /// The lead of a part, if it need not be waited for and is the right one.
  private func lead(_ number: Int, _ part: DiskPart) -> Lead? {
    if let known = lead, known.number == number { return known }
    // Trouble is met again, and told of, by whoever then reads.
    guard
      case .lead(let lead, let bytes)? = try? part.segment.lead(
        at: part.piece.position, count: Self.leadRead, waits: false),
      lead.crc == part.piece.crc, lead.inlineCount == part.piece.count
    else { return nil }
    let known = Lead(number: number, lead: lead, bytes: bytes)
    place.withLock { $0.lead = known }
    return known
  }

  /// How much is read to have a part's lead.
  private static let leadRead = 4096

  // MARK: Through memory

  private func read(
    _ position: Int, _ number: Int, _ part: DiskPart, _ limit: Int
  ) async throws(BodyFailure) -> Slice? {
    let range = window(position, part, limit)
    let known = place.withLock { $0.lead.flatMap { $0.number == number ? $0 : nil } }
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
    _ part: DiskPart, _ range: Range<Int>, _ known: Lead?, _ block: Block, waits: Bool
  ) -> Loaded {
    do throws(SystemError) {
      var (lead, bytes) = (known?.lead, known?.bytes)
      if known == nil {
        switch try part.segment.lead(at: part.piece.position, count: Self.leadRead, waits: waits) {
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
        place.lead = Lead(number: number, lead: lead, bytes: leadBytes)
        place.spare = bytes.block
      }
      return Slice(bytes.block, skipped..<skipped + count)
    }
  }
}
