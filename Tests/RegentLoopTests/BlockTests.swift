// Blocks: append, publish, copy, and what they cost.

import RegentLoop
import Testing

@discardableResult
private func append(_ bytes: [UInt8], to block: Block) -> Int {
  let span = bytes.span
  return block.append(span)
}

@Suite("A block of bytes")
struct BlockTests {
  @Test("takes as many bytes as it has room for, and no more")
  func appendsUpToCapacity() {
    let block = Block(capacity: 5)
    #expect(append([1, 2, 3], to: block) == 3)
    #expect(block.room == 2)
    #expect(append([4, 5, 6], to: block) == 2)
    #expect(append([7], to: block) == 0)
    #expect(block.room == 0)
    #expect(Slice(block).bytes == [1, 2, 3, 4, 5])
  }

  @Test("may be empty")
  func empty() {
    let block = Block(capacity: 0)
    #expect(block.count == 0)
    #expect(append([1], to: block) == 0)
    #expect(Slice([]).bytes == [])
    #expect(block.holds([]))
  }

  @Test("copies a range of its bytes behind what an array holds")
  func copiesRange() {
    var bytes: [UInt8] = [9]
    Block([1, 2, 3, 4]).copy(1..<3, onto: &bytes)
    #expect(bytes == [9, 2, 3])
  }

  @Test(
    "knows whether it holds given bytes at a place",
    arguments: [
      ([1, 2], 0, true), ([2, 3], 1, true), ([3, 4], 2, false), ([2], 0, false), ([], 3, true),
      ([], 4, false),
      ([1], -1, false), ([1, 2, 3, 4], 0, false),
    ] as [([UInt8], Int, Bool)])
  func holds(bytes: [UInt8], start: Int, answer: Bool) {
    #expect(Block([1, 2, 3]).holds(bytes, at: start) == answer)
  }

  @Test("is a reference: copies share their bytes")
  func isReference() {
    let block = Block(capacity: 2)
    let copy = block
    append([7], to: block)
    #expect(copy.count == 1)
    #expect(copy === block)
    #expect(!(Block([7]) === block))
  }

  @Test(
    "costs its header and malloc's, in steps of 16",
    arguments: [(0, 32), (8, 48), (16, 48), (17, 64), (1179, 1216)])
  func overhead(capacity: Int, allocated: Int) {
    #expect(Block.overhead(capacity: capacity) + capacity == allocated)
    #expect(Block(capacity: capacity).footprint == allocated)
  }

  @Test("shows a reader on another thread published bytes only")
  func publishesAcrossThreads() async {
    let block = Block(capacity: 100_000)
    async let read: Bool = Task.detached {
      var seen = 0
      while seen < 100_000 {
        seen = block.count
        let isRight = block.withBytes { bytes in
          (max(0, seen - 64)..<seen).allSatisfy { bytes[$0] == UInt8(truncatingIfNeeded: $0) }
        }
        guard isRight else { return false }
        await Task.yield()
      }
      return true
    }.value
    for start in stride(from: 0, to: 100_000, by: 100) {
      append((start..<(start + 100)).map { UInt8(truncatingIfNeeded: $0) }, to: block)
    }
    #expect(await read)
  }
}
