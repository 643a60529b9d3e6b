// A record on its way into the store: packed into its block, measured, and not yet counted. Made outside of any lock.

import RegentLoop

/// What is offered to a shard.
struct PackedOffer: ~Copyable {
  let block: Block
  let stream: BodyStream?
  let headCount: Int
  /// The shared head's bytes: nearly always the shard has them already.
  let sharedHead: [UInt8]

  /// The bytes that its block and, if it is new to the shard, its shared head take from the budget.
  let cost: Int
  /// The part of `cost` that the shared head alone takes.
  let sharedCost: Int

  /// The longest key and own head together.
  private static let startLimit = 1 << 30

  /// Packs a record; nil when it exceeds `limit`, or its stream is not whole or not within the budget.
  init?(
    _ key: RecordKey, _ head: [UInt8], _ shared: [UInt8], _ body: OfferedBody, limit: Int, budget: ByteBudget
  ) {
    let start = key.bytes.count + head.count
    guard let bodyCount = body.count, bodyCount <= limit, start <= PackedOffer.startLimit,
      start + shared.count <= limit - bodyCount
    else { return nil }
    let isPacked = bodyCount <= StoredBody.packedLimit
    let block = Block(capacity: start + (isPacked ? bodyCount : 0))
    block.append(key.bytes.span)
    block.append(head.span)
    if isPacked { body.pack(into: block) }
    let stream = isPacked ? nil : body.stream
    if let stream, !stream.charge(to: budget) { return nil }
    self.block = block
    self.stream = stream
    headCount = head.count
    sharedHead = shared
    sharedCost = shared.isEmpty ? 0 : InternedHeads.cost(shared.count)
    cost = block.footprint + sharedCost
  }
}

extension OfferedBody {
  /// The length of the body; nil when it is a stream that is not whole.
  fileprivate var count: Int? {
    switch self {
    case .bytes(let bytes): bytes.count
    case .slice(let slice): slice.count
    case .slices(let slices): slices.reduce(0) { $0 + $1.count }
    case .stream(let stream): stream.isWhole ? stream.total : nil
    }
  }

  /// Appends the whole body to a block that has room for it.
  fileprivate func pack(into block: Block) {
    switch self {
    case .bytes(let bytes): block.append(bytes.span)
    case .slice(let slice): slice.withBytes { _ = block.append($0) }
    case .slices(let slices): for slice in slices { slice.withBytes { _ = block.append($0) } }
    case .stream(let stream): for slice in stream.wholeSlices { slice.withBytes { _ = block.append($0) } }
    }
  }

  /// The body as a whole stream.
  fileprivate var stream: BodyStream {
    switch self {
    case .bytes(let bytes): BodyStream(whole: [Slice(bytes)])
    case .slice(let slice): BodyStream(whole: [slice])
    case .slices(let slices): BodyStream(whole: slices)
    case .stream(let stream): stream
    }
  }
}
