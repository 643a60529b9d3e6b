// The metadata as bytes inside a record: little-endian, at fixed offsets, read on every lookup. Bytes from a
// disk may be damaged: what cannot be is nil, and no value can trap later.

extension StoredMetadata {
  /// The length of the encoding in bytes.
  public static let encodedCount = 36

  /// Appends ``encodedCount`` bytes.
  public func encode(onto bytes: inout [UInt8]) {
    bytes.append(addingCapacity: Self.encodedCount) { output in
      output.append(littleEndian: UInt32(status) | UInt32(flags.rawValue) << 16)
      output.append(littleEndian: responseTime)
      output.append(littleEndian: date)
      output.append(littleEndian: initialAge)
      output.append(littleEndian: lifetime)
      output.append(littleEndian: staleWhileRevalidate)
      output.append(littleEndian: staleIfError)
    }
  }

  /// Reads the first ``encodedCount`` bytes; nil where they cannot be metadata.
  @inlinable
  public static func decode(_ record: Span<UInt8>) -> StoredMetadata? {
    guard record.count >= 36 else { return nil }
    // The constant length lets the compiler drop the bounds checks and join the loads.
    let bytes = record.extracting(0..<36)
    let status = UInt16(truncatingIfNeeded: load32(bytes, 0))
    let decoded = StoredMetadata(
      status: status, flags: Flags(rawValue: UInt16(truncatingIfNeeded: load32(bytes, 0) &>> 16)),
      responseTime: load64(bytes, 4), date: load64(bytes, 12),
      initialAge: Int32(bitPattern: load32(bytes, 20)), lifetime: Int32(bitPattern: load32(bytes, 24)),
      staleWhileRevalidate: Int32(bitPattern: load32(bytes, 28)),
      staleIfError: Int32(bitPattern: load32(bytes, 32)))
    let signs =
      decoded.initialAge | decoded.lifetime | decoded.staleWhileRevalidate | decoded.staleIfError
    return status &- 200 < 400 && signs >= 0 ? decoded : nil
  }

  @inlinable
  static func load32(_ bytes: Span<UInt8>, _ offset: Int) -> UInt32 {
    UInt32(bytes[offset]) | UInt32(bytes[offset &+ 1]) &<< 8 | UInt32(bytes[offset &+ 2]) &<< 16
      | UInt32(bytes[offset &+ 3]) &<< 24
  }

  @inlinable
  static func load64(_ bytes: Span<UInt8>, _ offset: Int) -> Int64 {
    Int64(bitPattern: UInt64(load32(bytes, offset)) | UInt64(load32(bytes, offset &+ 4)) &<< 32)
  }
}

extension OutputSpan<UInt8> {
  @inline(__always)
  fileprivate mutating func append(littleEndian value: some FixedWidthInteger) {
    var rest = value
    for _ in 0..<(value.bitWidth / 8) {
      append(UInt8(truncatingIfNeeded: rest))
      rest = rest &>> 8
    }
  }
}

extension [UInt8] {
  mutating func append(littleEndian value: some FixedWidthInteger) {
    var rest = value
    for _ in 0..<(value.bitWidth / 8) {
      append(UInt8(truncatingIfNeeded: rest))
      rest = rest &>> 8
    }
  }
}
