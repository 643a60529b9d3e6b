// A cache's directory as the next start would find it, read without a lock and without changing anything, also while a
// daemon writes to it. The recovery itself finds what there is, over a device that does not write; of all that is kept
// 24 bytes for each response, and everything else is read when it is asked for.

public import RegentLoop

/// A cache's directory that is only read.
public final class DiskArchive: Sendable {
  /// Who writes to the directory.
  public let holder: LockHolder
  /// What opening it found: damaged files, and in the segments that were looked through damaged records.
  public let findings: [DiskFinding]
  let identity: DiskIdentity
  /// The responses that can be found, by their position.
  let entries: [DiskEntry]
  let segments: DiskSegments
  /// From here on nobody has counted hits yet.
  let countedEnd: DiskPosition

  /// Opens a directory; it is neither made nor changed.
  public static func open(path: String) throws(DiskArchiveFailure) -> DiskArchive {
    let root: Folder
    do throws(SystemError) { root = try Folder.existing(path) } catch {
      throw error.isAbsence ? .absent : error.isNoFolder ? .noFolder : .system(error)
    }
    let folder = try versionFolder(in: root)
    // A segment may go while the others are looked at, and what was valuable in it is somewhere else by then.
    for _ in 1..<tries {
      let device = ReadingDevice(folder)
      let archive = try DiskArchive(device, holder: root.lockHolder(DiskName.lock))
      if !device.hasMissed, !archive.isShaken { return archive }
    }
    return try DiskArchive(ReadingDevice(folder), holder: root.lockHolder(DiskName.lock))
  }

  private static let tries = 5

  /// Whether removals that could not be read may be ones that were being written.
  private var isShaken: Bool { holder != .nobody && findings.contains { $0.file.hasSuffix(".removals") } }

  private static func versionFolder(in root: Folder) throws(DiskArchiveFailure) -> Folder {
    let others: [Int]
    do throws(SystemError) {
      if let folder = try knownFolder(in: root) { return folder }
      others = try root.names { $0.hasPrefix("v") }.compactMap { name in
        Int(name.dropFirst()).flatMap { "v\($0)" == name && $0 != Int(DiskFormat.version) ? $0 : nil }
      }
    } catch {
      throw .system(error)
    }
    throw others.max().map { .otherVersion($0) } ?? .foreign
  }

  private static func knownFolder(in root: Folder) throws(SystemError) -> Folder? {
    do throws(SystemError) { return try root.existingFolder(DiskFormat.folder) } catch {
      guard error.isAbsence || error.isNoFolder else { throw error }
      return nil
    }
  }

  private init(_ device: ReadingDevice, holder: LockHolder) throws(DiskArchiveFailure) {
    self.holder = holder
    identity = try Self.identity(device)
    var options = DiskOptions(budget: 1 << 62)
    options.budget = .max
    let core = DiskCore(options, device, identity.secret, nil)
    var engine = DiskEngine(core, identity)
    engine.open()
    guard engine.isOpen else {
      switch core.state {
      case .degraded(let error), .offline(let error): throw .system(error)
      case .healthy: throw .noIdentity
      }
    }
    countedEnd = engine.recovery?.snapshot?.end ?? DiskPosition(rawValue: 0)
    var reports = core.takeReports()
    while engine.recovery != nil {
      engine.recoverSome()
      reports += core.takeReports()
    }
    entries = core.index.entries { _ in true }.sorted { $0.location < $1.location }
    segments = core.segments
    findings = Self.findings(reports, entries, core.segments)
  }

  /// What the reports are about. Where a segment has a record that is none, all of it is looked at, to say which.
  private static func findings(
    _ reports: [DiskReport], _ entries: [DiskEntry], _ segments: DiskSegments
  ) -> [DiskFinding] {
    var findings: [DiskFinding] = []
    for report in reports {
      if let finding = DiskFinding(report) {
        findings.append(finding)
      } else if case .damage(let number, _, _) = report, let segment = segments[number] {
        findings += Self.findings(in: segment, entries.of(segment: number))
      }
    }
    return findings
  }

  private static func findings(in segment: DiskSegment, _ entries: ArraySlice<DiskEntry>) -> [DiskFinding] {
    var findings: [DiskFinding] = []
    do throws(SystemError) {
      var walk = try SegmentWalk(segment, entries: entries)
      while let step = try walk.next() {
        if case .finding(let finding) = step { findings.append(finding) }
      }
    } catch {
      findings.append(DiskFinding(.unreadable, segment: segment.number, offset: 0, error.description))
    }
    return findings
  }

  private static func identity(_ device: ReadingDevice) throws(DiskArchiveFailure) -> DiskIdentity {
    do throws(SystemError) {
      let page = try device.file(DiskName.identity, .reading).bytes(DiskPage.count, at: 0)
      if let identity = page.withBytes({ DiskIdentity($0) }) { return identity }
    } catch {
      if error.isAbsence { throw .noIdentity }
      guard error.isNoFile else { throw .system(error) }
    }
    throw .damagedIdentity
  }

  /// How many responses can be found.
  public var count: Int { entries.count }
  /// How many segments there are.
  public var segmentCount: Int { segments.numbers.count }
}

extension SystemError {
  /// Whether it is no regular file, or a link.
  fileprivate var isNoFile: Bool { code == 21 || code == 40 }
}
