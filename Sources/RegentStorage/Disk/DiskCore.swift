// What the writer and the readers of a disk store share. Each part guards itself.

import RegentLoop
import Synchronization

final class DiskCore: Sendable {
  let options: DiskOptions
  let device: any DiskDevice
  /// The secret that keys are hashed with. It stays the same as long as the process lives.
  let secret: SipKey
  let pool: BlockingPool?
  let index = DiskIndex()
  let segments = DiskSegments()
  let marks = Removals()
  let patience: DiskPatience
  let queue: DiskQueue
  /// What the owner keeps, as it is to be.
  let memos = Lock<[String: [UInt8]]>([:])
  let figures = Lock<DiskStatistics>(DiskStatistics())
  private let reports = Lock<DiskReports>(DiskReports())
  private let health = Lock<DiskHealth>(DiskHealth())
  private let reads = Atomic<Bool>(true)
  private let writes = Atomic<Bool>(true)
  /// Whether all that the directory holds can be found: it is open, and looked through.
  let isSettled = Atomic<Bool>(false)
  /// Whether the directory is open, and what its owner kept there known.
  let isOpen = Atomic<Bool>(false)
  /// How many bodies are on their way to the disk.
  let fills = Atomic<Int>(0)
  /// The latest wall time, in seconds since 1970, at which a record was written.
  let newestWall = Atomic<Int64>(0)
  /// The time of the log, as entries count it.
  let logTime = Atomic<UInt16>(0)
  /// The monotonic time of the writer's last step, in nanoseconds: for what goes wrong where no time is known.
  let lastStep = Atomic<Int64>(0)

  init(_ options: DiskOptions, _ device: any DiskDevice, _ secret: SipKey, _ pool: BlockingPool?) {
    (self.options, self.device, self.secret, self.pool) = (options, device, secret, pool)
    patience = DiskPatience(threads: pool?.threads ?? 0, slow: options.readLimit)
    queue = DiskQueue(limit: options.queueLimit, patience, waiting: options.writeLimit)
  }

  // MARK: Health

  var isReading: Bool { reads.load(ordering: .relaxed) }
  /// Whether what failed last failed for want of room.
  var isOutOfRoom: Bool { if case .degraded(let error) = state { error.isNoRoom } else { false } }
  var isWriting: Bool { writes.load(ordering: .relaxed) }
  var state: DiskState { health.withLock { $0.state } }
  var retryAt: Int64 { health.withLock { $0.state == .healthy ? .max : $0.retryAt } }
  func mayWrite(_ now: Int64) -> Bool { health.withLock { $0.mayWrite(now: now) } }

  func writeFailed(_ error: SystemError, _ now: Int64) {
    figures.withLock { $0.writeErrors += 1 }
    change { $0.writeFailed(error, now: now) }
  }

  func readFailed(_ error: SystemError, _ now: Int64) {
    figures.withLock { $0.readErrors += 1 }
    change { $0.readFailed(error, now: now) }
  }

  func writeSucceeded() { change { $0.writeSucceeded() } }

  private func change(_ body: (inout DiskHealth) -> Void) {
    let (before, after) = health.withLock { health in
      let before = health.state
      body(&health)
      return (before, health.state)
    }
    guard before != after else { return }
    reads.store(after.reads, ordering: .relaxed)
    writes.store(after.writes, ordering: .relaxed)
    report(.state(after))
  }

  // MARK: Reports

  func report(_ report: DiskReport) { reports.withLock { $0.add(report) } }
  func takeReports() -> [DiskReport] { reports.withLock { $0.take() } }

  /// A record is not what was written: whoever finds that removes it.
  func damaged(_ entry: DiskEntry, at position: DiskPosition? = nil, _ reason: String) {
    index.remove(entry)
    let position = position ?? entry.position
    figures.withLock { $0.damages += 1 }
    report(.damage(segment: position.segment, offset: position.offset, reason))
  }

  func countDamage(segment: UInt32, offset: Int, _ reason: String) {
    figures.withLock { $0.damages += 1 }
    report(.damage(segment: segment, offset: offset, reason))
  }
}
