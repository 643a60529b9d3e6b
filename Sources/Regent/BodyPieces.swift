// A body put together from others: ranges of stored bytes, of a body that still arrives, and what stands between the
// parts of an answer with several ranges. Its length is always known; nothing is copied until it is sent.

import RegentCaching
public import RegentLoop
public import RegentStorage

/// The pieces of a body, in order.
public struct BodyPieces: Sendable {
  public enum Piece: Sendable {
    case slice(Slice)
    /// Some offsets of another body, which may still arrive.
    case stream(BodyStream, Range<Int>)
    /// Some offsets of a body on the disk.
    case file(DiskRecord, Range<Int>)

    var count: Int {
      switch self {
      case .slice(let slice): slice.count
      case .stream(_, let range), .file(_, let range): range.count
      }
    }
  }

  public private(set) var pieces: [Piece] = []
  /// The length in bytes.
  public private(set) var count = 0

  public init() {}

  /// A body as one piece, or as the pieces it has already; nil where its length is not known.
  public init?(_ body: ResponseBody) {
    switch body {
    case .empty: break
    case .whole(let slice): append(.slice(slice))
    case .stream(let stream):
      guard let count = body.count else { return nil }
      append(.stream(stream, 0..<count))
    case .file(let record): append(.file(record, 0..<record.bodyCount))
    case .composed(let pieces): self = pieces
    }
  }

  public mutating func append(_ piece: Piece) {
    guard piece.count > 0 else { return }
    pieces.append(piece)
    count += piece.count
  }

  /// Appends some offsets of other pieces.
  public mutating func append(_ range: Range<Int>, of other: BodyPieces) {
    var start = 0
    for piece in other.pieces {
      let wanted = range.clamped(to: start..<start + piece.count)
      if !wanted.isEmpty {
        append(piece.part(wanted.lowerBound - start..<wanted.upperBound - start))
      }
      start += piece.count
    }
  }

  /// The body that they are.
  public var body: ResponseBody {
    if pieces.isEmpty { return .empty }
    if pieces.count == 1, case .slice(let slice) = pieces[0] { return .whole(slice) }
    return .composed(self)
  }

  /// The bodies that some of the pieces come from.
  var streams: [BodyStream] {
    pieces.compactMap { if case .stream(let stream, _) = $0 { stream } else { nil } }
  }

  /// The bytes, where all of them are in memory.
  var presentSlices: [Slice]? {
    let isOnDisk = pieces.contains { if case .file = $0 { true } else { false } }
    return isOnDisk || isArriving ? nil : slices
  }

  /// Whether some of it may still arrive: then it must be read in the order in which it does.
  var isArriving: Bool { streams.contains { !$0.isWhole } }
}

extension BodyPieces {
  /// Combined parts: the stretches of stored ones, and of a newer one that begins at this offset of the whole.
  init(_ stretches: [Parts.Stretch], of old: BodyPieces, _ parts: Parts, and new: BodyPieces, from first: Int)
  {
    for stretch in stretches {
      let range = stretch.range
      if stretch.isNew {
        append(range.lowerBound - first..<range.upperBound - first, of: new)
      } else if let offset = parts.offset(of: range) {
        append(offset..<offset + range.count, of: old)
      }
    }
  }
}

extension BodyPieces.Piece {
  fileprivate func part(_ range: Range<Int>) -> BodyPieces.Piece {
    switch self {
    case .slice(let slice):
      let start = slice.range.lowerBound
      return .slice(Slice(slice.block, start + range.lowerBound..<start + range.upperBound))
    case .stream(let stream, let own):
      return .stream(stream, own.lowerBound + range.lowerBound..<own.lowerBound + range.upperBound)
    case .file(let record, let own):
      return .file(record, own.lowerBound + range.lowerBound..<own.lowerBound + range.upperBound)
    }
  }
}

/// Pieces that are being sent: each body that some of them come from has its reader, so that nothing is dropped before.
struct OpenPieces {
  enum Piece {
    case slice(Slice)
    case reader(BodyReader, Range<Int>)
    case file(DiskBodyReader)
  }

  private(set) var pieces: [Piece] = []
  /// The length in bytes.
  let count: Int

  /// Nil where the first bytes of a body were dropped already.
  init?(_ closed: BodyPieces) {
    count = closed.count
    var last: (stream: BodyStream, reader: BodyReader, end: Int)?
    for piece in closed.pieces {
      switch piece {
      case .slice(let slice): pieces.append(.slice(slice))
      case .file(let record, let range): pieces.append(.file(record.makeReader(range)))
      case .stream(let stream, let range):
        // One reader for what it can reach by going on: a second one of a body that arrives would hold it back.
        let reader = last.flatMap { $0.stream === stream && $0.end <= range.lowerBound ? $0.reader : nil }
        guard let reader = reader ?? stream.makeReader() else { return nil }
        last = (stream, reader, range.upperBound)
        pieces.append(.reader(reader, range))
      }
    }
  }
}
