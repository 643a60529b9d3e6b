// The built daemon as a black box: started with arguments, observed through its port, its log and /proc, ended
// by signals to its own process id. It must never be looked into in any other way.

import Foundation
import Glibc
import TestKit
import Testing

/// A running `regent serve`.
final class Daemon: Sendable {
  let process: ChildProcess
  let port: UInt16
  private let folder: TemporaryFolder

  var pid: Int32 { process.pid }
  /// What it wrote to standard error so far.
  var log: String { contents(of: folder.path("log")) }

  /// Where the binary is: beside the tests, or where REGENT_BINARY says.
  static let binary: String = {
    if let path = ProcessInfo.processInfo.environment["REGENT_BINARY"] { return path }
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("regent").path
  }()

  /// Environment of every daemon: a crash must end it and not wait for a backtrace.
  static let environment = ["SWIFT_BACKTRACE": "enable=no"]

  private static let handedOut = Shared<Set<UInt16>>([])

  /// A port that was free a moment ago and that no other daemon of this run got.
  static func freePort() throws -> UInt16 {
    while true {
      let port = try Listener().port
      if handedOut.update({ $0.insert(port).inserted }) { return port }
    }
  }

  /// Starts it and waits until it accepts; takes another port if somebody was quicker.
  static func start(
    upstream: String? = nil, config: String? = nil, workers: Int = 2, memory: String = "64 MiB",
    set: [String] = [], environment: [String: String] = [:], descriptorLimit: Int? = nil
  ) throws -> Daemon {
    var arguments = ["--workers", "\(workers)", "--memory", memory]
    if let upstream { arguments += ["--upstream", upstream] }
    for setting in set { arguments += ["--set", setting] }
    var last = ""
    for _ in 0..<5 {
      let daemon = try Daemon(arguments, config: config, environment, descriptorLimit)
      if try daemon.accepts() { return daemon }
      last = daemon.log
    }
    throw SpawnError(description: "the daemon does not start: \(last)")
  }

  private init(_ arguments: [String], config: String?, _ environment: [String: String], _ limit: Int?) throws
  {
    _ = raisedDescriptorLimit
    folder = try TemporaryFolder()
    port = try Daemon.freePort()
    var all = ["serve", "--listen", "127.0.0.1:\(port)"] + arguments
    if let config { all += ["--config", try folder.write(config, to: "regent.toml")] }
    var program = Daemon.binary
    if let limit {
      all = ["--nofile=\(limit):\(limit)", program] + all
      program = "prlimit"
    }
    process = try ChildProcess(
      program, all, environment: Daemon.environment.merging(environment) { $1 },
      output: folder.path("output"), errors: folder.path("log"))
  }

  private func accepts() throws -> Bool {
    var isUp = false
    _ = eventually {
      isUp = (try? Socket(port: port)) != nil
      return isUp || process.poll() != nil
    }
    return isUp && process.poll() == nil
  }

  func connect(receiveBuffer: Int32? = nil) throws -> Client {
    try Client(port: port, receiveBuffer: receiveBuffer)
  }

  /// One request on a connection of its own.
  func get(_ target: String, host: String = "localhost", _ fields: [String] = []) throws -> Response {
    try connect().get(target, host: host, fields)
  }

  /// Asks it to stop, and gives how it ended (nil: it did not).
  @discardableResult
  func stop() -> Exit? {
    process.signal(SIGTERM)
    return process.wait()
  }
}

extension Daemon {
  var isRunning: Bool { process.poll() == nil }

  /// Its open descriptors.
  var descriptors: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count) ?? 0
  }

  /// The processor time that it has used.
  var processorTime: Duration {
    let fields = contents(of: "/proc/\(pid)/stat").split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { return .zero }
    return .seconds(user + system) / sysconf(Int32(_SC_CLK_TCK))
  }

  /// Its resident memory in bytes.
  var resident: Int { kibibytes("VmRSS:") * 1024 }

  /// Whether it was built with a sanitizer, whose shadow memory makes figures of memory meaningless.
  var isSanitized: Bool { kibibytes("VmSize:") > 1 << 30 }

  private func kibibytes(_ name: String) -> Int {
    let lines = contents(of: "/proc/\(pid)/status").split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix(name) }) else { return 0 }
    return Int(line.split(whereSeparator: \.isWhitespace)[1]) ?? 0
  }

  /// The page /stats, by its top-level keys.
  func stats() throws -> [String: Any] {
    let response = try get("/stats", host: "regent.localhost")
    let object = try JSONSerialization.jsonObject(with: Data(response.body))
    guard response.status == 200, let stats = object as? [String: Any] else {
      throw WireError.malformed(response.head.raw + response.text)
    }
    return stats
  }

  /// The numbers at a place of /stats: `figures("origins", "faults")`.
  func figures(_ place: String...) throws -> [String: Int] {
    var section = try stats()
    for name in place {
      section = try #require(section[name] as? [String: Any], "/stats has no \(place.joined(separator: "."))")
    }
    return section.compactMapValues { $0 as? Int }
  }
}
