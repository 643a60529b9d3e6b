// The small pieces around the system: errors, clocks, addresses, files, names, and threads that may block.

import Glibc
import TestKit
import Testing

@testable import RegentLoop

@Suite("An error of the system")
struct SystemErrorTests {
  @Test("names the call and carries what errno said")
  func check() {
    let error = #expect(throws: SystemError.self) { try SystemError.check("close", close(-1)) }
    #expect(error == SystemError(call: "close", code: EBADF))
    #expect(error?.description == "close: Bad file descriptor")
  }

  @Test("is none where the call succeeds", arguments: [0, 1, Int32.max])
  func success(result: Int32) throws {
    #expect(try SystemError.check("call", result) == result)
  }

  @Test(
    "knows its kind",
    arguments: [
      (EMFILE, "exhaustion"), (ENFILE, "exhaustion"), (ENOBUFS, "exhaustion"), (ENOMEM, "exhaustion"),
      (EACCES, "permission"), (EPERM, "permission"), (ECONNREFUSED, "refusal"), (EADDRINUSE, "address"),
      (EADDRNOTAVAIL, "address, missing family"), (EAFNOSUPPORT, "missing family"), (ECONNRESET, ""),
      (EAGAIN, ""),
    ])
  func kinds(code: Int32, kinds: String) {
    let error = SystemError(call: "call", code: code)
    let known = [
      (error.isExhaustion, "exhaustion"), (error.isPermission, "permission"), (error.isRefusal, "refusal"),
      (error.isAddress, "address"), (error.isMissingFamily, "missing family"),
    ]
    #expect(known.filter(\.0).map(\.1).joined(separator: ", ") == kinds)
  }
}

@Suite("A loop's clock")
struct LoopClockTests {
  @Test("shows the wall's seconds and a time that never goes back")
  func clocks() {
    let before = Int64(time(nil))
    var clock = LoopClock.read()
    #expect((before...before + 2).contains(clock.wall))
    for _ in 0..<1000 {
      let last = clock.now
      clock = clock.refreshed()
      #expect(clock.now >= last && clock.now > 0)
    }
    #expect(clock.wall >= before)
  }

  @Test(
    "counts durations in nanoseconds, clamped",
    arguments: [
      (.zero, 0), (.nanoseconds(1), 1), (.milliseconds(1500), 1_500_000_000), (.seconds(-2), -2_000_000_000),
      (.seconds(-9_223_372_036) - .milliseconds(900), .min),
      (.seconds(9_223_372_036) + .milliseconds(900), .max),
      (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
      (.seconds(9_223_372_036), 9_223_372_036_000_000_000),
      (.seconds(9_223_372_037), .max),
    ] as [(Duration, Int64)])
  func nanoseconds(duration: Duration, nanoseconds: Int64) {
    #expect(duration.nanoseconds == nanoseconds)
  }

  @Test("gives the last time there is for a moment beyond it")
  func saturates() {
    let clock = LoopClock.read()
    #expect(clock.time(in: .seconds(1)) == clock.now + 1_000_000_000)
    #expect(clock.time(in: .seconds(Int64.max)) == .max)
    #expect(clock.time(in: .seconds(9_223_372_036)) == .max)
    #expect(clock.time(in: .seconds(Int64.min)) < 0)
  }
}

@Suite("An address")
struct SocketAddressTests {
  @Test(
    "is made of a literal and nothing else",
    arguments: [
      ("127.0.0.1", true), ("::1", true), ("2001:db8::1", true), ("[::1]", false), ("localhost", false),
      ("", false), ("256.0.0.1", false), ("example.org", false),
    ])
  func literals(text: String, isLiteral: Bool) {
    let address = SocketAddress(ip: text, port: 8080)
    #expect((address != nil) == isLiteral)
    if let address { #expect(address.port == 8080) }
  }

  @Test("changes its port and keeps the rest", arguments: ["127.0.0.1", "::1"])
  func otherPort(text: String) throws {
    let address = try #require(SocketAddress(ip: text, port: 1))
    let other = address.with(port: 65_535)
    #expect(other.port == 65_535 && other.with(port: 1) == address && other.family == address.family)
    #expect(SocketAddress(ip: text, port: 258)?.bytes[2...3] == [1, 2])
  }

  @Test(
    "may be a path of 1 to 107 bytes without a zero",
    arguments: [(0, false), (1, true), (107, true), (108, false)])
  func paths(length: Int, isValid: Bool) {
    #expect((SocketAddress(path: String(repeating: "p", count: length)) != nil) == isValid)
    #expect(SocketAddress(path: "a\0b") == nil)
    #expect(SocketAddress(path: "/p")?.port == nil)
    #expect(SocketAddress(path: "/p")?.with(port: 1) == SocketAddress(path: "/p"))
  }

  @Test("may be an abstract name where the service manager gives one")
  func abstractName() {
    #expect(SocketAddress(notify: "@run")?.bytes.dropFirst(2).map { $0 } == [0] + Array("run".utf8))
    #expect(SocketAddress(notify: "/run/notify") == SocketAddress(path: "/run/notify"))
    #expect(SocketAddress(notify: "@" + String(repeating: "n", count: 107)) == nil)
    #expect(SocketAddress(notify: "") == nil)
  }
}

@Suite("A file reader")
struct FileReaderTests {
  @Test("reads a whole file up to its limit, and says why it does not")
  func reads() throws {
    let folder = try TemporaryFolder()
    try folder.write(pattern(5000), to: "file")
    #expect(try FileReader.read(folder.path + "/file", limit: 5000) == pattern(5000))
    #expect(code { try FileReader.read(folder.path + "/file", limit: 4999) } == EFBIG)
    #expect(code { try FileReader.read(folder.path + "/none", limit: 1) } == ENOENT)
    #expect(code { try FileReader.read(folder.path, limit: 1 << 20) } == EISDIR)
  }

