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
  private let device: ReadingDevice
  /// Whether what was found is so, and nothing that was only being written.
  private let isSettled: Bool
  /// Damage that was found, whether it is taken for such or not.
  private let doubts: [DiskFinding]

  /// Opens a directory; it is neither made nor changed.
  public static func open(path: String) throws(DiskArchiveFailure) -> DiskArchive {
    let root: Folder
    do throws(SystemError) { root = try Folder.existing(path) } catch {
      throw error.isAbsence ? .absent : error.isNoFolder ? .noFolder : .system(error)
    }
    let folder = try versionFolder(in: root)
    // A segment may go while the others are looked at, and what was valuable in it is somewhere else by then.
    var earlier: [DiskFinding] = []
    for _ in 1..<tries {
      let archive = try DiskArchive(ReadingDevice(folder), in: root, earlier: earlier)
      if archive.isSettled { return archive }
      earlier = archive.doubts
    }
    return try DiskArchive(ReadingDevice(folder), in: root, earlier: earlier)
  }

  private static let tries = 5

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

  /// Looks at all of it once. Where somebody writes to it, only what was found before, too, is taken for damage: what was
  /// only being written is another thing, or nothing, the next time.
  private init(
    _ device: ReadingDevice, in root: Folder, earlier: [DiskFinding]
  ) throws(DiskArchiveFailure) {
    self.device = device
    holder = root.lockHolder(DiskName.lock)
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
    let damages = ArchiveDamages(
      device: device, identity: identity, entries: entries, segments: segments, indexedEnd: countedEnd)
    let (found, isRepeatable) = damages.findings(reports)
    doubts = found.filter(\.isDamage)
    // A writer may come while all is looked at.
    let isAlone = holder == .nobody && root.lockHolder(DiskName.lock) == .nobody
    isSettled = isAlone || isRepeatable && !device.hasMissed && doubts.allSatisfy { earlier.contains($0) }
    findings = isAlone ? found : found.filter { !$0.isOfWriter && (!$0.isDamage || earlier.contains($0)) }
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
  /// The bytes that the store's owner keeps under a name, as they are now; nil where there are none, or damaged ones.
  public func memo(_ name: String) -> [UInt8]? {
    // What cannot be read is not there for us.
    (try? device.file(DiskName.memo(name), .reading).bytes(DiskPage.count + DiskMemos.limit + 1, at: 0))
      .flatMap { DiskMemos.decoded(name, $0.bytes, instance: identity.instance) }
  }

  /// How many segments there are.
  public var segmentCount: Int { segments.numbers.count }
}

extension SystemError {
  /// Whether it is no regular file, or a link.
  fileprivate var isNoFile: Bool { code == 21 || code == 40 }
}
