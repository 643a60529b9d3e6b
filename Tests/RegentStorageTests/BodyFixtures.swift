// What the tests of bodies share: whole writes, whole reads, and waiting for others to wait.

import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

/// Writes a body in pieces of random lengths, from blocks that hold several of them, and finishes it.
func write(_ whole: [UInt8], to stream: BodyStream, seed: UInt64) async {
  var random = SeededGenerator(seed: seed)
  var (block, start) = (Block(capacity: 20_000), 0)
  while start < whole.count {
    let count = min(Int.random(in: 1...5000, using: &random), whole.count - start)
    if block.room < count { block = Block(capacity: 20_000) }
    let place = block.count
    let piece = Array(whole[start..<(start + count)])
    let span = piece.span
    block.append(span)
    guard await stream.append(Slice(block, place..<(place + count))) == .accepted else { return }
    start += count
  }
  stream.finish()
}

func readAll(_ reader: BodyReader, upTo bytes: Int) async -> Result<[UInt8], BodyFailure> {
  var read: [UInt8] = []
  do throws(BodyFailure) {
    while let slices = try await reader.next(upTo: bytes) {
      #expect(!slices.isEmpty && slices.reduce(0) { $0 + $1.count } <= bytes)
      for slice in slices { slice.copy(onto: &read) }
    }
    return .success(read)
  } catch {
    return .failure(error)
  }
}

/// Lets other tasks run until one of them waits.
func parked(_ isParked: () -> Bool) async {
  while !isParked() { await Task.yield() }
}

extension Block {
  static func zeroes(_ count: Int) -> Block { Block([UInt8](repeating: 0, count: count)) }
}
