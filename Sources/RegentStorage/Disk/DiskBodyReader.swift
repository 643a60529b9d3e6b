// Reads a large body, some blocks at a time, and verifies each before it hands out any of it. It follows a body that
// is still being written as far as that is on the disk.

public import RegentLoop
import Synchronization

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

  init(_ source: Source, _ range: Range<Int>, entry: DiskEntry, core: DiskCore) {
    (self.source, end, self.entry, self.core) = (source, range.upperBound, entry, core)
    place = Lock(Place(position: range.lowerBound))
  }

  /// The next bytes; nil at the end. Damage and trouble end it with `.aborted`, after all that was good was read.
  public func next(upTo limit: Int = .max) async throws(BodyFailure) -> Slice? {
    let position = place.withLock { $0.position }
    guard position < end, let (number, part) = try await part(at: position) else { return nil }
    let range = window(position, part, limit)
    let known = place.withLock { $0.lead.flatMap { $0.number == number ? ($0.lead, $0.bytes) : nil } }
    var loaded = load(part, range, known, waits: core.pool == nil)
    if case .blocked = loaded {
      core.figures.withLock { $0.slowReads += 1 }
      if let pool = core.pool {
        loaded =
          await core.patience.run(on: pool, limit: core.options.bodyLimit) {
            self.load(part, range, known, waits: true)
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

  private func load(
    _ part: DiskPart, _ range: Range<Int>, _ known: (DiskLead, Slice)?, waits: Bool
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
      let block = Block(capacity: range.count)
      let start = part.piece.position.offset + lead.count + range.lowerBound
      guard let got = try part.segment.file.read(range.count, at: start, into: block, waits: waits) else {
        return .blocked
      }
      guard got == range.count else { return .damaged("cut short") }
      return verify(block, range, lead, bytes) ? .bytes(lead, lead: bytes, Slice(block)) : .damaged("body")
    } catch {
      return .failed(error)
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
      }
      return Slice(bytes.block, skipped..<skipped + count)
    }
  }
}
