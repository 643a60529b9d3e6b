// Bodies whose every byte follows from their name, so that a wrong byte is seen wherever it comes from: another
// object, another offset, another run. Compared in bulk, because a debug build is slow byte by byte.

import Glibc
import TestKit

/// The endless content that belongs to a name.
struct Pattern: Sendable {
  private static let block: [UInt8] = {
    var generator = SeededGenerator(seed: 0x5EED)
    return (0..<262_147).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }()

  private let start: Int

  init(for name: String) {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    start = Int(hash % UInt64(Pattern.block.count))
  }

  /// The bytes from `offset` on.
  func bytes(from offset: Int = 0, count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    var position = (start + offset) % Pattern.block.count
    while bytes.count < count {
      let end = min(Pattern.block.count, position + count - bytes.count)
      bytes.append(contentsOf: Pattern.block[position..<end])
      position = 0
    }
    return bytes
  }

  /// Whether `chunk` is what stands at `offset`.
  func matches(_ chunk: [UInt8], at offset: Int = 0) -> Bool {
    isSame(chunk, bytes(from: offset, count: chunk.count))
  }
}

/// Whether two byte arrays are equal.
func isSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
  guard one.count == other.count else { return false }
  return unsafe memcmp(one, other, one.count) == 0
}
