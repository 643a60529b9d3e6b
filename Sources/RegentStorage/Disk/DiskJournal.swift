// The files of removals: appended to, made durable before anybody is told, and removed when no record that they speak
// of is left.

import RegentLoop

/// The file that removals are written to now, and those before it.
struct DiskJournal: Sendable {
  private struct File: Sendable {
    let number: UInt32
    var limit: DiskPosition
    var length: Int
  }
  private var files: [File] = []
  private var open: (any DiskFile)?
  private var entries = 0
  private(set) var lastNumber: UInt32 = 0
  /// A file is followed by the next from this length on.
  static let fileLimit = 4 << 20

  /// The bytes that the files take.
  var bytes: Int { files.reduce(0) { $0 + $1.length } }

  /// The file that is written to now above, how many entries it has below: what segments and snapshots bear witness to,
  /// so that it is noticed if the file is cut short.
  var witness: UInt64 { open == nil ? 0 : UInt64(lastNumber) << 32 | UInt64(max(0, entries - 1)) }

  /// Whether there are as many entries as was said. A file that is gone, and was not the last, went in its turn.
  func bears(_ witness: UInt64) -> Bool {
    let (number, count) = (UInt32(truncatingIfNeeded: witness >> 32), Int(witness & 0xFFFF_FFFF))
    guard count > 0 else { return true }
    guard let file = files.first(where: { $0.number == number }) else { return lastNumber > number }
    return (file.length - DiskPage.count) / DiskRemoval.count >= count
  }

  /// Counts a file that was there at the start.
  mutating func found(_ number: UInt32, length: Int, limit: DiskPosition) {
    files.append(File(number: number, limit: limit, length: length))
    lastNumber = max(lastNumber, number)
  }

  /// Writes removals, and returns when they are on the disk. After a failure the file is not used any more.
  mutating func append(
    _ removals: [DiskRemoval], instance: UInt64, device: any DiskDevice
  ) throws(SystemError) {
    do throws(SystemError) {
      let file = try current(instance, device)
      var bytes: [UInt8] = []
      for (index, removal) in removals.enumerated() {
        removal.write(instance: instance, number: entries + index, onto: &bytes)
      }
      try file.write(bytes.span, at: DiskPage.count + entries * DiskRemoval.count)
      try file.sync()
      entries += removals.count
      let last = files.count - 1
      files[last].limit = max(files[last].limit, removals.map(\.limit).max() ?? files[last].limit)
      try writeSynced(file, files[last].limit, instance)
      files[last].length = DiskPage.count + entries * DiskRemoval.count
    } catch {
      open = nil
      throw error
    }
  }

  /// Says that all before is on the disk; this itself need not be.
  private mutating func writeSynced(
    _ file: any DiskFile, _ limit: DiskPosition, _ instance: UInt64
  ) throws(SystemError) {
    var bytes: [UInt8] = []
    DiskRemoval(kind: .synced, limit: limit).write(instance: instance, number: entries, onto: &bytes)
    try file.write(bytes.span, at: DiskPage.count + entries * DiskRemoval.count)
    entries += 1
  }

  private mutating func current(
    _ instance: UInt64, _ device: any DiskDevice
  ) throws(SystemError) -> any DiskFile {
    if let open, (files.last?.length ?? 0) < Self.fileLimit { return open }
    let number = lastNumber + 1
    lastNumber = number
    let file = try device.file(DiskName.removals(number), .making)
    let page = DiskPage(magic: DiskFormat.removalsMagic, instance: instance, first: UInt64(number))
    files.append(File(number: number, limit: DiskPosition(rawValue: 0), length: DiskPage.count))
    entries = 0
    try file.write(page.encoded.span, at: 0)
    // Room for the first few thousand, so that a full disk does not keep a purge from being kept.
    try file.allocate(256 << 10, at: 0, grows: false)
    try file.sync()
    try device.sync()
    open = file
    return file
  }

  /// Removes the files that speak of nothing that is left: all before the segment with this number is gone.
  mutating func forget(before segment: UInt32, device: any DiskDevice) {
    while files.count > 1, files[0].limit < DiskPosition(segment: segment, offset: 0) {
      // What cannot be removed now is found again at the next start.
      try? device.remove(DiskName.removals(files[0].number))
      files.removeFirst()
    }
  }

  mutating func closeFile() { open = nil }
}
