// A cache's directory, looked at while a daemon has it or not: what is stored, in several orders, and whether all of it
// is as it was written. Nothing is changed, and no lock is taken.

import RegentCaching
public import RegentConfig
import RegentLoop
import RegentStorage

/// A cache's directory.
public struct CacheDirectory: Sendable {
  public let path: String
  let archive: DiskArchive
  let rules: StoredRules
  let now: Int64

  /// Opens a directory. Without a configuration its responses are judged by HTTP's own rules.
  public static func open(
    _ path: String, configuration: Configuration?
  ) throws(DaemonError) -> CacheDirectory {
    // Each segment is an open file.
    _ = DescriptorLimit.raise(reserving: 64, wanted: 1 << 20)
    do throws(DiskArchiveFailure) {
      return CacheDirectory(
        path, try DiskArchive.open(path: path), configuration, now: LoopClock.read().wall)
    } catch {
      throw DaemonError(error, path)
    }
  }

  /// What was invalidated is read last: what is stored was asked for before.
  init(_ path: String, _ archive: DiskArchive, _ configuration: Configuration?, now: Int64) {
    let generations = archive.memo(TargetGenerations.memo).flatMap { TargetGenerations(kept: $0) }
    (self.path, self.archive, self.now) = (path, archive, now)
    rules = StoredRules(configuration, generations)
  }

  /// Who has the directory; nil where nobody does.
  public var owner: String? {
    switch archive.holder {
    case .nobody: nil
    case .process(let id): "a daemon has it (process \(id))"
    case .unknown: "whether a daemon has it cannot be told"
    }
  }

  /// How many responses there are.
  public var count: Int { archive.count }

  /// What opening it found to be other than it was written, and what was not written to its end.
  public var findings: [DirectoryFinding] { archive.findings.map { DirectoryFinding($0) } }

  enum Looked {
    case response(ArchivedResponse)
    case damaged(DirectoryFinding)
    /// A record whose key or head is none of HTTP's.
    case unknown
  }

  func look(_ number: Int) -> Looked {
    switch archive.look(number) {
    case .damaged(let finding): .damaged(DirectoryFinding(finding))
    case .record(let record): ArchivedResponse(record, rules, now: now).map { .response($0) } ?? .unknown
    }
  }

  /// Reads everything; calls `report` with each place that is not as it was written.
  public func verify(_ report: (DirectoryFinding) -> Void) -> Verification {
    Verification(archive.verify { report(DirectoryFinding($0)) })
  }
}

/// A place of a directory that is not as it was written.
public struct DirectoryFinding: Sendable, CustomStringConvertible {
  public let description: String
  /// Whether it is damage, and not merely a record that was not written to its end.
  public let isDamage: Bool

  init(_ finding: DiskFinding) {
    description = "v1/\(finding.file) at \(finding.offset): \(finding.reason)"
    isDamage = finding.kind != .uncommitted
  }
}

/// What reading everything found.
public struct Verification: Sendable {
  public let segments: Int
  public let records: Int
  public let responses: Int
  public let incomplete: Int
  public let bodyBytes: Int
  public let uncommitted: Int
  public let damages: Int

  init(_ found: ArchiveVerification) {
    (segments, records, responses) = (found.segments, found.records, found.responses)
    (incomplete, bodyBytes) = (found.incomplete, found.bodyBytes)
    (uncommitted, damages) = (found.uncommitted, found.damages)
  }
}

extension DaemonError {
  static let missing: Int32 = 66
  static let data: Int32 = 65

  fileprivate init(_ failure: DiskArchiveFailure, _ path: String) {
    switch failure {
    case .absent: self.init(message: "\(path): there is no such directory", exitCode: Self.missing)
    case .noFolder:
      self.init(
        message: "\(path) is no folder, or a link to one, which is not followed", exitCode: Self.data)
    case .foreign:
      self.init(
        message: "\(path) is no cache directory of Regent's: there is no folder \"v1\" in it",
        exitCode: Self.data)
    case .otherVersion(let version):
      self.init(
        message: "\(path) has the format \(version) of another version of Regent; this one reads format 1",
        exitCode: Self.data)
    case .noIdentity:
      self.init(
        message: "\(path) holds nothing: there is no identity in its folder \"v1\"", exitCode: Self.data)
    case .damagedIdentity:
      self.init(
        message: "\(path) is void: the identity in its folder \"v1\" is not what was written",
        exitCode: Self.data)
    case .system(let error):
      self.init(
        message: "\(path): \(error)", exitCode: error.isPermission ? Self.permission : Self.system)
    }
  }
}
