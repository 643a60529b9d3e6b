// A scripted origin and one daemon after another with the same disk cache: ended well or killed, and started again.

import Foundation
import Glibc
import TestKit
import Testing

/// An origin, a directory, and what has been stored there.
final class DiskStage: Sendable {
  let origin: Origin
  private let folder: TemporaryFolder
  private let settings: [String]

  var path: String { folder.path("cache") }

  init(set: [String] = [], _ handler: @escaping Origin.Handler) throws {
    origin = try Origin(handler)
    folder = try TemporaryFolder()
    settings = set
  }

  /// An origin whose every path is a cacheable body of that many bytes, from the path's last part: "/x/4096".
  static func patterns(set: [String] = [], maxAge: Int = 3600) throws -> DiskStage {
    try DiskStage(set: set) { request, connection in
      let count = Int(request.target.split(separator: "/").last ?? "") ?? 0
      try connection.send(
        "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\nCache-Control: max-age=\(maxAge)\r\n"
          + "ETag: \"\(request.target)\"\r\n\r\n")
      try connection.send(Pattern(for: request.target).bytes(count: count))
    }
  }

  /// A daemon on the directory; memory is as small as can be, so that little but the disk keeps anything.
  func start(set: [String] = [], memory: String = "1 MiB") throws -> Daemon {
    try Daemon.start(
      upstream: origin.url, memory: memory, set: ["disk.path=\(path)"] + settings + set)
  }

  /// Has one response stored by a daemon that then ends well.
  func store(_ target: String) throws {
    let daemon = try start()
    _ = try daemon.get(target)
    #expect(try daemon.hasStored(1))
    daemon.stop()
  }

  /// A daemon that has found so many responses of those before it.
  func restart(set: [String] = [], entries: Int = 1) throws -> Daemon {
    let daemon = try start(set: set)
    #expect(try eventually { try daemon.disk("entries") == entries })
    return daemon
  }

  /// Lets the next start forget how the ones before ended: what is killed often is left out otherwise.
  func forgetStarts() throws { try? FileManager.default.removeItem(atPath: path + "/v1/starts") }

  /// The files of the store, with their names.
  var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path + "/v1")) ?? [] }
  var segments: [String] { files.filter { $0.hasSuffix(".segment") }.map { "\(path)/v1/\($0)" } }

  /// Whether a text is somewhere in the directory's files.
  func holds(_ text: String) -> Bool {
    files.contains { name in
      guard let data = FileManager.default.contents(atPath: "\(path)/v1/\(name)") else { return false }
      return data.range(of: Data(text.utf8)) != nil
    }
  }

  /// Flips a byte wherever these bytes are found; how often that was.
  func damage(_ bytes: [UInt8]) throws -> Int {
    var count = 0
    for file in segments {
      guard var data = FileManager.default.contents(atPath: file) else { continue }
      while let range = data.range(of: Data(bytes)) {
        data[range.lowerBound] ^= 1
        count += 1
      }
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
      try handle.write(contentsOf: data)
      try handle.close()
    }
    return count
  }
}

extension Daemon {
  /// A figure of the disk cache.
  func disk(_ figure: String) throws -> Int {
    try #require(try figures("disk")[figure], "there is no disk figure \(figure)")
  }

  /// Waits until so many responses were written.
  func hasStored(_ count: Int) throws -> Bool { try eventually { try disk("insertions") >= count } }

  /// Whether what is served is the pattern of its path.
  func serves(_ target: String, _ response: Response) -> Bool {
    let count = Int(target.split(separator: "/").last ?? "") ?? -1
    return response.status == 200 && response.body.count == count
      && Pattern(for: target).matches(response.body)
  }
}
