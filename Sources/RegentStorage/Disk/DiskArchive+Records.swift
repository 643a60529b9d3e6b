// What an archive has of each response: its lead at once, its body block by block, each verified before it is handed out.

public import RegentLoop

/// A stored response, read.
public struct ArchivedRecord: Sendable {
  public let key: Slice
  public let head: Slice
  /// The body's length in bytes.
  public let bodyCount: Int
  /// When the record was written, in seconds since 1970.
  public let wall: Int64
  /// The hits since it was written, at most 255; nil where nobody has written them down yet.
  public let hits: Int?
  /// The number of its segment, and where in that it begins.
  public let segment: UInt32
  public let offset: Int
  /// What tells it from other responses of its key.
  public var variant: UInt32 { lead.variant }
  /// The bytes that the record itself takes.
  public let recordCount: Int
  /// In how many other records its body lies; 0 where it lies in this one.
  public var pieceCount: Int { lead.pieceCount }
  /// Whether all segments are there that its body lies in. One whose body went with its segment is found by nobody.
  public let isWhole: Bool
  let lead: DiskLead
  let bytes: Slice
}

/// What came of reading a response.
public enum ArchivedLook: Sendable {
  case record(ArchivedRecord)
  case damaged(DiskFinding)
}

extension DiskArchive {
  /// One of the responses, by its number from 0 in the order in which they were written.
  public func look(_ number: Int) -> ArchivedLook {
    let entry = entries[number]
    let position = entry.position
    guard let segment = segments[position.segment] else {
      return .damaged(DiskFinding(position, "there is no such segment"))
    }
    do throws(SystemError) {
      switch try segment.lead(at: position, count: min(entry.lengthBound, 4096), waits: true) {
      case .blocked: return .damaged(DiskFinding(position, "it cannot be read"))
      case .damaged(let reason): return .damaged(DiskFinding(position, reason))
      case .lead(let lead, let bytes):
        guard isMeant(lead, bytes, by: entry) else {
          return .damaged(DiskFinding(position, "it is another record than the index says"))
        }
        return .record(record(lead, bytes, entry))
      }
    } catch {
      return .damaged(
        DiskFinding(.unreadable, segment: position.segment, offset: position.offset, error.description))
    }
  }

  /// Whether a lead is that of the response that an entry of the index names.
  func isMeant(_ lead: DiskLead, _ bytes: Slice, by entry: DiskEntry) -> Bool {
    lead.kind == .response && lead.variant == entry.variant
      && bytes.withBytes { identity.secret.hash($0.extracting(lead.keyRange)) } == entry.hash
  }

  private func record(_ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry) -> ArchivedRecord {
    let pieces = bytes.withBytes { lead.pieces($0) }
    return ArchivedRecord(
      key: lead.key(bytes), head: lead.head(bytes), bodyCount: lead.bodyCount, wall: lead.wall,
      hits: entry.position < countedEnd ? entry.hits : nil, segment: entry.position.segment,
      offset: entry.position.offset, recordCount: lead.recordCount,
      isWhole: pieces.allSatisfy { segments[$0.position.segment] != nil }, lead: lead, bytes: bytes)
  }

  /// The body of a response, from its first byte.
  public func body(of record: ArchivedRecord) -> ArchivedBody {
    let lead = record.lead
    let pieces =
      lead.pieceCount > 0
      ? record.bytes.withBytes { lead.pieces($0) }
      : [DiskPiece(position: lead.position, count: lead.inlineCount, crc: lead.crc)]
    return ArchivedBody(segments: segments, pieces: pieces[...], wanted: lead.bodyCount)
  }
}

/// A body that is read a block at a time.
public struct ArchivedBody: Sendable {
  /// Why it ends before its last byte.
  public enum Failure: Error, Sendable, Equatable {
    case damaged(DiskFinding)
    /// A segment that it lies in is gone.
    case gone
  }
  private struct Piece: Sendable {
    let segment: DiskSegment
    let lead: DiskLead
    let bytes: Slice
    var block = 0
  }
  private let segments: DiskSegments
  private var pieces: ArraySlice<DiskPiece>
  private var piece: Piece?
  /// The bytes that are still to come.
  private var wanted: Int

  init(segments: DiskSegments, pieces: ArraySlice<DiskPiece>, wanted: Int) {
    (self.segments, self.pieces, self.wanted) = (segments, pieces, wanted)
  }

  /// The next block, of at most 64 KiB, verified; nil behind the last one.
  public mutating func next() throws(Failure) -> Slice? {
    while true {
      if var current = piece, current.block < current.lead.blockCount {
        let block = try Self.read(current)
        current.block += 1
        piece = current
        wanted -= block.count
        return block
      }
      guard let next = pieces.popFirst() else {
        // The lead's own checksum covers all these lengths: they contradict each other by no accident.
        guard wanted == 0 else { throw damaged(piece?.lead.position, "its pieces are not as long as it is") }
        return nil
      }
      piece = try open(next)
    }
  }

  private func damaged(_ position: DiskPosition?, _ reason: String) -> Failure {
    .damaged(DiskFinding(position ?? DiskPosition(rawValue: 0), reason))
  }

  private func open(_ next: DiskPiece) throws(Failure) -> Piece {
    guard let segment = segments[next.position.segment] else { throw .gone }
    switch segment.piece(next) {
    case .found(let lead, let bytes): return Piece(segment: segment, lead: lead, bytes: bytes)
    case .damaged(let finding): throw .damaged(finding)
    }
  }

  private static func read(_ piece: Piece) throws(Failure) -> Slice {
    let lead = piece.lead
    let range = lead.block(piece.block)
    let offset = lead.position.offset + lead.count + range.lowerBound
    let slice: Slice
    do throws(SystemError) { slice = try piece.segment.file.bytes(range.count, at: offset) } catch {
      throw .damaged(
        DiskFinding(.unreadable, segment: piece.segment.number, offset: offset, error.description))
    }
    let isGood =
      slice.count == range.count
      && slice.withBytes { block in
        piece.bytes.withBytes { lead.holds(block, block: piece.block, lead: $0) }
      }
    guard isGood else {
      throw .damaged(
        DiskFinding(segment: piece.segment.number, offset: offset, "a block is not what was written"))
    }
    return slice
  }
}

/// What came of looking for a piece of a body.
enum ArchivedPiece: Sendable {
  case found(DiskLead, Slice)
  case damaged(DiskFinding)
}

extension DiskSegment {
  /// The record that a piece names, if it is the one that was meant.
  func piece(_ piece: DiskPiece) -> ArchivedPiece {
    do throws(SystemError) {
      switch try lead(at: piece.position, count: 4096, waits: true) {
      case .blocked: return .damaged(DiskFinding(piece.position, "it cannot be read"))
      case .damaged(let reason): return .damaged(DiskFinding(piece.position, reason))
      case .lead(let lead, let bytes):
        guard lead.crc == piece.crc, lead.inlineCount == piece.count else {
          return .damaged(DiskFinding(piece.position, "it is another piece than the one that was meant"))
        }
        return .found(lead, bytes)
      }
    } catch {
      return .damaged(
        DiskFinding(.unreadable, segment: number, offset: piece.position.offset, error.description))
    }
  }
}
