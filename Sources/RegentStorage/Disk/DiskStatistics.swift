// The figures of a disk store.

import RegentLoop

/// What a disk store holds and has done since the start.
public struct DiskStatistics: Sendable, Equatable {
  public var state = DiskState.healthy
  /// Whether records of before the start are still being looked for.
  public var isRecovering = false
  /// Responses that can be found, and the bytes of memory that finding them takes.
  public var entries = 0
  public var indexBytes = 0
  /// Bytes of the disk that the directory takes, and the most that it may.
  public var bytes = 0
  public var budget = 0
  public var segments = 0
  public var hits = 0
  public var misses = 0
  /// Responses that were written, and those that were refused: too large, no room in the queue, or trouble.
  public var insertions = 0
  public var refusals = 0
  /// Responses that were removed since they were asked for.
  public var outdated = 0
  public var removals = 0
  /// Segments that went to make room; responses of theirs that were written anew as they had been used.
  public var evictions = 0
  public var reinsertions = 0
  /// Bytes of records that were written, and of those the ones that were written anew.
  public var writtenBytes = 0
  public var reinsertedBytes = 0
  /// Records that were not what was written, and files that were not.
  public var damages = 0
  /// Calls that failed.
  public var readErrors = 0
  public var writeErrors = 0
  /// Reads that had to wait for the disk.
  public var slowReads = 0
  /// Bytes that were sent from where they lie in a file.
  public var fileBytes = 0
  /// Bytes whose checksums were worked out where they lie; readers of the same moment have it done once.
  public var verifiedBytes = 0
  /// What was given up as it would have waited too long: lookups, reads of bodies, and bodies to be stored.
  public var timeouts = 0
  /// Threads that wait for the disk for longer than a lookup would.
  public var stuckReads = 0
  /// Bytes that wait to be written.
  public var queuedBytes = 0
  /// Bodies that are on their way to the disk now, and those that were given up on it.
  public var fills = 0
  public var fillsGivenUp = 0

  public init() {}

  /// Bytes written for each byte that was new; 1 at best.
  public var writeAmplification: Double {
    let new = writtenBytes - reinsertedBytes
    return new > 0 ? Double(writtenBytes) / Double(new) : 1
  }
}

/// Something that a log should tell of.
public enum DiskReport: Sendable, Equatable {
  /// A record was not what was written: its segment, its offset, and what did not fit.
  case damage(segment: UInt32, offset: Int, String)
  case state(DiskState)
  case recovered(entries: Int, segments: Int)
}

/// The last reports, until somebody takes them; at most 64, then the oldest go.
struct DiskReports: Sendable {
  private var waiting: [DiskReport] = []

  mutating func add(_ report: DiskReport) {
    if waiting.count == 64 { waiting.removeFirst() }
    waiting.append(report)
  }

  mutating func take() -> [DiskReport] {
    defer { waiting = [] }
    return waiting
  }
}
