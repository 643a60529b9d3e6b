// Reads a large body, some blocks at a time, and verifies each before it hands out any of it; where they lie, if they may
// be sent from there.

public import RegentLoop
import Synchronization

/// Bytes of a body, verified.
public enum DiskBytes: Sendable {
  case slice(Slice)
  /// Where they lie, in the page cache: to be sent at once, or to be verified again.
  case file(FilePart)

  /// What is behind the first `count` of them; there are as many.
  func dropping(_ count: Int) -> DiskBytes {
    switch self {
    case .slice(let slice): .slice(slice.dropping(count))
    case .file(let part): .file(part.dropping(count))
    }
  }
}

/// A reader of a stored body. One task reads at a time.
public final class DiskBodyReader: Sendable {
  enum Source: Sendable {
    case record(DiskRecord)
    /// One part of a body that is still being written.
    case part(DiskPart, DiskCore)
  }
  private struct Place: Sendable {
    var position: Int
    var index = 0
    /// The lead of the part that was read last, and the number of that.
    var lead: (number: Int, lead: DiskReadLead)?
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
  // Contended only if two tasks read at once, which they must not.
  private let place: Lock<Place>
  /// How many bytes are read at once, at most; rounded to whole blocks.
  static let window = 256 << 10

  init(_ source: Source, _ range: Range<Int>, opening: DiskBytes? = nil) {
    (self.source, end) = (source, range.upperBound)
    place = Lock(Place(position: range.lowerBound, opening: opening))
  }

  private var core: DiskCore {
    switch source {
    case .record(let record): record.core
    case .part(_, let core): core
    }
  }

  /// What is removed from the index when its body turns out not to be what was written.
  private var entry: DiskEntry {
    switch source {
    case .record(let record): record.entry
    case .part: .empty
    }
  }

  /// The next bytes; nil at the end. Damage and trouble end it with `.aborted`, after all that was good was read.
  public func next(upTo limit: Int = .max) async throws(BodyFailure) -> Slice? {
    if let opening = openingSlice(limit) { return opening }
    let position = place.withLock { $0.position }
    guard position < end, let (number, part) = part(at: position) else { return nil }
    return try await read(position, number, part, limit)
  }

  /// The next bytes, where they lie if they may be sent from there: they are in the page cache, and were verified there, by
  /// this reader or another, moments ago or, with `verify` once, since the start.
  public func nextOrFile() async throws(BodyFailure) -> DiskBytes? {
    if let opening = openingFile() { return .file(opening) }
    if let opening = openingSlice(.max) { return .slice(opening) }
    let position = place.withLock { $0.position }
    guard position < end, let (number, part) = part(at: position) else { return nil }
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

  // MARK: Where they lie

  private func file(_ position: Int, _ number: Int, _ part: DiskPart) -> FilePart? {
    let from = position - part.start
    // Whole blocks are looked at, so it ends where one does.
    let window = from / DiskFormat.block * DiskFormat.block + place.withLock { $0.fileWindow }
    let to = min(part.piece.count, end - part.start, window)
    return part.file(from..<to, core, known: known(number))
  }

  /// The lead of a part, if it was read already.
  private func known(_ number: Int) -> DiskReadLead? {
    if case .record(let record) = source, number == 0, let lead = record.readLead { return lead }
    return place.withLock { $0.lead.flatMap { $0.number == number ? $0.lead : nil } }
  }

  /// How much is read to have a part's lead.
  static let leadRead = 4096

  // MARK: Through memory

  private func read(
    _ position: Int, _ number: Int, _ part: DiskPart, _ limit: Int
  ) async throws(BodyFailure) -> Slice? {
    let range = window(position, part, limit)
    let known = known(number)
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

  /// The part of the body that has the byte.
  private func part(at position: Int) -> (Int, DiskPart)? {
    switch source {
    case .part(let part, _): return position < part.end ? (0, part) : nil
    case .record(let record):
      let found = record.parts.part(at: position, from: place.withLock { $0.index })
      if let found { place.withLock { $0.index = found.0 } }
      return found
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
    _ part: DiskPart, _ range: Range<Int>, _ known: DiskReadLead?, _ block: Block, waits: Bool
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
      if core.options.verify == .once { noteGood(range, part, lead, bytes) }
      return .bytes(lead, lead: bytes, Slice(block))
    } catch {
      return .failed(error)
    }
  }

  /// Once is enough. The range begins with a block, and ends with one or with the body.
  private func noteGood(_ range: Range<Int>, _ part: DiskPart, _ lead: DiskLead, _ bytes: Slice) {
    let known = DiskReadLead(lead: lead, bytes: bytes)
    let position = part.piece.position
    let blocks =
      range.lowerBound / DiskFormat.block..<(range.upperBound + DiskFormat.block - 1) / DiskFormat.block
    let now = core.options.clock()
    part.segment.looks.withLock {
      $0.note(position, start: position.offset + lead.count, lead: known, blocks: blocks, now: now, .once)
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
        place.lead = (number, DiskReadLead(lead: lead, bytes: leadBytes))
        place.spare = bytes.block
      }
      return Slice(bytes.block, skipped..<skipped + count)
    }
  }
}
