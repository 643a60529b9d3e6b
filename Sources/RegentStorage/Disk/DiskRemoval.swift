// Removals as they are kept: 32 bytes each, in files of their own, so that a purge is durable without the bodies that
// were written meanwhile, and damage to a segment loses entries and never a removal.

import RegentLoop

/// What was removed: whatever of its kind was written before a position.
struct DiskRemoval: Sendable, Equatable {
  enum Kind: UInt32 {
    /// All responses of a key, one variant of it, or everything.
    case key = 1
    case variant, everything
    /// Nothing: all entries before this one are known to be on the disk.
    case synced
    /// The one record before the position.
    case record
  }
  var kind: Kind
  var hash: UInt64 = 0
  var variant: UInt32 = 0
  /// The first position that is not meant.
  var limit = DiskPosition(rawValue: 0)
  static let count = 32

  func write(instance: UInt64, number: Int, onto bytes: inout [UInt8]) {
    let start = bytes.count
    bytes.put(hash)
    bytes.put(limit.rawValue)
    bytes.put(variant)
    bytes.put(kind.rawValue)
    bytes.put(UInt32(truncatingIfNeeded: number))
    bytes.put(Self.checksum(bytes.span.extracting(start..<start + 28), instance))
  }

  /// The entry with this number in its file; nil where it is damaged.
  init?(_ bytes: Span<UInt8>, instance: UInt64, number: Int) {
    guard bytes.count == Self.count, let kind = Kind(rawValue: bytes.number(UInt32.self, at: 20)),
      bytes.number(UInt32.self, at: 24) == UInt32(truncatingIfNeeded: number),
      bytes.number(UInt32.self, at: 28) == Self.checksum(bytes.extracting(0..<28), instance)
    else { return nil }
    self.init(
      kind: kind, hash: bytes.number(UInt64.self, at: 0), variant: bytes.number(UInt32.self, at: 16),
      limit: DiskPosition(rawValue: bytes.number(UInt64.self, at: 8)))
  }

  init(kind: Kind, hash: UInt64 = 0, variant: UInt32 = 0, limit: DiskPosition = DiskPosition(rawValue: 0)) {
    (self.kind, self.hash, self.variant, self.limit) = (kind, hash, variant, limit)
  }

  private static func checksum(_ bytes: Span<UInt8>, _ instance: UInt64) -> UInt32 {
    var crc = CRC32C()
    crc.update(bytes)
    crc.update(instance)
    return crc.value
  }
}

/// All removals that records may still be subject to, while records are looked for.
struct DiskRemovals: Sendable {
  private struct Variant: Hashable, Sendable { var hash: UInt64, variant: UInt32 }
  private var keys: [UInt64: DiskPosition] = [:]
  private var variants: [Variant: DiskPosition] = [:]
  private var records: Set<DiskPosition> = []
  private(set) var everything = DiskPosition(rawValue: 0)
  /// The last position of which any entry tells.
  private(set) var last = DiskPosition(rawValue: 0)

  mutating func add(_ removal: DiskRemoval) {
    last = max(last, removal.limit)
    switch removal.kind {
    case .key: keys[removal.hash] = max(keys[removal.hash] ?? removal.limit, removal.limit)
    case .variant:
      let variant = Variant(hash: removal.hash, variant: removal.variant)
      variants[variant] = max(variants[variant] ?? removal.limit, removal.limit)
    case .everything: everything = max(everything, removal.limit)
    case .record: records.insert(removal.limit)
    case .synced: break
    }
  }

  func contains(_ entry: DiskEntry) -> Bool {
    if entry.position < everything { return true }
    if let limit = keys[entry.hash], entry.position < limit { return true }
    if !records.isEmpty, records.contains(entry.position.next) { return true }
    guard !variants.isEmpty else { return false }
    let limit = variants[Variant(hash: entry.hash, variant: entry.variant)]
    return limit.map { entry.position < $0 } ?? false
  }

  /// Takes in the entries of one file. An entry that cannot be read may have removed anything: where it was on the disk
  /// already, by the word of a later `synced`, everything older than that goes. Blank ones behind the last of these are
  /// such whose writing was cut short, and of which nobody was told; no entry lies in two sectors, so they are blank.
  ///
  /// - Returns: Whether there was such damage.
  mutating func read(_ bytes: Span<UInt8>, instance: UInt64) -> Bool {
    var (isDoubtful, isDamaged, number) = (false, false, 0)
    while (number + 1) * DiskRemoval.count <= bytes.count {
      let start = number * DiskRemoval.count
      if let removal = DiskRemoval(
        bytes.extracting(start..<start + DiskRemoval.count), instance: instance, number: number)
      {
        add(removal)
        if isDoubtful, removal.kind == .synced {
          isDamaged = true
          add(DiskRemoval(kind: .everything, limit: removal.limit))
          isDoubtful = false
        }
      } else {
        isDoubtful = true
        if (start..<start + DiskRemoval.count).contains(where: { bytes[$0] != 0 }) { isDamaged = true }
      }
      number += 1
    }
    return isDamaged
  }
}
