// The chunks of a body that are still in memory: an append-only list, from whose front what all have read is dropped.
// Chunks are numbered from the body's first; a cursor stays valid while the list grows and shrinks.

import RegentLoop

/// One stretch of a block; without a block once it is dropped.
struct BodyChunk: Sendable {
  var block: Block?
  var start: UInt32
  var end: UInt32

  var count: Int { Int(end - start) }
}

/// Where a reader is: which chunk, how far into it, and how many bytes of the body that makes.
struct BodyCursor: Sendable {
  var number = 0
  var offset = 0
  var position = 0
}

/// The chunks in memory, oldest first.
struct BodyChunks: Sendable {
  /// Slices shorter than this, in bytes, are copied together, so that dust cannot make the list long.
  static let dust = 1024
  private static let dustBlock = 16 << 10

  private var list: [BodyChunk] = []
  /// How many at the front of `list` are dropped.
  private var gone = 0
  /// The number of the first chunk in `list`.
  private var firstNumber = 0
  /// The body's offset of the first byte that is still here.
  private(set) var start = 0
  /// The body's length so far.
  private(set) var end = 0
  /// The bytes of memory that the list holds on to, as a budget counts them.
  private(set) var cost = 0
  /// Where short slices are gathered.
  private var dust: Block?

  private var oldestNumber: Int { firstNumber + gone }

  // MARK: Writing

  /// How much more memory the list holds on to when this slice is appended.
  func price(_ slice: Slice) -> Int {
    guard slice.count > 0, !extendsLast(slice.block, slice.range.lowerBound) else { return 0 }
    guard slice.count < BodyChunks.dust else {
      return BodyChunks.slotCost + (isLast(slice.block) ? 0 : slice.block.footprint)
    }
    guard let dust, dust.room >= slice.count else {
      return BodyChunks.slotCost + BodyChunks.dustBlock + Block.overhead(capacity: BodyChunks.dustBlock)
    }
    return extendsLast(dust, dust.count) ? 0 : BodyChunks.slotCost + (isLast(dust) ? 0 : dust.footprint)
  }

  /// Appends a slice; returns how much memory the list let go of, beside the price that was asked for the slice.
  mutating func append(_ slice: Slice) -> Int {
    guard slice.count > 0 else { return 0 }
    let freed = isLast(slice.block) ? 0 : tightenLast()
    cost += price(slice)
    let isDust = slice.count < BodyChunks.dust && !extendsLast(slice.block, slice.range.lowerBound)
    let slice = isDust ? gathered(slice) : slice
    if extendsLast(slice.block, slice.range.lowerBound) {
      list[list.count - 1].end = UInt32(slice.range.upperBound)
    } else {
      let (start, end) = (UInt32(slice.range.lowerBound), UInt32(slice.range.upperBound))
      list.append(BodyChunk(block: slice.block, start: start, end: end))
    }
    end += slice.count
    return freed
  }

  /// Copies the last chunk into a block of its own size, if it is alone in a block of which most lies idle.
  /// Cursors stay valid: the chunk keeps its number and its length. Returns how much memory that saves.
  mutating func tightenLast() -> Int {
    guard let last = list.last, let block = last.block, dust.map({ $0 === block }) != true,
      block.capacity > 2 * last.count + BodyChunks.dust, !isShared(list.count - 1, with: list.count - 2)
    else { return 0 }
    let copy = Block(capacity: last.count)
    Slice(block, Int(last.start)..<Int(last.end)).withBytes { _ = copy.append($0) }
    list[list.count - 1] = BodyChunk(block: copy, start: 0, end: UInt32(last.count))
    let saved = block.footprint - copy.footprint
    cost -= saved
    return saved
  }

  /// Whether two chunks lie in the same block.
  private func isShared(_ one: Int, with other: Int) -> Bool {
    guard list.indices.contains(one), list.indices.contains(other) else { return false }
    guard let block = list[one].block, let its = list[other].block else { return false }
    return block === its
  }

  private func isLast(_ block: Block) -> Bool { list.last?.block.map { $0 === block } ?? false }

  private func extendsLast(_ block: Block, _ start: Int) -> Bool {
    isLast(block) && list.last.map { Int($0.end) } == start
  }

  /// A copy of a short slice, behind others of its kind.
  private mutating func gathered(_ slice: Slice) -> Slice {
    let block = dust.flatMap { $0.room >= slice.count ? $0 : nil } ?? Block(capacity: BodyChunks.dustBlock)
    dust = block
    let start = block.count
    slice.withBytes { _ = block.append($0) }
    return Slice(block, start..<(start + slice.count))
  }

  // MARK: Reading

  /// The next bytes behind a cursor, which moves past them.
  func take(
    _ cursor: inout BodyCursor, upTo limit: Int, maxSlices: Int
  ) -> [Slice] {
    guard cursor.position < end else { return [] }
    var slices: [Slice] = []
    var left = max(1, limit)
    var index = catchUp(&cursor)
    slices.reserveCapacity(min(max(1, maxSlices), list.count - index))
    while left > 0, slices.count < max(1, maxSlices), index < list.count {
      let chunk = list[index]
      let count = min(chunk.count - cursor.offset, left)
      if count > 0, let block = chunk.block {
        let start = Int(chunk.start) + cursor.offset
        slices.append(Slice(block, start..<(start + count)))
        advance(&cursor, by: count)
        left -= count
      }
      // The last chunk may still grow, so a cursor stays at its end.
      guard cursor.offset == chunk.count, index + 1 < list.count else { break }
      (cursor.number, cursor.offset) = (cursor.number + 1, 0)
      index += 1
    }
    return slices
  }

  /// Moves a cursor whose chunk was dropped, having been read to its end, to the oldest that is left.
  private func catchUp(_ cursor: inout BodyCursor) -> Int {
    if cursor.number < oldestNumber { (cursor.number, cursor.offset) = (oldestNumber, 0) }
    return cursor.number - firstNumber
  }

  private func advance(_ cursor: inout BodyCursor, by count: Int) {
    cursor.offset += count
    cursor.position += count
  }

  /// All bytes, from the first; only where nothing was dropped.
  var whole: [Slice] {
    list.compactMap { chunk in chunk.block.map { Slice($0, Int(chunk.start)..<Int(chunk.end)) } }
  }

  // MARK: Dropping

  /// Drops the chunks that lie wholly before `position`; returns how much less memory the list holds on to.
  mutating func drop(before position: Int) -> Int {
    let before = cost
    while gone < list.count, start + list[gone].count <= position {
      start += list[gone].count
      dropFirst()
    }
    compact()
    return before - cost
  }

  private mutating func dropFirst() {
    guard let block = list[gone].block else { return }
    cost -= BodyChunks.slotCost + (isShared(gone, with: gone + 1) ? 0 : block.footprint)
    list[gone].block = nil
    gone += 1
  }

  private mutating func compact() {
    guard gone == list.count || (gone >= 64 && gone * 2 >= list.count) else { return }
    list.removeFirst(gone)
    firstNumber += gone
    gone = 0
  }

  /// What a place in the list costs: the list doubles, and so may be half empty.
  static let slotCost = 2 * MemoryLayout<BodyChunk>.stride
}
