// What precedes a record's body: header, key, head, list of pieces, checksums of the body's blocks; and what follows it.
// The lead's checksum covers all of the lead, and so, by way of the blocks' checksums, the body.

import RegentLoop

/// A record's lead, as far as it says where things are.
struct DiskLead: Sendable, Equatable {
  enum Kind: UInt8 {
    case response = 1
    case extent = 2
  }

  var kind: Kind
  var position: DiskPosition
  /// When the record was written, in seconds since 1970.
  var wall: Int64
  var bodyCount: Int
  var keyCount: Int
  var headCount: Int
  var pieceCount: Int
  var recordCount: Int
  var variant: UInt32
  var crc: UInt32 = 0

  static let headerCount = 64
  static let trailerCount = 16

  /// The bytes of body that lie in the record itself.
  var inlineCount: Int { pieceCount > 0 ? 0 : bodyCount }
  var blockCount: Int { (inlineCount + DiskFormat.block - 1) / DiskFormat.block }
  var keyRange: Range<Int> { Self.headerCount..<Self.headerCount + keyCount }
  var headRange: Range<Int> { keyRange.upperBound..<keyRange.upperBound + headCount }
  var piecesStart: Int { headRange.upperBound }
  var blocksStart: Int { piecesStart + pieceCount * DiskPiece.encodedCount }
  /// The lead's length; the body follows at once.
  var count: Int { blocksStart + 4 * blockCount }
  var bodyRange: Range<Int> { count..<count + inlineCount }
  var trailerStart: Int { recordCount - Self.trailerCount }

  /// The length of a record with this lead.
  var computedRecordCount: Int { (count + inlineCount + 7) & ~7 + Self.trailerCount }

  /// The range of a block within the body.
  func block(_ number: Int) -> Range<Int> {
    number * DiskFormat.block..<min((number + 1) * DiskFormat.block, inlineCount)
  }
}

enum DiskLeadReading: Sendable {
  case lead(DiskLead)
  /// There are fewer bytes than the lead has: so many are wanted.
  case short(Int)
  case damaged
}

extension DiskLead {
  /// Reads the lead of the record that must be at this position; anything else is damage.
  static func read(_ bytes: Span<UInt8>, instance: UInt64, position: DiskPosition) -> DiskLeadReading {
    guard bytes.count >= headerCount else { return .short(headerCount) }
    guard let lead = header(bytes), lead.position == position, bytes.number(UInt64.self, at: 8) == instance
    else {
      return .damaged
    }
    guard bytes.count >= lead.count else { return .short(lead.count) }
    return checksum(bytes, count: lead.count) == lead.crc ? .lead(lead) : .damaged
  }

  fileprivate static func checksum(_ bytes: Span<UInt8>, count: Int) -> UInt32 {
    var crc = CRC32C()
    crc.update(bytes.extracting(0..<headerCount - 4))
    crc.update(bytes.extracting(headerCount..<count))
    return crc.value
  }

  /// The header's numbers, if they can be true.
  private static func header(_ bytes: Span<UInt8>) -> DiskLead? {
    guard bytes.number(UInt32.self, at: 0) == DiskFormat.recordMagic, let kind = Kind(rawValue: bytes[4]),
      bytes[5] == 0, bytes[6] == 0, bytes[7] == 0
    else { return nil }
    let lead = DiskLead(
      kind: kind, position: DiskPosition(rawValue: bytes.number(UInt64.self, at: 16)),
      wall: bytes.number(Int64.self, at: 24), bodyCount: Int(clamping: bytes.number(UInt64.self, at: 32)),
      keyCount: Int(bytes.number(UInt32.self, at: 40)), headCount: Int(bytes.number(UInt32.self, at: 44)),
      pieceCount: Int(bytes.number(UInt32.self, at: 48)), recordCount: Int(bytes.number(UInt32.self, at: 52)),
      variant: bytes.number(UInt32.self, at: 56), crc: bytes.number(UInt32.self, at: 60))
    return lead.isPossible ? lead : nil
  }

  private var isPossible: Bool {
    keyCount <= DiskFormat.keyLimit && headCount <= DiskFormat.headLimit
      && pieceCount <= DiskFormat.pieceLimit
      && inlineCount <= DiskFormat.inlineLimit && bodyCount >= 0
      && (kind == .response || (keyCount == 0 && headCount == 0 && pieceCount == 0))
      && recordCount == computedRecordCount
  }

  /// Whether a record's last bytes are those that its writer put there when all else was handed to the system.
  func isCommitted(by trailer: Span<UInt8>) -> Bool {
    trailer.count == Self.trailerCount && trailer.number(UInt64.self, at: 0) == position.rawValue
      && trailer.number(UInt32.self, at: 8) == UInt32(recordCount)
      && trailer.number(UInt32.self, at: 12) == trailerChecksum
  }

