// The daemon's disk cache from start to end: opened as the configuration says, watched, closed. Only a directory that is
// in use by another daemon ends the start; any other trouble with it is told, and the daemon goes on without it.

import Logging
import RegentCaching
import RegentConfig
import RegentLoop
import RegentStorage

/// The disk cache of a daemon, and what is told of it.
struct DiskCache: Sendable {
  let provider: DiskProvider
  let path: String
  /// Those of all domains: they outlast restarts here.
  let generations = TargetGenerations()
  var store: DiskStore { provider.store }

  /// The threads that wait for the disk in the loops' place.
  private static let threads = 8

  /// The configured cache; nil where there is none, or it has to be left out.
  static func open(_ configuration: Configuration.Disk, _ log: ServerLog) throws(DaemonError) -> DiskCache? {
    guard let path = configuration.path else { return nil }
    let pool: BlockingPool
    do throws(SystemError) {
      pool = try BlockingPool(name: "regent-disk", threads: threads)
    } catch {
      throw DaemonError(error)
    }
    return try open(configuration, path, pool, log)
  }

  private static func open(
    _ configuration: Configuration.Disk, _ path: String, _ pool: BlockingPool, _ log: ServerLog
  ) throws(DaemonError) -> DiskCache? {
    do throws(DiskOpenFailure) {
      let store = try DiskStore.open(
        path: path, options: DiskOptions(configuration), pool: pool, clock: .read())
      let admission: Admission = configuration.admit == .all ? .always : .secondHit
      return DiskCache(provider: DiskProvider(store: store, admission: admission), path: path)
    } catch {
      switch error {
      case .inUse:
        throw DaemonError(
          message: "another process uses the disk cache \(path): one daemon, one directory",
          exitCode: DaemonError.unavailable)
      case .crashLoop:
        log.logger.error(
          "the disk cache \(path) is left out: three starts within a minute ended abnormally. It is used again by the next start after a quiet minute"
        )
        return nil
      case .system(let error):
        throw DaemonError(error)
      }
    }
  }

  /// Tells the log and the service manager what becomes of the disk cache; for as long as the loop runs.
  func watch(on loop: EventLoop, _ log: ServerLog, _ notify: ServiceNotification) {
    Task(executorPreference: loop) {
      // The first thing that the store does is to open its directory.
      _ = await store.durable()
      while !loop.hasEnded {
        _ = generations.restore(from: store)
        for report in store.takeReports() { tell(report, log, notify) }
        await loop.sleep(for: .seconds(1))
      }
    }
  }

  private func tell(_ report: DiskReport, _ log: ServerLog, _ notify: ServiceNotification) {
    if case .state(let state) = report { notify.send("STATUS=\(state.sentence)") }
    log.told(report, of: path)
  }
}

extension DiskOptions {
  init(_ configuration: Configuration.Disk) {
    self.init(budget: configuration.size.bytes, maxObject: configuration.maxObject.bytes)
    syncInterval = configuration.sync.nanoseconds
    verify = configuration.verify == .once ? .once : .always
  }
}

extension DiskState {
  /// What it means for those who use it.
  var sentence: String {
    switch self {
    case .healthy: "the disk cache reads and writes"
    case .degraded(let error): "the disk cache is only read: \(error)"
    case .offline(let error): "the disk cache is left out: \(error)"
    }
  }

  /// Its word in the statistics.
  var word: String {
    switch self {
    case .healthy: "healthy"
    case .degraded: "degraded"
    case .offline: "offline"
    }
  }

  /// The failure that is to end first.
  var failure: SystemError? {
    switch self {
    case .healthy: nil
    case .degraded(let error), .offline(let error): error
    }
  }
}
