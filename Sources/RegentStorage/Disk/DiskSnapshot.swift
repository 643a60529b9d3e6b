// The index on the disk: only a way not to look through the segments. What it says of what is no longer there does no
// harm, as each record is verified when it is read, and what was removed since is known from the removals.
// It is written some shards at a time, between which other work is done; so it takes no second copy of the index.

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

/// An index on its way to the disk.
struct DiskSnapshotWriting: Sendable {
  private let file: any DiskFile
  private let end: DiskPosition
  private let count: Int
  private var written = 0
  private var shard = 0
  private var offset = 0
  private var crc = CRC32C()

  /// The file's length when it is whole.
  var size: Int { DiskSnapshot.size(count) }

  /// Begins with the first page, which says how many entries will follow.
  init(
    _ device: any DiskDevice, count: Int, instance: UInt64, end: DiskPosition, witness: UInt64
  ) throws(SystemError) {
    (self.end, self.count) = (end, count)
    try device.remove(DiskName.newIndex)
    file = try device.file(DiskName.newIndex, .making)
    let page = DiskPage(
      magic: DiskFormat.indexMagic, instance: instance, first: end.rawValue, second: UInt64(count),
      third: witness)
    try append(page.encoded)
  }

  private mutating func append(_ bytes: [UInt8]) throws(SystemError) {
    try file.write(bytes.span, at: offset)
    crc.update(bytes.span)
    offset += bytes.count
  }

  /// Writes about so many bytes more, and brings them to the disk; whether that was all.
  mutating func writeSome(_ wanted: Int, of index: DiskIndex) throws(SystemError) -> Bool {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(wanted + wanted / 2)
    while shard < DiskIndex.shardCount, bytes.count < wanted {
      // What came after the beginning is found in the segments; so there are never more than there were.
      for entry in index.entries(ofShard: shard) where entry.position < end { put(entry, onto: &bytes) }
      shard += 1
    }
    // Places of what went meanwhile.
    while shard == DiskIndex.shardCount, written < count, bytes.count < wanted { put(.empty, onto: &bytes) }
    try append(bytes)
    let isWhole = shard == DiskIndex.shardCount && written == count
    if isWhole {
      var last: [UInt8] = []
      last.put(crc.value)
      try append(last)
    }
    try file.sync()
    return isWhole
  }

  private mutating func put(_ entry: DiskEntry, onto bytes: inout [UInt8]) {
    guard written < count else { return }
    written += 1
    bytes.put(entry.hash)
    bytes.put(entry.location)
    bytes.put(entry.variant)
    bytes.put(entry.meta)
  }
}
