// Parts of files over real sockets.

import Glibc
import Testing

@testable import RegentLoop

@Suite("A part of a file", .timeLimit(.minutes(1)))
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
          let part = FilePart(file: file, range: range.lowerBound + sent..<range.upperBound)
          sent += try await one.write(part, stall: .seconds(30))
        }
        #expect(one.sent == range.count)
        let received = try await reading.value
        #expect(received == Array(pattern(Self.count)[range]))
      }
    }
  }

  @Test("that the file does not have any more fails, and sends what there is")
  func cutShort() async throws {
    try file.truncate(to: 1000)
    try await onLoop { [file] loop in
      try await withConnection(on: loop) { one, other in
        await #expect(throws: StreamError.system(SystemError(call: "sendfile", code: EIO))) {
          _ = try await one.write(FilePart(file: file, range: 900..<2000), stall: .seconds(30))
        }
        #expect(one.sent == 100)
        let received = try await read(100, from: other)
        #expect(received == Array(pattern(1000)[900...]))
        #expect(one.send(FilePart(file: file, range: 5..<5)) == .bytes(0))
      }
    }
  }
}
