// The segments that are read: each an open file, kept open by whoever still reads it after it was removed.

import RegentLoop

/// A segment that may be read.
final class DiskSegment: Sendable {
  let number: UInt32
  let instance: UInt64
  let file: any DiskFile

  init(number: UInt32, instance: UInt64, file: any DiskFile) {
    (self.number, self.instance, self.file) = (number, instance, file)
  }
}

/// The segments by number. Those that are missing here are gone, whatever the index says.
final class DiskSegments: Sendable {
  private let table = Lock<[UInt32: DiskSegment]>([:])

  subscript(number: UInt32) -> DiskSegment? { table.withLock { $0[number] } }
  func add(_ segment: DiskSegment) { table.withLock { $0[segment.number] = segment } }
  func remove(_ number: UInt32) { _ = table.withLock { $0.removeValue(forKey: number) } }
  func removeAll() {
    // Let go of after the lock.
    let gone = table.withLock { table in
      defer { table = [:] }
      return table
    }
    _ = gone.count
  }
  var numbers: [UInt32] { table.withLock { Array($0.keys) } }
}
