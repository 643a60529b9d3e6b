// What the disk store hands out: a stored response, whose head is in memory, verified, and with it a short body; of a long one
// the places, with the segments held open.

public import RegentLoop

/// A stored response.
// A class: it goes from hand to hand, and an answer that has none is no larger for it.
public final class DiskRecord: Sendable {
  let lead: DiskLead
  /// The record's bytes from the first on: all of them if the body is among them, else at least the lead.
  let bytes: Slice
  let entry: DiskEntry
  /// Where the body is that is read as it is sent; none where it is in memory.
  let parts: DiskParts
  let core: DiskCore
  /// The first bytes of such a body, for its first reader, where they are known.
  private let opening: Lock<DiskBytes?>

  init(
    _ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry, _ parts: DiskParts, opening: DiskBytes? = nil,
    _ core: DiskCore
  ) {
    (self.lead, self.bytes, self.entry, self.parts, self.core) = (lead, bytes, entry, parts, core)
    self.opening = Lock(opening)
  }

  public var key: Slice { lead.key(bytes) }
  public var head: Slice { lead.head(bytes) }
  /// When it was written, in seconds since 1970.
  public var wall: Int64 { lead.wall }
  /// The hits since it was written, before this one; at most 255.
  public var hits: Int { entry.hits }
  public var variant: UInt32 { lead.variant }
  /// The body's length in bytes.
  public var bodyCount: Int { lead.bodyCount }
  /// The whole body, verified; nil where a reader has to read it.
  public var body: Slice? { if case .none = parts { lead.body(bytes) } else { nil } }

  /// Where the body is.
  var pieces: [DiskPiece] { bytes.withBytes { lead.allPieces($0) } }

  /// The lead of the body's only piece, where that is in the response's own record.
  var readLead: DiskReadLead? { lead.pieceCount == 0 ? DiskReadLead(lead: lead, bytes: bytes) : nil }

  // MARK: A body that is read as it is sent

  /// All of the body, where it lies ready to be sent; whoever sends of it says so to ``sent(_:)``.
  public var wholeFile: FilePart? {
    opening.withLock { opening in
      guard case .file(let part)? = opening, part.count == bodyCount else { return nil }
      return part
    }
  }

  /// Counts what was sent of ``wholeFile``.
  public func sent(_ count: Int) { core.figures.withLock { $0.fileBytes += count } }

  /// A reader of the body; of what is behind its first bytes, where those were sent.
  public func makeReader(from start: Int = 0) -> DiskBodyReader {
    DiskBodyReader(
      .record(self), start..<bodyCount, opening: opening.withLock { $0.take() }?.dropping(start))
  }

  /// A reader of a part of the body.
  public func makeReader(_ range: Range<Int>) -> DiskBodyReader {
    precondition(range.lowerBound >= 0 && range.upperBound <= bodyCount, "a reader stays within its body")
    return DiskBodyReader(.record(self), range)
  }

  /// Has the body's first bytes ready for its first reader; false where the disk would have to be waited for, or has
  /// something else there: ``open()`` finds out.
  public func openAtOnce() -> Bool {
    guard let first = parts.first, bodyCount > 0, opening.withLock({ $0 == nil }) else { return true }
    let range = 0..<min(DiskFormat.inlineLimit, first.piece.count)
    guard let part = first.file(range, core, known: readLead) else { return false }
    opening.withLock { $0 = .file(part) }
    return true
  }

  /// The same, waiting for the disk; false where the bytes could not be found good: then nothing was promised yet to
  /// whoever asks for them.
  public func open() async -> Bool {
    if openAtOnce() { return true }
    do throws(BodyFailure) {
      let bytes = try await makeReader().nextOrFile()
      opening.withLock { $0 = bytes }
      return true
    } catch {
      return false
    }
  }
}
