// Reading a record out of a segment: its lead, and what of its body came along. Nothing is handed out that the
// checksums do not vouch for.

import RegentLoop

enum DiskFound: Sendable {
  /// A lead, and bytes from the record's first on, at least the lead's.
  case lead(DiskLead, Slice)
  /// The disk would have to be waited for.
  case blocked
  case damaged(String)
}

extension DiskSegment {
  /// The lead of the record at a position, with at most `count` bytes in one read.
  func lead(at position: DiskPosition, count: Int, waits: Bool) throws(SystemError) -> DiskFound {
    var wanted = max(count, DiskLead.headerCount)
    for _ in 0..<3 {
      let block = Block(capacity: wanted)
      guard let got = try file.read(wanted, at: position.offset, into: block, waits: waits) else {
        return .blocked
      }
      switch block.withBytes({ DiskLead.read($0, instance: instance, position: position) }) {
      case .lead(let lead): return .lead(lead, Slice(block))
      case .damaged: return .damaged("lead")
      case .short(let more):
        guard got == wanted, more > wanted else { return .damaged("cut short") }
        wanted = more
      }
    }
    return .damaged("lead")
  }
}

extension DiskLead {
  /// Whether the whole record is among these bytes.
  func isWhole(in bytes: Slice) -> Bool { bytes.count >= recordCount }

  /// Whether body and trailer are what was written, of a record that is whole in these bytes.
  func isIntact(_ record: Slice) -> Bool { record.withBytes { isIntact($0) } }

  func isIntact(_ bytes: Span<UInt8>) -> Bool {
    guard isCommitted(by: bytes.extracting(trailerStart..<recordCount)) else { return false }
    return (0..<blockCount).allSatisfy { number in
      let range = block(number)
      let from = count + range.lowerBound
      return holds(bytes.extracting(from..<from + range.count), block: number, lead: bytes)
    }
  }

  func key(_ record: Slice) -> Slice { part(keyRange, record) }
  func head(_ record: Slice) -> Slice { part(headRange, record) }
  func body(_ record: Slice) -> Slice { part(bodyRange, record) }

  private func part(_ range: Range<Int>, _ record: Slice) -> Slice {
    let start = record.range.lowerBound
    return Slice(record.block, start + range.lowerBound..<start + range.upperBound)
  }
}
