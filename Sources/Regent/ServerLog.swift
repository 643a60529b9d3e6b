// The daemon's log: through swift-log to standard error, one line an event, and of each kind at most one a second.

import Logging
import RegentHTTP
import RegentLoop
import RegentStorage

/// What the server writes down of requests. Secrets never come here: no fields, no queries.
final class ServerLog: Sendable {
  let logger: Logger
  private let last = Lock<[String: (second: Int64, suppressed: Int)]>([:])

  /// How many kinds are told apart; beyond it they share one.
  static let kinds = 256

  init(_ logger: Logger) { self.logger = logger }

  func failed(_ failure: Failure, domain: String) {
    limited("\(domain) \(failure.proxyStatus)", level: .warning) {
      "\(domain): \(failure.proxyStatus): \(failure.sentence)"
    }
  }

  /// An origin's content is not what its digest says.
  func refuted(domain: String) {
    limited("\(domain) digest", level: .warning) {
      "\(domain): a response is not what its digest says, and is not stored"
    }
  }

  func refused(_ error: ParseError) {
    limited("bad request \(error.rule)", level: .notice) { "bad request: \(error.description)" }
  }

  /// An origin's circuit breaker came into another state.
  func changed(_ transition: CircuitBreaker.Transition, of origin: String, because cause: String) {
    limited("\(origin) \(transition)", level: transition == .opened ? .warning : .notice) {
      switch transition {
      case .opened: "\(origin): left alone, because it failed too often. \(cause)"
      case .halfOpened: "\(origin): asked again, a few requests at a time"
      case .closed: "\(origin): answers again"
      }
    }
  }

  /// Something became of the disk cache.
  func told(_ report: DiskReport, of path: String) {
    switch report {
    case .damage(let segment, let offset, let what):
      limited("disk damage", level: .warning) {
        "\(path): what was written at \(offset) of segment \(segment) is damaged (\(what)), and removed"
      }
    case .state(let state):
      limited("disk \(state.word)", level: state == .healthy ? .notice : .error) {
        "\(path): \(state.sentence)"
      }
    case .recovered(let entries, let segments):
      limited("disk recovered", level: .info) {
        "\(path): \(entries) responses found in \(segments) segments"
      }
    }
  }

  private func limited(_ kind: String, level: Logger.Level, _ message: () -> String) {
    guard logger.logLevel <= level, let second = EventLoop.current.map({ $0.clock.now / 1_000_000_000 })
    else { return }
    let suppressed = last.withLock { last -> Int? in
      let kind = last[kind] == nil && last.count >= Self.kinds ? "others" : kind
      let before = last[kind] ?? (.min, 0)
      guard before.second != second else {
        last[kind] = (second, before.suppressed + 1)
        return nil
      }
      last[kind] = (second, 0)
      return before.suppressed
    }
    guard let suppressed else { return }
    let more = suppressed > 0 ? " (and \(suppressed) more like it)" : ""
    logger.log(level: level, "\(message())\(more)")
  }
}

/// Writes log lines to standard error, in the form that the journal reads: a syslog priority before each line.
struct StandardErrorLog: LogHandler {
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]
  private let isJournal: Bool

  init(level: Logger.Level, isJournal: Bool) {
    logLevel = level
    self.isJournal = isJournal
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let line = "\(event.message)".filter { $0 != "\n" }
    StandardError.write(
      (isJournal ? "<\(Self.priority(event.level))>" : "regent: \(event.level): ") + line + "\n")
  }

  private static func priority(_ level: Logger.Level) -> Int {
    switch level {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }
}
