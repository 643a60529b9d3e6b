// A block of bytes with one writer and any number of readers: the unit in which bodies are read, kept and sent.
// The writer only ever appends, and publishes what it appended; readers see published bytes alone, which never change.

import Synchronization

/// An append-only block of bytes, allocated in one piece, read by many while one writer still fills it.
///
/// `append` and `fill` belong to the one writer; everything else may be called from any thread.
// @unchecked: the storage behind `base` is written only past `published` by the single writer and read only
// before it; `published` is released after the write and acquired before the read.
@safe public final class Block: @unchecked Sendable {
  /// How many bytes the block can hold.
  public let capacity: Int
  // Unsafe: owned by this object alone, freed in deinit.
  private let base: UnsafeMutablePointer<UInt8>
  private let published: Atomic<Int>

  public init(capacity: Int) {
    precondition(capacity >= 0, "a block cannot hold less than nothing")
    self.capacity = capacity
    // Unsafe: freed in deinit, and nowhere else.
    unsafe base = UnsafeMutablePointer.allocate(capacity: max(capacity, 1))
    published = Atomic(0)
  }

  public convenience init(_ bytes: [UInt8]) {
    self.init(capacity: bytes.count)
    append(bytes.span)
  }

  deinit { unsafe base.deallocate() }

  /// How many bytes are published.
  public var count: Int { published.load(ordering: .acquiring) }
  /// How many bytes may still be appended.
  public var room: Int { capacity - published.load(ordering: .relaxed) }

  /// Appends as many of the bytes as there is room for; returns how many.
  @discardableResult
  public func append(_ bytes: Span<UInt8>) -> Int {
    // Unsafe: `free` does not leave the closure.
    unsafe fill { free in
      let taken = min(free.count, bytes.count)
      // Unsafe: copies within both bounds, which the line before computed.
      unsafe bytes.withUnsafeBufferPointer { source in
        if taken > 0, let start = source.baseAddress {
          unsafe free.baseAddress?.update(from: start, count: taken)
        }
      }
      return taken
    }
  }

  /// Lets `write` fill free space from its start; what it returns is published. Returns the same.
  // Unsafe: the pointer is valid during the call only.
  @unsafe @discardableResult
  func fill<Failure: Error>(
    _ write: (UnsafeMutableBufferPointer<UInt8>) throws(Failure) -> Int
  ) throws(Failure) -> Int {
    let start = published.load(ordering: .relaxed)
    let written = unsafe try write(
      UnsafeMutableBufferPointer(start: base + start, count: capacity - start))
    precondition(written >= 0 && written <= capacity - start, "a block was filled past its end")
    published.store(start + written, ordering: .releasing)
    return written
  }

  /// The published bytes.
  public func withBytes<Result, Failure: Error>(
    _ read: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // Unsafe: the span covers published bytes only and does not outlive the call.
    try unsafe read(Span(_unsafeStart: base, count: count))
  }
}

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

  public var count: Int { range.count }

  public func withBytes<Result, Failure: Error>(
    _ read: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try block.withBytes { (all: Span<UInt8>) throws(Failure) in try read(all.extracting(range)) }
  }

  public var bytes: [UInt8] {
    withBytes { span in span.indices.map { span[$0] } }
  }
}
