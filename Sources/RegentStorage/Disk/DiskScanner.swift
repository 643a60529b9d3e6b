// Finds the records of a segment one after the other, when the index does not know them. Bodies are verified, too: one
// that the power's loss cut short must not take the place of an older one. At the first doubtful lead the segment ends.

import RegentLoop

struct DiskScan: Sendable {
  var entries: [DiskEntry] = []
  /// Where the last good record ends.
  var end: Int
  /// Whether something follows that is no record.
  var isDamaged = false
  /// The newest wall time of a record.
  var wall: Int64 = 0
}

/// Reads a segment in order, a window at a time.
struct DiskScanner {
  let file: any DiskFile
  let number: UInt32
  let instance: UInt64
  let secret: SipKey
  let length: Int
  private var window = Slice([])
  private var windowStart = 0
  /// Extents that are not what was written.
  private var broken: Set<DiskPosition> = []
  static let windowSize = 1 << 20

  init(_ file: any DiskFile, number: UInt32, identity: DiskIdentity) throws(SystemError) {
    (self.file, self.number) = (file, number)
    (instance, secret) = (identity.instance, identity.secret)
    length = try file.size().length
  }

  /// All records from an offset on.
  mutating func scan(from start: Int) throws(SystemError) -> DiskScan {
    var scan = DiskScan(end: start)
    while scan.end + DiskLead.headerCount <= length {
      let position = DiskPosition(segment: number, offset: scan.end)
      guard let (lead, entry) = try record(position) else {
        scan.isDamaged = try !isBlank(scan.end)
        break
      }
      if let entry { scan.entries.append(entry) } else if lead.kind == .response { scan.isDamaged = true }
      scan.wall = max(scan.wall, lead.wall)
      scan.end += lead.recordCount
    }
    return scan
  }

  private mutating func record(_ position: DiskPosition) throws(SystemError) -> (DiskLead, DiskEntry?)? {
    var wanted = DiskLead.headerCount
    for _ in 0..<2 {
      let bytes = try bytes(wanted, at: position.offset)
      switch bytes.withBytes({ DiskLead.read($0, instance: instance, position: position) }) {
      case .damaged: return nil
      case .short(let more):
        guard more > wanted else { return nil }
        wanted = more
      case .lead(let lead): return try isCommitted(lead) ? (lead, entry(lead)) : nil
      }
    }
    return nil
  }

  /// The entry of a response that is as it was written, as far as this segment has it.
  private mutating func entry(_ lead: DiskLead) throws(SystemError) -> DiskEntry? {
    let record = try bytes(lead.recordCount, at: lead.position.offset)
    guard lead.isWhole(in: record), lead.isIntact(record) else {
      broken.insert(lead.position)
      return nil
    }
    guard lead.kind == .response else { return nil }
    if !broken.isEmpty,
      record.withBytes({ lead.pieces($0) }).contains(where: { broken.contains($0.position) })
    {
      return nil
    }
    let hash = record.withBytes { secret.hash($0.extracting(lead.keyRange)) }
    return DiskEntry(hash: hash, position: lead.position, variant: lead.variant, count: lead.recordCount)
  }

  private mutating func isCommitted(_ lead: DiskLead) throws(SystemError) -> Bool {
    let trailer = try bytes(DiskLead.trailerCount, at: lead.position.offset + lead.trailerStart)
    return trailer.withBytes { lead.isCommitted(by: $0) }
  }

  /// Whether nothing was written at an offset.
  private mutating func isBlank(_ offset: Int) throws(SystemError) -> Bool {
    try bytes(DiskLead.headerCount, at: offset).bytes.allSatisfy { $0 == 0 }
  }

  /// At most `count` bytes at an offset, fewer at the end of the file.
  private mutating func bytes(_ count: Int, at offset: Int) throws(SystemError) -> Slice {
    let wanted = min(count, length - offset)
    guard wanted > 0 else { return Slice([]) }
    if offset < windowStart || offset + wanted > windowStart + window.count {
      window = try file.bytes(min(max(Self.windowSize, wanted), length - offset), at: offset)
      windowStart = offset
    }
    let start = offset - windowStart
    // The file may be shorter by now than it was.
    return Slice(window.block, min(start, window.count)..<min(start + wanted, window.count))
  }
}
