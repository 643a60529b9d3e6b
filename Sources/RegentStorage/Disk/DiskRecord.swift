// What the disk store hands out: heads and small bodies in memory, verified; of large bodies the places, with the
// segments held open.

public import RegentLoop

/// A stored response.
public struct DiskRecord: Sendable {
  public let key: Slice
  public let head: Slice
  public let body: DiskBody
  /// When it was written, in seconds since 1970.
  public let wall: Int64
  /// The hits since it was written, before this one; at most 255.
  public let hits: Int
  public let variant: UInt32
  let entry: DiskEntry
  /// The checksum of its lead.
  private let crc: UInt32

  init(_ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry, _ body: DiskBody) {
    (key, head, self.body) = (lead.key(bytes), lead.head(bytes), body)
    (wall, hits, variant, crc) = (lead.wall, entry.hits, lead.variant, lead.crc)
    self.entry = entry
  }

  /// Where the body is.
  var pieces: [DiskPiece] {
    switch body {
    case .packed(let slice): [DiskPiece(position: entry.position, count: slice.count, crc: crc)]
    case .stored(let body): body.parts.map(\.piece)
    }
  }
}

/// The body of a stored response.
public enum DiskBody: Sendable {
  /// The whole body, verified.
  case packed(Slice)
  /// A body that is read, and verified, as it is sent.
  case stored(DiskStoredBody)

  /// The body's length in bytes.
  public var count: Int {
    switch self {
    case .packed(let slice): slice.count
    case .stored(let body): body.count
    }
  }
}

/// A body that lies in one or more records.
// A class: a response holds it by reference, and one without it is no larger for it.
public final class DiskStoredBody: Sendable {
  /// The length in bytes.
  public let count: Int
  let parts: [DiskPart]
  let entry: DiskEntry
  let core: DiskCore
  /// The lead of a part, where it was read already, and the body's first bytes.
  private let lead: DiskBodyReader.Lead?
  private let opening: DiskBytes?

  init(
    count: Int, parts: [DiskPart], lead: DiskBodyReader.Lead? = nil, opening: DiskBytes? = nil,
    entry: DiskEntry, core: DiskCore
  ) {
    (self.count, self.parts, self.entry, self.core) = (count, parts, entry, core)
    (self.lead, self.opening) = (lead, opening)
  }

  /// A reader of a part of the body; of all of it, unless told otherwise.
  public func makeReader(_ range: Range<Int>? = nil) -> DiskBodyReader {
    let isWhole = range == nil
    let range = range ?? 0..<count
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "a reader stays within its body")
    return DiskBodyReader(
      .parts(parts), range, lead: lead, opening: isWhole ? opening : nil, entry: entry, core: core)
  }

  /// The same body, whose first bytes were found good; nil where they could not be: then nothing was promised yet to
  /// whoever asks for it.
  public func opened() async -> DiskStoredBody? {
    let reader = makeReader()
    do throws(BodyFailure) {
      let opening = try await reader.nextOrFile()
      return DiskStoredBody(
        count: count, parts: parts, lead: reader.lead, opening: opening, entry: entry, core: core)
    } catch {
      return nil
    }
  }
}

/// A piece of a body, its segment, and where in the body it begins.
struct DiskPart: Sendable {
  let segment: DiskSegment
  let piece: DiskPiece
  let start: Int
  var end: Int { start + piece.count }
}
