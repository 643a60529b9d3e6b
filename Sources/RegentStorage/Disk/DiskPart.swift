// A piece of a body in its segment: where it lies in the page cache, if it may be sent from there.

import RegentLoop

/// A lead that was read.
// A class: those who look at one body at the same time share it, and none of them copies it.
final class DiskReadLead: Sendable {
  let lead: DiskLead
  /// The record's bytes from the first on, at least the lead's.
  let bytes: Slice

  init(lead: DiskLead, bytes: Slice) { (self.lead, self.bytes) = (lead, bytes) }
}

/// A piece of a body, its segment, and where in the body it begins.
struct DiskPart: Sendable {
  let segment: DiskSegment
  let piece: DiskPiece
  let start: Int
  var end: Int { start + piece.count }

  /// Bytes of the piece, up to the end of a block or of what is wanted, where they lie: they are in the page cache, and were
  /// found good there. Nil where they have to be read to know more.
  ///
  /// - Parameter known: The piece's lead, if it was read already.
  func file(_ wanted: Range<Int>, _ core: DiskCore, known lead: DiskReadLead?) -> FilePart? {
    guard let file = segment.sendable, !wanted.isEmpty else { return nil }
    let blocks =
      wanted.lowerBound / DiskFormat.block..<(wanted.upperBound + DiskFormat.block - 1) / DiskFormat.block
    let now = core.options.clock()
    let verify = core.options.verify
    let known = segment.looks.withLock { $0.known(piece.position, blocks: blocks, now: now, verify) }
    if case .seen(let start, let looked)? = known {
      return FilePart(
        file: file, range: start + wanted.lowerBound..<start + wanted.upperBound, looked: looked)
    }
    guard let mapping = segment.mapping(core.options.segmentSize) else { return nil }
    let start: Int
    if case .good(let known)? = known {
      guard mapping.isResident(known + wanted.lowerBound..<known + wanted.upperBound) else { return nil }
      start = known
    } else {
      guard let lead = lead ?? readLead() else { return nil }
      start = piece.position.offset + lead.lead.count
      guard isGood(blocks, lead, in: mapping) else { return nil }
      core.figures.withLock { $0.verifiedBytes += lead.lead.range(of: blocks).count }
    }
    segment.looks.withLock {
      $0.note(piece.position, start: start, lead: lead, blocks: blocks, now: now, verify)
    }
    return FilePart(file: file, range: start + wanted.lowerBound..<start + wanted.upperBound, looked: now)
  }

  /// The piece's lead, if it need not be waited for and is the right one.
  private func readLead() -> DiskReadLead? {
    // Trouble is met again, and told of, by whoever then reads.
    guard
      case .lead(let lead, let bytes)? = try? segment.lead(
        at: piece.position, count: DiskBodyReader.leadRead, waits: false),
      lead.crc == piece.crc, lead.inlineCount == piece.count
    else { return nil }
    return DiskReadLead(lead: lead, bytes: bytes)
  }

  /// Whether these blocks of the piece are in the page cache, and what was written.
  private func isGood(_ blocks: Range<Int>, _ known: DiskReadLead, in mapping: FileMapping) -> Bool {
    let lead = known.lead
    let start = piece.position.offset + lead.count
    let looked = lead.range(of: blocks)
    guard mapping.isResident(start + looked.lowerBound..<start + looked.upperBound) else { return false }
    return known.bytes.withBytes { bytes in
      blocks.allSatisfy { number in
        let its = lead.block(number)
        return mapping.checksum(of: start + its.lowerBound..<start + its.upperBound)
          == lead.checksum(ofBlock: number, bytes)
      }
    }
  }
}

extension DiskLead {
  /// Where some blocks are within the body.
  fileprivate func range(of blocks: Range<Int>) -> Range<Int> {
    block(blocks.lowerBound).lowerBound..<block(blocks.upperBound - 1).upperBound
  }
}

/// The parts of a body: most often it is one.
enum DiskParts: Sendable {
  /// The body is in memory.
  case none
  case one(DiskPart)
  case several([DiskPart])

  var first: DiskPart? {
    switch self {
    case .none: nil
    case .one(let part): part
    case .several(let parts): parts.first
    }
  }

  /// The part that has a byte, and its number; those before `index` need not be looked at.
  func part(at position: Int, from index: Int) -> (Int, DiskPart)? {
    switch self {
    case .none: return nil
    case .one(let part): return position < part.end ? (0, part) : nil
    case .several(let parts):
      guard let index = parts[index...].firstIndex(where: { position < $0.end }) else { return nil }
      return (index, parts[index])
    }
  }
}
