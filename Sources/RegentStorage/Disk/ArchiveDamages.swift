// What is behind the damage that the recovery speaks of when an archive is opened: where exactly it is, and whether it is
// any, and not merely what a writer has begun and not ended.

import RegentLoop

/// A directory as it was found, for its damages to be looked at anew.
struct ArchiveDamages {
  let device: ReadingDevice
  let identity: DiskIdentity
  let entries: [DiskEntry]
  let segments: DiskSegments
  /// The index on the disk is about all records before this.
  let indexedEnd: DiskPosition

  /// What the reports are about, and whether all of that can still be seen.
  func findings(_ reports: [DiskReport]) -> (found: [DiskFinding], isRepeatable: Bool) {
    var (all, isRepeatable) = ([DiskFinding](), true)
    for case .damage(let number, let offset, let reason) in reports {
      guard let found = findings(number, offset, reason) else { continue }
      if found.isEmpty { isRepeatable = false }
      all += found
    }
    return (all, isRepeatable)
  }

  /// What one report is about: nothing where it is not so any more, nil where it is about nothing that is told.
  private func findings(_ number: UInt32, _ offset: Int, _ reason: String) -> [DiskFinding]? {
    switch reason {
    case "segment": return beginning(of: number).map { [$0] } ?? []
    case "record": return segments[number].map { records(of: $0) } ?? []
    case "removals":
      return [DiskFinding(file: DiskName.removals(number), offset: 0, "some removals cannot be known")]
    case "index":
      return [DiskFinding(file: DiskName.indexes[offset & 1], offset: 0, "the index is not what was written")]
    default: return nil
    }
  }

  /// Where a segment has a record that is none, all of it is looked at, to say which.
  private func records(of segment: DiskSegment) -> [DiskFinding] {
    var findings: [DiskFinding] = []
    do throws(SystemError) {
      var walk = try SegmentWalk(segment, entries: entries.of(segment: segment.number))
      while let step = try walk.next() {
        if case .finding(let finding) = step { findings.append(finding) }
      }
    } catch {
      findings.append(DiskFinding(.unreadable, segment: segment.number, offset: 0, error.description))
    }
    return findings
  }

  /// What is wrong with the first page of a segment; nil where nothing is any more. It is written before any record: so
  /// the last segment, as long as all of it is blank, is one that is only being made, or whose making was cut short.
  private func beginning(of number: UInt32) -> DiskFinding? {
    do throws(SystemError) {
      let file = try device.file(DiskName.segment(number), .reading)
      let isLast = segments.numbers.allSatisfy { $0 < number }
      let hadRecords = indexedEnd > DiskPosition(segment: number, offset: DiskFormat.page)
      if isLast, !hadRecords, try file.isBlank() {
        return DiskFinding(.uncommitted, segment: number, offset: 0, "the segment was not begun")
      }
      let page = try file.bytes(DiskPage.count, at: 0).withBytes {
        DiskPage($0, magic: DiskFormat.segmentMagic)
      }
      let isGood = page?.instance == identity.instance && page?.first == UInt64(number)
      return isGood ? nil : DiskFinding(segment: number, offset: 0, "the first page is not what was written")
    } catch {
      return error.isAbsence ? nil : DiskFinding(.unreadable, segment: number, offset: 0, error.description)
    }
  }
}

extension DiskFile {
  /// Whether nothing was ever written to it.
  fileprivate func isBlank() throws(SystemError) -> Bool {
    var offset = 0
    while true {
      let stretch = try bytes(DiskWindow.size, at: offset)
      guard stretch.count > 0 else { return true }
      guard stretch.bytes.allSatisfy({ $0 == 0 }) else { return false }
      offset += stretch.count
    }
  }
}
