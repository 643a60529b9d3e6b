// The segments that are read: each an open file, kept open by whoever still reads it after it was removed. There are
// several copies of the table, each behind its own lock, so that readers on several threads do not wait for each other.

import RegentLoop

/// A segment that may be read.
final class DiskSegment: Sendable {
  let number: UInt32
  let instance: UInt64
  let file: any DiskFile
  /// The file itself, where its bytes may be sent from it.
  let sendable: RandomFile?
  /// What was seen of its long bodies.
  let looks = Lock(DiskLooks())
  private enum Mapped: Sendable {
    case not
    case here(FileMapping)
    case impossible
  }
  private let mapped = Lock(Mapped.not)

  init(number: UInt32, instance: UInt64, file: any DiskFile) {
    (self.number, self.instance, self.file) = (number, instance, file)
    sendable = file.sendable
  }

  /// The file's bytes as memory, where that can be: so that what is verified there may be sent from it.
  ///
  /// - Parameter length: How long the file will be in the end.
  func mapping(_ length: Int) -> FileMapping? {
    guard let sendable else { return nil }
    return mapped.withLock { mapped in
      if case .not = mapped { mapped = FileMapping(sendable, count: length).map(Mapped.here) ?? .impossible }
      if case .here(let mapping) = mapped { return mapping }
      return nil
    }
  }

  /// How many bytes are mapped.
  var mappedCount: Int { mapped.withLock { if case .here(let mapping) = $0 { mapping.count } else { 0 } } }

  /// Lets the mapping go as soon as nobody reads it; who comes next has another one.
  func unmap() {
    // Let go of after the lock: the last reference asks the kernel.
    let last = mapped.withLock { mapped in
      guard case .here(let mapping) = mapped else { return nil as FileMapping? }
      mapped = .not
      return mapping
    }
    _ = last?.count
  }
}

/// Segments in the order of their numbers.
private struct DiskSegmentTable: Sendable {
  private(set) var numbers: [UInt32] = []
  private(set) var segments: [DiskSegment] = []

  /// The first place with no lesser number.
  private func place(_ number: UInt32) -> Int {
    var (low, high) = (0, numbers.count)
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  subscript(number: UInt32) -> DiskSegment? {
    let place = place(number)
    return place < numbers.count && numbers[place] == number ? segments[place] : nil
  }

  mutating func add(_ segment: DiskSegment) {
    remove(segment.number)
    let place = place(segment.number)
    numbers.insert(segment.number, at: place)
    segments.insert(segment, at: place)
  }

  mutating func remove(_ number: UInt32) {
    let place = place(number)
    guard place < numbers.count, numbers[place] == number else { return }
    numbers.remove(at: place)
    segments.remove(at: place)
  }
}

/// A copy of the table behind its lock. A class, as an array cannot hold locks.
private final class DiskSegmentCell: Sendable {
  let table = Lock(DiskSegmentTable())
}

/// The segments by number. Those that are missing here are gone, whatever the index says.
final class DiskSegments: Sendable {
  private static let copies = 16
  private let cells = (0..<copies).map { _ in DiskSegmentCell() }

  subscript(number: UInt32) -> DiskSegment? { self[number, by: 0] }

  /// The segment with this number, out of the copy that a hash's readers use.
  subscript(number: UInt32, by hash: UInt64) -> DiskSegment? {
    cells[Int(truncatingIfNeeded: hash >> 60) % Self.copies].table.withLock { $0[number] }
  }

  // Only the writer changes the table, so the copies change in the same order.
  func add(_ segment: DiskSegment) { change { $0.add(segment) } }
  func remove(_ number: UInt32) { change { $0.remove(number) } }
  func removeAll() { change { $0 = DiskSegmentTable() } }

  /// Has it forgotten what was seen too long ago to be of use.
  func forgetLooks(_ now: Int64, _ verify: DiskVerification) {
    for segment in cells[0].table.withLock({ $0.segments }) {
      segment.looks.withLock { $0.forget(now, verify) }
    }
  }

  /// Lets all mappings go where they are longer than `limit` bytes together.
  func unmap(over limit: Int) {
    let all = cells[0].table.withLock { $0.segments }
    guard all.reduce(0, { $0 + $1.mappedCount }) > limit else { return }
    for segment in all { segment.unmap() }
  }
  var numbers: [UInt32] { cells[0].table.withLock { $0.numbers } }

  private func change(_ body: (inout DiskSegmentTable) -> Void) {
    for cell in cells {
      // Let go of after the lock: the last reference closes a file.
      let before = cell.table.withLock { table in
        let before = table
        body(&table)
        return before
      }
      _ = before.numbers.count
    }
  }
}
