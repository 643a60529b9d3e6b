// A block of bytes with one writer and any number of readers: the unit in which bodies are read, kept and sent.
// The writer only ever appends, and publishes what it appended; readers see published bytes alone, which never change.
// Header and bytes are one allocation, so that a block costs what `overhead` says and nothing more.

import CLibevent
import Glibc
public import Synchronization

/// What precedes a block's bytes in its one allocation.
@usableFromInline struct BlockHeader {
  @usableFromInline let capacity: UInt32
  /// The place of an `Atomic<UInt32>`; never read or written by this name.
  // ManagedBuffer wants a copyable header, and an Atomic is not.
  @usableFromInline let published: UInt32 = 0

  @inlinable init(capacity: UInt32) { self.capacity = capacity }
}

extension UnsafeMutablePointer where Pointee == BlockHeader {
  /// The count of published bytes.
  // Unsafe: an Atomic<UInt32> is laid out as a UInt32, and this one is touched through here alone.
  @unsafe @inlinable var published: UnsafeMutablePointer<Atomic<UInt32>> {
    unsafe (UnsafeMutableRawPointer(self) + MemoryLayout<UInt32>.size)
      .assumingMemoryBound(to: Atomic<UInt32>.self)
  }
}

/// An append-only block of bytes, allocated in one piece, read by many while one writer still fills it.
///
/// A block is a reference: copies of it share their bytes. `append` and `fill` belong to the one writer;
/// everything else may be called from any thread. A block holds less than 4 GiB.
// @unchecked: the bytes are written only past `published` by the single writer and read only before it;
// `published` is released after the write and acquired before the read.
@safe public struct Block: @unchecked Sendable {
  @usableFromInline var storage: ManagedBuffer<BlockHeader, UInt8>

  public init(capacity: Int) {
    precondition(capacity >= 0 && capacity <= Int(UInt32.max), "a block holds 0 to 4 GiB")
    storage = ManagedBuffer.create(minimumCapacity: capacity) { _ in
      BlockHeader(capacity: UInt32(capacity))
    }
  }

  public init(_ bytes: [UInt8]) {
    self.init(capacity: bytes.count)
    append(bytes.span)
  }

  /// How many bytes the block can hold.
  @inlinable public var capacity: Int {
    // Unsafe: the header lives as long as the storage and `capacity` never changes.
    unsafe storage.withUnsafeMutablePointerToHeader { unsafe Int($0.pointee.capacity) }
  }

  /// How many bytes are published.
  @inlinable public var count: Int {
    // Unsafe: the header lives as long as the storage; the count is atomic.
    unsafe storage.withUnsafeMutablePointerToHeader {
      unsafe Int($0.published.pointee.load(ordering: .acquiring))
    }
  }

  /// How many bytes may still be appended.
  public var room: Int { capacity - count }

  /// Whether both are the same block, not merely equal bytes.
  @inlinable public static func === (one: Block, other: Block) -> Bool { one.storage === other.storage }

  /// A number below `count`, a power of two, that is the same for the same block as long as it lives.
  public func place(among count: Int) -> Int {
    // An address is a multiple of 16, and neighbours differ in the bits above.
    let address = UInt(bitPattern: ObjectIdentifier(storage))
    return Int((address &>> 4 ^ address &>> 12) & UInt(count - 1))
  }

  /// Has the first bytes fetched from memory while the caller still does something else: reading them one line after
  /// the other would wait for each.
  public func prefetch() {
    // Unsafe: a hint, which reads nothing and may go beyond the block: to look at its length would be to wait.
    unsafe storage.withUnsafeMutablePointerToElements { unsafe regent_prefetch($0, Block.prefetched) }
  }

  private static let prefetched = 1 << 10

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

  /// Empties the block if nobody else refers to it; false, and nothing changed, where somebody does.
  public mutating func reuse() -> Bool {
    guard isKnownUniquelyReferenced(&storage) else { return false }
    // Unsafe: the only reference is the caller's, who may write.
    unsafe storage.withUnsafeMutablePointerToHeader {
      unsafe $0.published.pointee.store(0, ordering: .relaxed)
    }
    return true
  }

  /// Lets `write` fill free space from its start; what it returns is published. Returns the same.
  // Unsafe: the pointer is valid during the call only.
  @unsafe @discardableResult
  func fill<Failure: Error>(
    _ write: (UnsafeMutableBufferPointer<UInt8>) throws(Failure) -> Int
  ) throws(Failure) -> Int {
    try unsafe storage.withUnsafeMutablePointers { (header, base) throws(Failure) -> Int in
      let start = unsafe Int(header.published.pointee.load(ordering: .relaxed))
      let free = unsafe Int(header.pointee.capacity) - start
      let written = unsafe try write(UnsafeMutableBufferPointer(start: base + start, count: free))
      precondition(written >= 0 && written <= free, "a block was filled past its end")
      unsafe header.published.pointee.store(UInt32(start + written), ordering: .releasing)
      return written
    }
  }

  /// The published bytes.
  public func withBytes<Result, Failure: Error>(
    _ read: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // Unsafe: the span covers published bytes only and does not outlive the call.
    try unsafe storage.withUnsafeMutablePointers { (header, base) throws(Failure) -> Result in
      let count = unsafe Int(header.published.pointee.load(ordering: .acquiring))
      return try unsafe read(Span(_unsafeStart: base, count: count))
    }
  }

  /// Appends these published bytes to an array, in one copy.
  public func copy(_ range: Range<Int>, onto bytes: inout [UInt8]) {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "a copy must lie within published bytes")
    // Unsafe: the line before proved the bounds; the pointer does not leave the closure.
    unsafe storage.withUnsafeMutablePointerToElements { base in
      unsafe bytes.append(
        contentsOf: UnsafeBufferPointer(start: base + range.lowerBound, count: range.count))
    }
  }

  /// Whether the published bytes from `start` on begin with `bytes`.
  public func holds(_ bytes: [UInt8], at start: Int = 0) -> Bool {
    guard start >= 0, start <= count, bytes.count <= count - start else { return false }
    // Unsafe: the line before proved the bounds; neither pointer leaves the closures.
    return unsafe storage.withUnsafeMutablePointerToElements { base in
      unsafe bytes.withUnsafeBytes { other in
        guard let otherBase = other.baseAddress else { return true }
        return unsafe memcmp(base + start, otherBase, other.count) == 0
      }
    }
  }

  /// The bytes of memory that a block of this capacity takes beyond its capacity: the object's header and what
  /// glibc's malloc adds, 8 bytes before the piece and its size rounded up to 16.
  public static func overhead(capacity: Int) -> Int {
    let object = 2 * MemoryLayout<Int>.size + MemoryLayout<BlockHeader>.size
    return allocated(object + capacity) - capacity
  }

  /// The bytes that glibc's malloc sets aside for a piece of this size.
  public static func allocated(_ size: Int) -> Int { max(32, (size + 8 + 15) & ~15) }

  /// The bytes of memory that this block takes in all.
  public var footprint: Int { capacity + Block.overhead(capacity: capacity) }
}
