// What most scenarios have on stage: a scripted origin and a daemon in front of it. Also the names of the
// settings that the scenarios change, each written once.

import Testing

/// An origin and the daemon whose upstream it is.
struct Stage {
  let origin: Origin
  let daemon: Daemon

  init(set: [String] = [], memory: String = "64 MiB", workers: Int = 2, _ handler: @escaping Origin.Handler)
    throws
  {
    origin = try Origin(handler)
    daemon = try Daemon.start(upstream: origin.url, workers: workers, memory: memory, set: set)
  }

  func get(_ target: String, _ fields: [String] = []) throws -> Response { try daemon.get(target, fields) }
}

/// Settings for `--set`.
enum Setting {
  static func head(_ time: String) -> String { "timeouts.head=\(time)" }
  static func bodyGrace(_ time: String) -> String { "timeouts.body-grace=\(time)" }
  static func writeStall(_ time: String) -> String { "timeouts.write-stall=\(time)" }
  static func idle(_ time: String) -> String { "timeouts.idle=\(time)" }
  static func firstByte(_ time: String) -> String { "timeouts.first-byte=\(time)" }
  static func betweenBytes(_ time: String) -> String { "timeouts.between-bytes=\(time)" }
  static func retry(_ policy: String) -> String { "domain.default.retry=\(policy)" }
  /// A key of the stage's only domain.
  static func domain(_ key: String, _ value: String) -> String { "domain.default.\(key)=\(value)" }
  static func maxObject(_ size: String) -> String { "memory.max-object=\(size)" }
}

/// Scenarios that load the machine; they run one after the other.
@Suite("Under load", .serialized) struct UnderLoad {}
