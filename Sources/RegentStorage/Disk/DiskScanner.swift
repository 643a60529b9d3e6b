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
struct DiskScanner: Sendable {
  private enum Outcome: Sendable {
    /// So many bytes are wanted from where the scan is.
    case wants(Int)
    case ended
  }
  let file: any DiskFile
  let number: UInt32
  let start: Int
  let length: Int
  private let identity: DiskIdentity
  private(set) var found: DiskScan
  /// Extents that are not what was written.
  private var broken: Set<DiskPosition> = []
  static let windowSize = 1 << 20

  init(
    _ file: any DiskFile, number: UInt32, identity: DiskIdentity, from start: Int
  ) throws(SystemError) {
    (self.file, self.number, self.identity, self.start) = (file, number, identity, start)
    length = try file.size().length
    found = DiskScan(end: start)
  }

  /// Goes on for about so many bytes; whether the segment's end was reached.
  mutating func scan(_ wanted: Int) throws(SystemError) -> Bool {
    let stop = found.end + wanted
    file.expect(2 * wanted, at: found.end)
    var window = Block(capacity: Self.windowSize)
    var needed = DiskLead.headerCount
    while found.end < stop {
      guard found.end + needed <= length else {
        if found.end + DiskLead.headerCount <= length { try endDoubtfully() }
        return true
      }
      let count = min(max(Self.windowSize, needed), length - found.end)
      if count > window.capacity || !window.reuse() { window = Block(capacity: count) }
      _ = try file.read(count, at: found.end, into: window, waits: true)
      switch window.withBytes({ take($0) }) {
      case .wants(let more):
        needed = more
        guard window.count < count else { continue }
        // The file is shorter by now than it was.
        try endDoubtfully()
        return true
      case .ended:
        try endDoubtfully()
        return true
      }
    }
    return false
  }

  /// What follows is no record; it is damage unless nothing was written there.
  private mutating func endDoubtfully() throws(SystemError) {
    let bytes = try file.bytes(DiskLead.headerCount, at: found.end).bytes
    found.isDamaged = !bytes.allSatisfy { $0 == 0 }
  }

  /// Takes the records that are whole in these bytes, from where the scan is.
  private mutating func take(_ window: Span<UInt8>) -> Outcome {
    var start = 0
    while true {
      let bytes = window.extracting(start..<window.count)
      let position = DiskPosition(segment: number, offset: found.end)
      switch DiskLead.read(bytes, instance: identity.instance, position: position) {
      case .damaged: return .ended
      case .short(let more): return .wants(more)
      case .lead(let lead):
        guard bytes.count >= lead.recordCount else { return .wants(lead.recordCount) }
        let record = bytes.extracting(0..<lead.recordCount)
        guard lead.isCommitted(by: record.extracting(lead.trailerStart..<lead.recordCount)) else {
          return .ended
        }
        take(lead, record)
        start += lead.recordCount
      }
    }
  }

  /// Takes a record, if it is as it was written as far as this segment has it.
  private mutating func take(_ lead: DiskLead, _ record: Span<UInt8>) {
    found.wall = max(found.wall, lead.wall)
    found.end += lead.recordCount
    guard lead.isIntact(record) else {
      broken.insert(lead.position)
      if lead.kind == .response { found.isDamaged = true }
      return
    }
    guard lead.kind == .response else { return }
    guard broken.isEmpty || !lead.pieces(record).contains(where: { broken.contains($0.position) }) else {
      found.isDamaged = true
      return
    }
    let hash = identity.secret.hash(record.extracting(lead.keyRange))
    found.entries.append(
      DiskEntry(hash: hash, position: lead.position, variant: lead.variant, count: lead.recordCount))
  }
}
