// The index on the disk: only a way not to look through the segments. What it says of what is no longer there does no
// harm, as each record is verified when it is read, and what was removed since is known from the removals.

import RegentLoop

struct DiskSnapshot: Sendable {
  /// All records before this position are in it, or gone.
  let end: DiskPosition
  /// How many removals there were, as ``DiskJournal/witness``.
  let witness: UInt64
  private let block: Slice
  let count: Int
  static let entryCount = 24

  /// The bytes of a snapshot of so many entries.
  static func size(_ count: Int) -> Int { DiskPage.count + count * entryCount + 4 }

  static func encoded(_ entries: [DiskEntry], instance: UInt64, end: DiskPosition, witness: UInt64) -> [UInt8]
  {
    var bytes = DiskPage(
      magic: DiskFormat.indexMagic, instance: instance, first: end.rawValue, second: UInt64(entries.count),
      third: witness
    ).encoded
    bytes.reserveCapacity(size(entries.count))
    for entry in entries {
      bytes.put(entry.hash)
      bytes.put(entry.location)
      bytes.put(entry.variant)
      bytes.put(entry.meta)
    }
    bytes.put(CRC32C.of(bytes.span))
    return bytes
  }

  /// The whole of a snapshot; nil where any bit of it is not as it was written.
  init?(_ file: any DiskFile, instance: UInt64) throws(SystemError) {
    let length = try file.size().length
    guard length >= Self.size(0), length <= 1 << 31 else { return nil }
    let block = try file.bytes(length, at: 0)
    let page = block.withBytes { bytes -> DiskPage? in
      guard bytes.count == length, let page = DiskPage(bytes, magic: DiskFormat.indexMagic),
        page.instance == instance, page.second < 1 << 27, Self.size(Int(page.second)) == length,
        CRC32C.of(bytes.extracting(0..<length - 4)) == bytes.number(UInt32.self, at: length - 4)
      else { return nil }
      return page
    }
    guard let page else { return nil }
    self.block = block
    end = DiskPosition(rawValue: page.first)
    count = Int(page.second)
    witness = page.third
  }

  /// Calls `body` with some of the entries.
  func forEach(_ range: Range<Int>, _ body: (DiskEntry) -> Void) {
    block.withBytes { bytes in
      for index in range {
        let start = DiskPage.count + index * Self.entryCount
        body(
          DiskEntry(
            hash: bytes.number(UInt64.self, at: start), location: bytes.number(UInt64.self, at: start + 8),
            variant: bytes.number(UInt32.self, at: start + 16),
            meta: bytes.number(UInt32.self, at: start + 20)))
      }
    }
  }
}
