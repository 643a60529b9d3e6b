// CRC32C (Castagnoli), the checksum of the disk store: RFC 3720 section 12.1, test vectors in its appendix B.4.
// By the processor's instructions where it has them, else by tables; all give the same.

import CChecksum

/// A CRC32C that is being worked out over one or several runs of bytes.
public struct CRC32C: Sendable, Equatable {
  private var state = UInt32.max

  public init() {}

  /// The checksum of everything so far.
  public var value: UInt32 { ~state }

  /// The checksum of these bytes.
  public static func of(_ bytes: Span<UInt8>) -> UInt32 {
    var crc = CRC32C()
    crc.update(bytes)
    return crc.value
  }

  public mutating func update(_ bytes: Span<UInt8>) {
    guard CRC32C.hasInstruction else { return updateByTable(bytes) }
    // Unsafe: reads the span's own bytes, and the instruction is there.
    unsafe bytes.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      unsafe state = regent_crc32c(state, start, buffer.count)
    }
  }

  /// Goes on with the eight bytes of a number, lowest first.
  public mutating func update(_ number: UInt64) {
    let bytes = InlineArray<8, UInt8> { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) }
    update(bytes.span)
  }

  /// Whether this processor has the instruction.
  public static let hasInstruction = regent_crc32c_supported() != 0

  // MARK: Without the widest instructions, and without any

  /// The same by the instruction for eight bytes, where there is one.
  mutating func updateByWords(_ bytes: Span<UInt8>) {
    guard CRC32C.hasInstruction else { return updateByTable(bytes) }
    // Unsafe: as `update`.
    unsafe bytes.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      unsafe state = regent_crc32c_words(state, start, buffer.count)
    }
  }

  /// The same by tables, eight bytes a step.
  mutating func updateByTable(_ bytes: Span<UInt8>) {
    var (crc, index) = (state, 0)
    while bytes.count - index >= 8 {
      var next: UInt32 = 0
      for byte in 0..<4 {
        let low = UInt8(truncatingIfNeeded: crc >> UInt32(8 * byte)) ^ bytes[index + byte]
        next ^= CRC32C.tables[(7 - byte) * 256 + Int(low)]
        next ^= CRC32C.tables[(3 - byte) * 256 + Int(bytes[index + 4 + byte])]
      }
      crc = next
      index += 8
    }
    while index < bytes.count {
      crc = (crc >> 8) ^ CRC32C.tables[Int(UInt8(truncatingIfNeeded: crc) ^ bytes[index])]
      index += 1
    }
    state = crc
  }

  /// Eight tables of 256: the n-th says what a byte becomes n bytes later (Kounavis and Berry, "slicing by 8", 2005).
  private static let tables: [UInt32] = {
    var tables: [UInt32] = []
    for byte in 0..<256 as Range<UInt32> {
      var crc = byte
      for _ in 0..<8 { crc = (crc >> 1) ^ (crc & 1 == 1 ? 0x82F6_3B78 : 0) }
      tables.append(crc)
    }
    for index in 256..<2048 {
      let before = tables[index - 256]
      tables.append((before >> 8) ^ tables[Int(before & 255)])
    }
    return tables
  }()
}
