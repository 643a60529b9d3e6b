// A file system that is too small for the disk cache: it fills, is emptied, and fills again under load, and no request
// fails for it. Needs the right to mount a tmpfs; REGENT_FULL_DISK=600 makes it last ten minutes.

import Foundation
import Glibc
import TestKit
import Testing

/// A small file system in memory, gone when it is released.
private final class SmallFileSystem: Sendable {
  let path: String
  private let folder: TemporaryFolder

  /// Nil where this process may not mount.
  init?(mebibytes: Int) {
    guard let folder = try? TemporaryFolder() else { return nil }
    self.folder = folder
    path = folder.path("small")
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let options = ["-t", "tmpfs", "-o", "size=\(mebibytes)m", "regent-test", path]
    guard geteuid() == 0, let mounted = try? run("mount", options), mounted.exit == .status(0) else {
      return nil
    }
  }

  deinit { _ = try? run("umount", ["-l", path]) }

  /// Takes what room there is.
  func fill() {
    var bytes = [UInt8](repeating: 1, count: 1 << 20)
    guard let file = unsafe fopen(path + "/ballast", "a") else { return }
    while unsafe fwrite(&bytes, 1, bytes.count, file) == bytes.count, unsafe fflush(file) == 0 {}
    unsafe fclose(file)
  }

  func empty() { _ = unsafe unlink(path + "/ballast") }
}

extension UnderLoad {
  @Suite("A full disk")
  struct FullDiskTests {
    private struct Tally: Sendable {
      var answers = 0
      var wrong: [String] = []
    }
    private static let seconds =
      ProcessInfo.processInfo.environment["REGENT_FULL_DISK"].flatMap { Int($0) } ?? 10

    @Test("costs no request, is told, and is used again when there is room")
    func full() throws {
      guard let small = SmallFileSystem(mebibytes: 24) else {
        print("this machine does not let the test mount a file system: skipped")
        return
      }
      let origin = try Origin { request, connection in
        let count = Int(request.target.split(separator: "/").last ?? "") ?? 0
        try connection.send(
          "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\nCache-Control: max-age=600\r\n\r\n")
        try connection.send(Pattern(for: request.target).bytes(count: count))
      }
      let daemon = try Daemon.start(
        upstream: origin.url, memory: "1 MiB",
        set: ["disk.path=\(small.path)/cache", "disk.size=64MiB", "disk.max-object=2MiB"])
      let isOver = Shared(false)
      let tally = Shared(Tally())
      let load = (0..<3).map { number in
        Worker { try Self.visit(daemon, number, isOver, tally) }
      }
      let end = ContinuousClock.now + .seconds(Self.seconds)
      var rounds = 0
      repeat {
        let failures = try daemon.disk("write-errors")
        // Whatever the cache gives way is taken, until it has nothing more to give.
        let isTold = try eventually(within: 60) {
          small.fill()
          return try daemon.disk("write-errors") > failures && Self.state(daemon) != "healthy"
        }
        #expect(isTold, "round \(rounds): never told")
        small.empty()
        let before = try daemon.disk("insertions")
        #expect(
          try eventually(within: 60) {
            try Self.state(daemon) == "healthy" && daemon.disk("insertions") > before
          }, "round \(rounds): not used again: \(daemon.log.suffix(500))")
        rounds += 1
      } while ContinuousClock.now < end
      isOver.update { $0 = true }
      for worker in load { try worker.finish() }
      let result = tally.value
      print("full disk: \(rounds) rounds, \(result.answers) answers, \(result.wrong.count) wrong")
      #expect(result.wrong.isEmpty, "\(result.wrong.prefix(5))")
      #expect(result.answers > 100 * rounds && daemon.isRunning)
      let lines = daemon.log.split(separator: "\n").count
      #expect(lines < 20 + 4 * Self.seconds + 20 * rounds, "\(lines) lines in the log")
      #expect(daemon.stop() == .status(0))
    }

    private static func state(_ daemon: Daemon) throws -> String {
      (try daemon.stats()["disk"] as? [String: Any])?["state"] as? String ?? ""
    }

    private static func visit(
      _ daemon: Daemon, _ number: Int, _ isOver: Shared<Bool>, _ tally: Shared<Tally>
    ) throws {
      var generator = SeededGenerator(seed: UInt64(number))
      let client = try daemon.connect()
      var asked = 0
      while !isOver.value {
        asked += 1
        // Most are new, so that the disk has something to write; some were asked for before.
        let place =
          Int.random(in: 0..<5, using: &generator) == 0 ? Int.random(in: 0...asked, using: &generator) : asked
        let target = "/\(number)-\(place)/\([100, 5000, 70_000, 400_000][place % 4])"
        let response = try client.get(target)
        let isRight = daemon.serves(target, response)
        tally.update { tally in
          tally.answers += 1
          if !isRight { tally.wrong.append("\(target): \(response.status), \(response.body.count) bytes") }
        }
      }
    }
  }
}
