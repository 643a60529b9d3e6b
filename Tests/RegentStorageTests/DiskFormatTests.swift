// The format to the byte: what is written is read, and nothing else is.

import TestKit
import Testing

@testable import RegentLoop
@testable import RegentStorage

@Suite("The disk format") struct DiskFormatTests {
  /// RFC 3720 appendix B.4, and the check value that all catalogues of checksums give.
  static let vectors: [([UInt8], UInt32)] = [
    (Array(repeating: 0, count: 32), 0x8A91_36AA), (Array(repeating: 0xFF, count: 32), 0x62A8_AB43),
    (Array(0..<32), 0x46DD_794E), (Array((0..<32).reversed()), 0x113F_DB5C),
    (bytes("123456789"), 0xE306_9283), ([], 0),
  ]

  @Test("CRC32C gives the values of RFC 3720", arguments: vectors)
  func checksum(_ content: [UInt8], _ expected: UInt32) {
    #expect(castagnoli(content[...]) == expected)
    var byTable = CRC32C()
    byTable.updateByTable(content.span)
    #expect(byTable.value == expected)
  }

  @Test("the instructions, wide and in interleaved streams, and the tables agree, in one run or in pieces")
  func checksumsAgree() {
    var random = SeededGenerator(seed: 32)
    let content = pattern(0..<80_000)
    for _ in 0..<300 {
      let start = Int.random(in: 0..<1000, using: &random)
      let end = Int.random(in: start...content.count, using: &random)
      let cut = Int.random(in: start...end, using: &random)
      var (pieces, words, table) = (CRC32C(), CRC32C(), CRC32C())
      pieces.update(content.span.extracting(start..<cut))
      pieces.update(content.span.extracting(cut..<end))
      table.updateByTable(content.span.extracting(start..<min(end, start + 2000)))
      words.updateByWords(content.span.extracting(start..<cut))
      words.updateByWords(content.span.extracting(cut..<end))
      #expect(pieces.value == castagnoli(content[start..<end]))
      #expect(words.value == pieces.value)
      #expect(table.value == castagnoli(content[start..<min(end, start + 2000)]))
    }
  }

