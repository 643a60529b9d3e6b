// Parts of files over real sockets.

import Glibc
import TestKit
import Testing

@testable import RegentLoop

@Suite("A part of a file", .timeLimit(.minutes(10)))
struct FilePartTests {
  private let folder: TemporaryFolder
  private let file: RandomFile
  private static let count = 3 << 20

  init() throws {
    folder = try TemporaryFolder()
    file = try Folder.open(folder.path + "/parts").file("file", .making)
    try file.write(pattern(Self.count).span, at: 0)
    try file.sync()
  }

  @Test(
    "arrives as it is in the file, however slow the peer is",
    arguments: [0..<1, 4095..<300_000, 1000..<3 << 20])
  func arrives(range: Range<Int>) async throws {
    try await onLoop { [file] loop in
      try await withConnection(on: loop) { one, other in
        let reading = Task(executorPreference: loop) { [bound = LoopBound(other, loop)] in
          try await read(range.count, from: bound.value)
        }
        var sent = 0
        while sent < range.count {
          let part = FilePart(
            file: file, range: range.lowerBound + sent..<range.upperBound, looked: loop.clock.now)
          sent += try await one.write(part, stall: .seconds(30))
        }
        #expect(one.sent == range.count)
        let received = try await reading.value
        #expect(received == Array(pattern(Self.count)[range]))
      }
    }
  }

  @Test("that was looked at too long ago is not sent")
  func stale() async throws {
    try await onLoop { [file] loop in
      try await withConnection(on: loop) { one, other in
        let stale = FilePart(file: file, range: 0..<100, looked: loop.clock.now - FilePart.freshness)
        #expect(one.writeAtOnce(stale) == 0)
        let none = try await one.write(stale, stall: .seconds(30))
        #expect(none == 0 && one.sent == 0)
        let fresh = FilePart(file: file, range: 0..<100, looked: loop.clock.now)
        #expect(one.writeAtOnce(fresh) == 100)
        let all = try await one.write(fresh, from: 100, stall: .seconds(30))
        let received = try await read(100, from: other)
        #expect(all == 100 && received == Array(pattern(100)))
      }
    }
  }

  @Test("that the file does not have any more fails, and sends what there is")
  func cutShort() async throws {
    try file.truncate(to: 1000)
    try await onLoop { [file] loop in
      try await withConnection(on: loop) { one, other in
        await #expect(throws: StreamError.system(SystemError(call: "sendfile", code: EIO))) {
          _ = try await one.write(
            FilePart(file: file, range: 900..<2000, looked: loop.clock.now), stall: .seconds(30))
        }
        #expect(one.sent == 100)
        let received = try await read(100, from: other)
        #expect(received == Array(pattern(1000)[900...]))
        #expect(one.send(FilePart(file: file, range: 5..<5, looked: 0)) == .bytes(0))
      }
    }
  }
}
