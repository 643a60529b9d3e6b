// What the memory store keeps and hands out. A record is a few references into shared blocks: cheap to copy, and
// still whole when the store has long forgotten it.

public import RegentLoop

/// A stored response: one packed block of key, own head and small body; a head shared among records; and, for a large
/// body, the finished stream of it.
public struct Record: Sendable {
  let block: Block
  let keyCount: UInt32
  let headCount: UInt32
  let stream: BodyStream?
  /// The part of the head that many records have in common; nil where there is none.
  public let sharedHead: Block?

  /// The key's bytes.
  public var key: Slice { Slice(block, 0..<Int(keyCount)) }
  /// The part of the head that is this record's own.
  public var head: Slice { Slice(block, headRange) }
  /// The body.
  public var body: StoredBody {
    if let stream { return .stream(stream) }
    return .packed(Slice(block, bodyRange))
  }
  /// The length of the body in bytes.
  public var bodyCount: Int { stream?.total ?? bodyRange.count }

  var headRange: Range<Int> { Int(keyCount)..<(Int(keyCount) + Int(headCount)) }
  var bodyRange: Range<Int> { (Int(keyCount) + Int(headCount))..<block.capacity }
}

/// A stored body: packed beside its head up to ``StoredBody/packedLimit``, or a finished stream.
public enum StoredBody: Sendable {
  case packed(Slice)
  case stream(BodyStream)

  /// The longest body, in bytes, that is packed into its record's block.
  public static let packedLimit = 64 << 10
}

/// A body that is offered to the memory store.
public enum OfferedBody: Sendable {
  case bytes([UInt8])
  case slice(Slice)
  case slices([Slice])
  /// A finished stream of which nothing was dropped; a short one is packed.
  case stream(BodyStream)
}
