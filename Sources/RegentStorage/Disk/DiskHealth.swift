// What failures mean for the store: whether it writes, whether it reads, and when it tries again. A pure machine.

public import RegentLoop

/// How the disk store is.
public enum DiskState: Sendable, Equatable {
  case healthy
  /// It reads and does not write: the failure that is to end first.
  case degraded(SystemError)
  /// It neither reads nor writes: too many hard failures.
  case offline(SystemError)

  var reads: Bool { if case .offline = self { false } else { true } }
  var writes: Bool { self == .healthy }
}

struct DiskHealth: Sendable {
  private(set) var state = DiskState.healthy
  /// When writing is tried again, in monotonic nanoseconds; only where `state` is not healthy.
  private(set) var retryAt: Int64 = 0
  private var pause = DiskHealth.shortestPause
  private var hardFailures: [Int64] = []

  static let shortestPause: Int64 = 1_000_000_000
  static let longestPause: Int64 = 30_000_000_000
  /// So many hard failures within a minute, and the store is offline.
  static let hardLimit = 5
  static let hardWindow: Int64 = 60_000_000_000

  /// Writing failed.
  mutating func writeFailed(_ error: SystemError, now: Int64) {
    noteHard(error, now)
    state = hardFailures.count >= Self.hardLimit ? .offline(error) : .degraded(error)
    retryAt = now &+ pause
    pause = min(pause * 2, Self.longestPause)
  }

  /// Reading failed with something else than damage.
  mutating func readFailed(_ error: SystemError, now: Int64) {
    noteHard(error, now)
    guard hardFailures.count >= Self.hardLimit, state.reads else { return }
    state = .offline(error)
    retryAt = now &+ Self.longestPause
  }

  /// Something was written, and is known to be there.
  mutating func writeSucceeded() {
    guard state != .healthy else { return }
    state = .healthy
    pause = Self.shortestPause
    hardFailures = []
  }

  /// Whether writing is to be tried, be it for the first time or again.
  func mayWrite(now: Int64) -> Bool { state == .healthy || now >= retryAt }

  private mutating func noteHard(_ error: SystemError, _ now: Int64) {
    guard error.isHard else { return }
    hardFailures.removeAll { now &- $0 > Self.hardWindow }
    hardFailures.append(now)
  }
}

extension SystemError {
  /// Whether the device itself failed, and not only for want of room, rights or memory.
  var isHard: Bool { code == 5 || code == 6 || code == 117 }  // EIO, ENXIO, EUCLEAN
}
