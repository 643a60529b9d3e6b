// A part of a block, kept alive by a reference to the whole block. Slices are what bodies are made of.

/// A part of a block's published bytes.
public struct Slice: Sendable {
  public let block: Block
  public let range: Range<Int>

  public init(_ block: Block, _ range: Range<Int>) {
    precondition(
      range.lowerBound >= 0 && range.upperBound <= block.count, "a slice must lie within published bytes")
    self.block = block
    self.range = range
  }

  public init(_ block: Block) { self.init(block, 0..<block.count) }
  public init(_ bytes: [UInt8]) { self.init(Block(bytes)) }

  @inlinable public var count: Int { range.count }

  public func withBytes<Result, Failure: Error>(
    _ read: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try block.withBytes { (all: Span<UInt8>) throws(Failure) in try read(all.extracting(range)) }
  }

  /// Appends the bytes to an array, in one copy.
  public func copy(onto bytes: inout [UInt8]) { block.copy(range, onto: &bytes) }

  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    copy(onto: &bytes)
    return bytes
  }
}
