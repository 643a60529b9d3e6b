// The numbers of the disk format, and how numbers are written: lowest byte first. docs/DISK-FORMAT.md is its
// description to the byte; a change here is another version, in another folder.

import RegentLoop

enum DiskFormat {
  static let version: UInt32 = 1
  /// The folder of this version, within the configured one.
  static let folder = "v1"
  /// What precedes a segment's records, in bytes.
  static let page = 4096
  /// The bytes of a body that one checksum covers, at most.
  static let block = 64 << 10
  /// The longest body that lies within one record, in bytes.
  static let inlineLimit = 1 << 20
  static let keyLimit = 64 << 10
  static let headLimit = 256 << 10
  static let pieceLimit = 1 << 16
  static let recordMagic: UInt32 = 0x3152_4752  // RGR1
  /// The last number that is given to a segment; nobody gets there by writing.
  static let lastSegment = UInt32.max - 16
  static let segmentMagic: UInt32 = 0x3153_4752  // RGS1
  static let removalsMagic: UInt32 = 0x3158_4752  // RGX1
  static let identityMagic: UInt32 = 0x3149_4752  // RGI1
  static let indexMagic: UInt32 = 0x314E_4752  // RGN1
  static let memoMagic: UInt32 = 0x314D_4752  // RGM1
  static let startsMagic: UInt32 = 0x3154_4752  // RGT1
}

/// Where a record begins: the segment's number above, the offset in units of eight bytes below. As segments are numbered
/// upwards and never again, it is the record's name too, and of two records the later written has the greater.
struct DiskPosition: Hashable, Comparable, Sendable {
  var rawValue: UInt64

  init(rawValue: UInt64) { self.rawValue = rawValue }
  init(segment: UInt32, offset: Int) { rawValue = UInt64(segment) << 32 | UInt64(offset >> 3) }

  var segment: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }
  var offset: Int { Int(rawValue & 0xFFFF_FFFF) << 3 }
  /// The least position that is greater.
  var next: DiskPosition { DiskPosition(rawValue: rawValue + 1) }

  static func < (one: DiskPosition, other: DiskPosition) -> Bool { one.rawValue < other.rawValue }
}

/// A piece of a body that lies in a record: which record, how many bytes of body it holds, the checksum of its lead.
struct DiskPiece: Sendable, Equatable {
  var position: DiskPosition
  var count: Int
  var crc: UInt32
  static let encodedCount = 16
}

extension [UInt8] {
  mutating func put<Number: FixedWidthInteger>(_ number: Number) {
    // Unsafe: the bytes of a local, which are copied.
    unsafe Swift.withUnsafeBytes(of: number.littleEndian) { unsafe append(contentsOf: $0) }
  }

  mutating func put<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
    for byte in 0..<Number.bitWidth / 8 {
      self[offset + byte] = UInt8(truncatingIfNeeded: number >> (8 * byte))
    }
  }

  mutating func pad(to multiple: Int, from start: Int) {
    while (count - start) % multiple != 0 { append(0) }
  }
}

extension Span<UInt8> {
  /// The number at an offset, which must lie within.
  @inline(__always)
  func number<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type, at offset: Int) -> Number {
    // Unsafe: any bits are an integer; the call itself checks the bounds.
    unsafe Number(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: type))
  }
}