  fileprivate var trailerChecksum: UInt32 {
    var crc = CRC32C()
    crc.update(position.rawValue)
    crc.update(UInt64(recordCount) | UInt64(self.crc) << 32)
    return crc.value
  }

  /// The pieces that a response's body consists of, where it is not in the record itself.
  func pieces(_ lead: Span<UInt8>) -> [DiskPiece] {
    (0..<pieceCount).map { index in
      let start = piecesStart + index * DiskPiece.encodedCount
      return DiskPiece(
        position: DiskPosition(rawValue: lead.number(UInt64.self, at: start)),
        count: Int(lead.number(UInt32.self, at: start + 8)), crc: lead.number(UInt32.self, at: start + 12))
    }
  }

  /// The pieces of a body, wherever it is.
  func allPieces(_ lead: Span<UInt8>) -> [DiskPiece] {
    pieceCount > 0 ? pieces(lead) : [DiskPiece(position: position, count: inlineCount, crc: crc)]
  }

  /// Whether these are the bytes of the block, by the lead's checksum of it.
  func holds(_ bytes: Span<UInt8>, block: Int, lead: Span<UInt8>) -> Bool {
    CRC32C.of(bytes) == checksum(ofBlock: block, lead)
  }

  /// What the lead says of a block.
  func checksum(ofBlock block: Int, _ lead: Span<UInt8>) -> UInt32 {
    lead.number(UInt32.self, at: blocksStart + 4 * block)
  }
}

// MARK: Writing

/// What is to be written as one record.
struct DiskContent: Sendable {
  var kind = DiskLead.Kind.response
  var variant: UInt32 = 0
  var key: [UInt8] = []
  var head: [UInt8] = []
  /// The body, where it goes into the record.
  var body: [Slice] = []
  /// Where the body lies, if it does not.
  var pieces: [DiskPiece] = []

  /// The lead of the record that this becomes at a position.
  func lead(at position: DiskPosition, wall: Int64) -> DiskLead {
    let count = pieces.isEmpty ? body.reduce(0) { $0 + $1.count } : pieces.reduce(0) { $0 + $1.count }
    var lead = DiskLead(
      kind: kind, position: position, wall: wall, bodyCount: count, keyCount: key.count,
      headCount: head.count,
      pieceCount: pieces.count, recordCount: 0, variant: variant)
    lead.recordCount = lead.computedRecordCount
    return lead
  }

  /// Appends the record; its lead, with the checksum.
  func write(at position: DiskPosition, instance: UInt64, wall: Int64, onto bytes: inout [UInt8]) -> DiskLead
  {
    var lead = lead(at: position, wall: wall)
    let start = bytes.count
    bytes.reserveCapacity(start + lead.recordCount)
    putHeader(lead, instance, onto: &bytes)
    bytes.append(contentsOf: key)
    bytes.append(contentsOf: head)
    for piece in pieces {
      bytes.put(piece.position.rawValue)
      bytes.put(UInt32(piece.count))
      bytes.put(piece.crc)
    }
    bytes.append(contentsOf: repeatElement(0, count: 4 * lead.blockCount))
    if lead.pieceCount == 0 { for slice in body { slice.copy(onto: &bytes) } }
    for block in 0..<lead.blockCount {
      let range = lead.block(block)
      let from = start + lead.count
      let crc = CRC32C.of(bytes.span.extracting(from + range.lowerBound..<from + range.upperBound))
      bytes.put(crc, at: start + lead.blocksStart + 4 * block)
    }
    lead.crc = DiskLead.checksum(bytes.span.extracting(start..<start + lead.count), count: lead.count)
    bytes.put(lead.crc, at: start + 60)
    bytes.pad(to: 8, from: start)
    bytes.put(position.rawValue)
    bytes.put(UInt32(lead.recordCount))
    bytes.put(lead.trailerChecksum)
    return lead
  }

  private func putHeader(_ lead: DiskLead, _ instance: UInt64, onto bytes: inout [UInt8]) {
    bytes.put(DiskFormat.recordMagic)
    bytes.put(UInt32(kind.rawValue))
    bytes.put(instance)
    bytes.put(lead.position.rawValue)
    bytes.put(lead.wall)
    bytes.put(UInt64(lead.bodyCount))
    bytes.put(UInt32(lead.keyCount))
    bytes.put(UInt32(lead.headCount))
    bytes.put(UInt32(lead.pieceCount))
    bytes.put(UInt32(lead.recordCount))
    bytes.put(lead.variant)
    bytes.put(UInt32(0))
  }
}