  @Test("every length up to four steps of the widest instruction is right, wherever it begins")
  func checksumLengths() {
    let content = pattern(7..<1400)
    for count in 0...1100 {
      let start = count % 67
      #expect(
        CRC32C.of(content.span.extracting(start..<start + count))
          == castagnoli(content[start..<start + count]))
    }
  }

  /// The test vector of the SipHash paper, appendix A.
  @Test("SipHash-2-4 gives the value of its paper")
  func sipHash() {
    let key = SipKey(first: 0x0706_0504_0302_0100, second: 0x0f0e_0d0c_0b0a_0908)
    let message = [UInt8](0..<15)
    let hash = key.hash(message.span)
    #expect(hash == 0xa129_ca61_49be_45e5)
  }

  static let sizes = [0, 1, 7, 8, 4095, 4096, 65_535, 65_536, 65_537, 200_000]

  @Test("a record is read as it was written, wherever its body's blocks end", arguments: sizes)
  func roundTrip(count: Int) throws {
    let record = Written(count: count)
    let found = try #require(record.lead)
    #expect(found == record.lead)
    #expect(found.keyCount == 3 && found.headCount == 9 && found.bodyCount == count)
    #expect(record.bytes.count == found.recordCount && record.bytes.count % 8 == 0)
    #expect(found.isIntact(Slice(record.bytes)))
    #expect(found.body(Slice(record.bytes)).bytes == record.body)
    #expect(
      text(found.key(Slice(record.bytes))) == "key" && text(found.head(Slice(record.bytes))) == "some head")
  }

  @Test("a record with any bit flipped is refused", arguments: [0, 1, 300, 70_000])
  func flips(count: Int) throws {
    let record = Written(count: count)
    let lead = try #require(record.lead)
    let padding = lead.count + count..<lead.trailerStart
    // Every bit of a short record; of a long one, those of its lead and trailer and each hundredth byte.
    let offsets = record.bytes.indices.filter { $0 < 100 || $0 % 101 == 0 || $0 >= lead.trailerStart }
    for offset in offsets where !padding.contains(offset) {
      for bit in 0..<8 as Range<UInt8> {
        var bytes = record.bytes
        bytes[offset] ^= 1 << bit
        #expect(!record.isRead(bytes), "byte \(offset), bit \(bit)")
      }
    }
  }

  @Test("a record that is cut short anywhere is refused", arguments: [0, 300])
  func cuts(count: Int) {
    let record = Written(count: count)
    for length in record.bytes.indices { #expect(!record.isRead(Array(record.bytes[..<length]))) }
  }

  @Test("a record at another place, or of another directory, is refused")
  func elsewhere() {
    let record = Written(count: 100)
    #expect(record.isRead(record.bytes))
    #expect(!record.isRead(record.bytes, at: DiskPosition(segment: 7, offset: 4104)))
    #expect(!record.isRead(record.bytes, at: DiskPosition(segment: 8, offset: 4096)))
    #expect(!record.isRead(record.bytes, instance: 100))
  }

  @Test("lengths that cannot be are refused before anything is allocated for them")
  func lengths() {
    let record = Written(count: 100)
    for offset in [32, 40, 44, 48, 52] {
      for value in [UInt32.max, 1 << 31, 1 << 20] {
        var bytes = record.bytes
        bytes.put(value, at: offset)
        bytes.put(DiskFormatTests.resealed(bytes), at: 60)
        #expect(!record.isRead(bytes))
      }
    }
  }

  private static func resealed(_ bytes: [UInt8]) -> UInt32 {
    var crc = CRC32C()
    crc.update(bytes.span.extracting(0..<60))
    crc.update(bytes.span.extracting(64..<80))
    return crc.value
  }

  @Test("a file's first page is refused with any bit flipped, or of another version")
  func pages() {
    let page = DiskPage(magic: DiskFormat.segmentMagic, instance: 5, first: 6, second: 7, third: 8)
    #expect(read(page.encoded, DiskFormat.segmentMagic) == page)
    #expect(read(page.encoded, DiskFormat.indexMagic) == nil)
    for bit in 0..<512 {
      var bytes = page.encoded
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(read(bytes, DiskFormat.segmentMagic) == nil)
    }
  }

  @Test("names are taken for ours only as we write them")
  func names() {
    #expect(DiskName.number("12.segment", ".segment") == 12)
    for name in [
      "012.segment", "0.segment", "+1.segment", "1.segment ", ".segment", "1.segments", "4294967295.segment",
    ] {
      #expect(DiskName.number(name, ".segment") == nil)
    }
  }

  @Test("a length's code is a bound, and at most a sixteenth above it")
  func lengthCodes() {
    var random = SeededGenerator(seed: 8)
    for _ in 0..<5000 {
      let count = Int.random(in: 80..<(1 << Int.random(in: 7..<23, using: &random)), using: &random)
      let bound = DiskLength.bound(DiskLength.code(count))
      #expect(bound >= count && bound <= max(128, count + count / 16 + 8))
    }
  }

  @Test(
    "removals that were cut short at the end are let be; damage among those that were synced takes all before"
  )
  func removalDamage() {
    var bytes: [UInt8] = []
    for number in 0..<6 {
      let kind = number % 2 == 1 ? DiskRemoval.Kind.synced : .key
      DiskRemoval(kind: kind, hash: UInt64(number), limit: DiskPosition(rawValue: UInt64(100 + number)))
        .write(instance: 9, number: number, onto: &bytes)
    }
    let whole = read(bytes)
    #expect(
      !whole.isDamaged && whole.removals.last.rawValue == 105 && whole.removals.everything.rawValue == 0)
    let torn = read(bytes.dropLast(32) + Array(repeating: 0, count: 32))
    #expect(!torn.isDamaged && torn.removals.everything.rawValue == 0)
    for number in 0..<5 {
      var flipped = bytes
      flipped[number * 32 + 3] ^= 4
      let damaged = read(flipped)
      #expect(
        damaged.isDamaged
          && damaged.removals.everything.rawValue == UInt64(number % 2 == 1 ? 102 + number : 101 + number))
    }
  }
}

private func castagnoli(_ bytes: ArraySlice<UInt8>) -> UInt32 {
  let bytes = Array(bytes)
  return CRC32C.of(bytes.span)
}

private func read(_ bytes: [UInt8], _ magic: UInt32) -> DiskPage? { DiskPage(bytes.span, magic: magic) }

private func read(_ bytes: [UInt8]) -> (removals: DiskRemovals, isDamaged: Bool) {
  var removals = DiskRemovals()
  let isDamaged = removals.read(bytes.span, instance: 9)
  return (removals, isDamaged)
}

/// A record of a body of so many bytes.
private struct Written {
  let position = DiskPosition(segment: 7, offset: 4096)
  let body: [UInt8]
  var bytes: [UInt8] = []

  init(count: Int) {
    body = pattern(0..<count)
    let content = DiskContent(
      variant: 4, key: RegentStorageTests.bytes("key"), head: RegentStorageTests.bytes("some head"),
      body: [Slice(body)])
    _ = content.write(at: position, instance: 99, wall: 12, onto: &bytes)
  }

  var lead: DiskLead? {
    guard case .lead(let lead) = DiskLead.read(bytes.span, instance: 99, position: position) else {
      return nil
    }
    return lead
  }

  func isRead(_ bytes: [UInt8], at position: DiskPosition? = nil, instance: UInt64 = 99) -> Bool {
    let reading = DiskLead.read(bytes.span, instance: instance, position: position ?? self.position)
    guard case .lead(let lead) = reading, lead.isWhole(in: Slice(bytes)) else { return false }
    return lead.isIntact(Slice(bytes))
  }
}
