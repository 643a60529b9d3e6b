// Sizes with units. Binary units count in 1,024, decimal ones in 1,000; nothing is rounded.

/// A number of bytes, 0 or more.
public struct ByteCount: Sendable, Hashable, Comparable {
  public var bytes: Int

  public init(bytes: Int) { self.bytes = bytes }

  public static func kibibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 10) }
  public static func mebibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 20) }
  public static func gibibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 30) }

  public static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }

  static let units = UnitTable(
    units: [
      .init("", 1), .init("B", 1), .init("kB", 1_000), .init("MB", 1_000_000),
      .init("GB", 1_000_000_000), .init("TB", 1_000_000_000_000), .init("KiB", 1 << 10),
      .init("MiB", 1 << 20), .init("GiB", 1 << 30), .init("TiB", 1 << 40),
    ])

  /// The size that a text such as "512", "64 KiB" or "1.5 GB" stands for; nil if it is none, or does
  /// not fit, or is no whole number of bytes.
  public init?(_ text: String) {
    guard let bytes = Self.units.parse(text) else { return nil }
    self.init(bytes: bytes)
  }
}

extension ByteCount: CustomStringConvertible {
  /// The size in its largest whole binary unit, as in "64 KiB".
  public var description: String {
    Self.units.text(bytes, units: ["TiB", "GiB", "MiB", "KiB"]) ?? "\(bytes) B"
  }
}