  @Test("reads beneath a folder without leaving it or following a link")
  func beneath() throws {
    let outer = try TemporaryFolder()
    try outer.write([1], to: "outside")
    try outer.makeFolder("inner")
    try outer.write([2], to: "inner/file")
    try outer.link("inner/link", to: "file")
    try outer.link("inner/up", to: "../outside")
    let root = outer.path + "/inner"
    #expect(FileReader.read("file", beneath: root, limit: 10) == [2])
    for path in [
      "../outside", "link", "up", "/etc/hostname", outer.path + "/outside", "", ".", "none", "file/x",
    ] {
      #expect(FileReader.read(path, beneath: root, limit: 1 << 20) == nil, "\(path)")
    }
    #expect(FileReader.read("file", beneath: root, limit: 0) == nil)
    #expect(FileReader.read("file", beneath: root + "/none", limit: 10) == nil)
  }

  private func code(_ read: () throws -> [UInt8]) -> Int32? {
    do { _ = try read() } catch { return (error as? SystemError)?.code }
    return nil
  }
}

@Suite("The resolver", .timeLimit(.minutes(10)))
struct ResolverTests {
  @Test("takes literals as they are", arguments: ["127.0.0.1", "::1", "2001:db8::7"])
  func literals(host: String) async throws {
    let resolver = try Resolver(threads: 1)
    let found = try await onLoop { loop in
      try await resolver.resolve(host: host, port: 443, on: loop, patience: .seconds(60))
    }
    #expect(found.count == 1 && found[0] == SocketAddress(ip: host, port: 443))
  }

  @Test(
    "says why a name has no address", arguments: [String(repeating: "a", count: 64) + ".example", "a..b"])
  func failure(host: String) async throws {
    let resolver = try Resolver(threads: 1, missingLifetime: .seconds(3600))
    for _ in 0..<2 {
      let error = await #expect(throws: StreamError.self) {
        try await onLoop { loop in
          try await resolver.resolve(host: host, port: 443, on: loop, patience: .seconds(60))
        }
      }
      guard case .nameNotFound(let reason)? = error else { throw error ?? .closed }
      #expect(!reason.isEmpty)
    }
    #expect(resolver.figures == (1, 1))
  }
}

@Suite("A pool of threads that may block", .timeLimit(.minutes(10)))
struct BlockingPoolTests {
  @Test("gives back what the work gave, to many at once")
  func results() async throws {
    let pool = try BlockingPool(name: "test", threads: 3)
    let sum = await withTaskGroup { group in
      for number in 0..<200 { group.addTask { await pool.run { number } ?? -1_000_000 } }
      return await group.reduce(0, +)
    }
    #expect(sum == (0..<200).reduce(0, +))
  }

  @Test("runs as many at once as it has threads")
  func concurrency() async throws {
    let pool = try BlockingPool(name: "test", threads: 2)
    let (one, other) = (Latch(1), Latch(1))
    // Each waits for the other: on one thread this would never end.
    async let first = pool.run { () -> Bool in
      one.countDown()
      other.wait()
      return true
    }
    async let second = pool.run { () -> Bool in
      other.countDown()
      one.wait()
      return true
    }
    #expect(await [first, second] == [true, true])
  }

  @Test("refuses work beyond its bound, and takes some again later")
  func bound() async throws {
    let pool = try BlockingPool(name: "test", threads: 1, bound: 1)
    let (started, gate) = (Latch(1), Latch(1))
    async let busy = pool.run { () -> Int in
      started.countDown()
      gate.wait()
      return 1
    }
    _ = await Task.detached { started.wait() }.value
    // One of these waits in the queue; the others are refused as long as it does.
    let answers = await withTaskGroup(of: Int?.self) { group in
      for number in 2..<6 { group.addTask { await pool.run { number } } }
      var answers: [Int?] = []
      for _ in 0..<3 { answers.append(await group.next() ?? -1) }
      gate.countDown()
      for await answer in group { answers.append(answer) }
      return answers
    }
    #expect(answers.prefix(3).allSatisfy { $0 == nil } && answers[3] != nil)
    #expect(await busy == 1)
    #expect(await pool.run { 9 } == 9)
  }
}
