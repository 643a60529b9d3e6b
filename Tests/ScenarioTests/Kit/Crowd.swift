// A crowd of connections that cost a daemon something: heads and bodies that drip, readers that hardly read, and
// many that do nothing. One thread drips; the others are only held.

import Foundation

/// How many of each, and by when the daemon should have had enough.
struct CrowdSize: Sendable {
  let heads: Int
  let bodies: Int
  let readers: Int
  let idle: Int
  let settings: [String]
  let deadline: Duration
  /// The time between two bytes of a slow head or body.
  let interval: Duration
  /// The most that the daemon may grow, in bytes.
  let memory: Int

  static let scaled = CrowdSize(
    heads: 200, bodies: 50, readers: 20, idle: 1000,
    settings: [Setting.head("2s"), Setting.bodyGrace("2s"), Setting.idle("10m"), Setting.writeStall("10m")],
    deadline: .seconds(2), interval: .milliseconds(200), memory: 64 << 20)
  static let full = CrowdSize(
    heads: 2000, bodies: 500, readers: 200, idle: 10_000,
    settings: [Setting.idle("10m"), Setting.writeStall("10m")],
    deadline: .seconds(10), interval: .seconds(10), memory: 150 << 20)

  /// Within a second of the deadline, and on a loaded machine a little later.
  func isNearDeadline(_ life: Duration) -> Bool {
    life >= deadline - .milliseconds(100) && life <= deadline + .seconds(2)
  }
}

/// The crowd itself.
final class Crowd: Sendable {
  /// A connection that drips, and how long the daemon bore it.
  private struct Slow: Sendable {
    let socket: Socket
    let since: ContinuousClock.Instant
    let isHead: Bool
    var next: ContinuousClock.Instant
    var life: Duration?
  }

  private let slow: Shared<[Slow]>
  private let readers: [Socket]
  private let idle: [Socket]
  private let isOver = Shared(false)
  private let dripping = Shared<Worker?>(nil)

  init(_ daemon: Daemon, _ size: CrowdSize) throws {
    idle = try (0..<size.idle).map { index in
      let socket = try Socket(port: daemon.port)
      // Half of them have been served before, so that both kinds of idleness are there.
      if index % 2 == 0 {
        try socket.send(Crowd.request("/good"))
        let reader = MessageReader(socket)
        _ = try reader.head()
        try reader.read(1024) { _ in }
      }
      return socket
    }
    readers = try (0..<size.readers).map { _ in
      let socket = try Socket(port: daemon.port, receiveBuffer: 4096)
      try socket.send(Crowd.request("/large"))
      return socket
    }
    slow = Shared([])
    for index in 0..<(size.heads + size.bodies) {
      let isHead = index < size.heads
      let socket = try Socket(port: daemon.port)
      let now = ContinuousClock.now
      let body = "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
      try socket.send(Array((isHead ? "GET /slow HTTP/1.1\r\nHost: localhost\r\nX: " : body).utf8))
      let one = Slow(socket: socket, since: now, isHead: isHead, next: now + size.interval)
      slow.update { $0.append(one) }
    }
    let worker = Worker { [weak self] in
      while let self, !self.isOver.value { self.drip(size.interval) }
    }
    dripping.update { $0 = worker }
  }

  /// How long each slow head was borne that is closed by now.
  var headLives: [Duration] { slow.value.filter(\.isHead).compactMap(\.life) }
  var areSlowOnesClosed: Bool { slow.value.allSatisfy { $0.life != nil } }

  /// What became of the slow ones, in a line.
  var report: String {
    let all = slow.value
    let lives = all.compactMap(\.life).sorted()
    return "\(lives.count) of \(all.count) closed, after \(String(describing: lives.first)) to "
      + "\(String(describing: lives.last))"
  }

  func stopDripping() throws {
    isOver.update { $0 = true }
    try dripping.value?.finish()
  }

  /// The idle connections, by their number, that no longer get an answer. Even ones had been used before.
  func idleOnesUnanswered() throws -> [Int] {
    try idle.indices.filter { index in
      let socket = idle[index]
      try socket.send(Crowd.request("/good"))
      return try MessageReader(socket).head()?.startLine.hasPrefix("HTTP/1.1 200") != true
    }
  }

  /// Whether each slow reader gets all of `body` when it reads at last.
  func readersGet(_ body: [UInt8]) throws -> Bool {
    try readers.allSatisfy { socket in
      var received: [UInt8] = []
      let reader = MessageReader(socket)
      guard try reader.head() != nil else { return false }
      try reader.read(body.count) { received.append(contentsOf: $0) }
      return isSame(received, body)
    }
  }

  private func drip(_ interval: Duration) {
    slow.update { all in
      let now = ContinuousClock.now
      for index in all.indices where all[index].life == nil {
        if all[index].socket.isReadable(within: 0) {
          all[index].life = now - all[index].since
        } else if all[index].next <= now {
          try? all[index].socket.send([UInt8(ascii: "x")])
          all[index].next = now + interval
        }
      }
    }
    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(50))
  }

  private static func request(_ target: String) -> [UInt8] {
    Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
  }
}
