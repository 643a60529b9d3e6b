// What the index knows of a stored response: 24 bytes. The key is not among them; it is on the disk, and compared there.

/// One stored response in the index.
struct DiskEntry: Sendable, Equatable {
  var hash: UInt64
  /// Where its record is; 0 in an empty place of the table.
  var location: UInt64
  /// The hash of what selects it among its key's responses.
  var variant: UInt32
  /// Its length's code in 8 bits, the hits since it was written in 8, and in 16 how far the log was at the last one.
  var meta: UInt32

  static let empty = DiskEntry(hash: 0, location: 0, variant: 0, meta: 0)

  init(hash: UInt64, location: UInt64, variant: UInt32, meta: UInt32) {
    (self.hash, self.location, self.variant, self.meta) = (hash, location, variant, meta)
  }

  init(hash: UInt64, position: DiskPosition, variant: UInt32, count: Int) {
    self.init(hash: hash, location: position.rawValue, variant: variant, meta: UInt32(DiskLength.code(count)))
  }

  var isEmpty: Bool { location == 0 }
  var position: DiskPosition { DiskPosition(rawValue: location) }
  /// The record's length in bytes or, by at most a sixteenth, more.
  var lengthBound: Int { DiskLength.bound(UInt8(truncatingIfNeeded: meta)) }
  var hits: Int { Int(meta >> 8 & 255) }
  var touched: UInt16 { UInt16(truncatingIfNeeded: meta >> 16) }

  /// Counts a hit at a time of the log.
  mutating func touch(_ time: UInt16) {
    meta = meta & 255 | UInt32(min(hits + 1, 255)) << 8 | UInt32(time) << 16
  }
}

/// Lengths in eight bits: four of them behind a leading one, shifted by what the other four say, in units of 8 bytes.
enum DiskLength {
  /// The code of the least bound that is not below a length of at most 8,126,464 bytes.
  static func code(_ count: Int) -> UInt8 {
    let units = max(16, (count + 7) / 8)
    var shift = max(0, Int.bitWidth - units.leadingZeroBitCount - 5)
    var mantissa = (units + (1 << shift) - 1) >> shift
    if mantissa == 32 { (mantissa, shift) = (16, shift + 1) }
    precondition(shift < 16, "a record is longer than the index can say")
    return UInt8(shift << 4 | (mantissa - 16))
  }

  static func bound(_ code: UInt8) -> Int { ((16 + Int(code & 15)) << Int(code >> 4)) * 8 }
}
