// A crowd of connections that cost a daemon something: heads and bodies that drip, readers that hardly read, and
// many that do nothing. One thread drips; the others are only held.

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

  /// Near the deadline, with what a loaded machine may add before this process sees it.
  func isNearDeadline(_ life: Duration) -> Bool {
    life >= deadline - .milliseconds(100) && life <= deadline + .seconds(2)
  }
}

/// The crowd itself.
final class Crowd: Sendable {
  /// What became of the connections that drip: how long the daemon bore each.
  struct Lives: Sendable {
    var heads: [Duration] = []
    var bodies: [Duration] = []
  }

  private let size: CrowdSize
  private let readers: [Socket]
  private let idle: [Socket]
  private let lives = Shared(Lives())
  private let isOver: Shared<Bool>
  private let dripping: Worker

  init(_ daemon: Daemon, _ size: CrowdSize) throws {
    self.size = size
    idle = try (0..<size.idle).map { try Crowd.idle(daemon, isUsed: $0 % 2 == 0) }
    readers = try (0..<size.readers).map { _ in
      let socket = try Socket(port: daemon.port, receiveBuffer: 4096)
      try socket.send(Crowd.request("/large"))
      return socket
    }
    let isOver = Shared(false)
    self.isOver = isOver
    let start = "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
    let bodies = try (0..<size.bodies).map { _ in try Drip(daemon, start, isHead: false) }
    let heads = try (0..<size.heads).map { _ in
      try Drip(daemon, "GET /slow HTTP/1.1\r\nHost: localhost\r\nX: ", isHead: true)
    }
    dripping = Worker { [lives] in
      var drips = bodies + heads
      while !isOver.value && !drips.isEmpty { Crowd.advance(&drips, size.interval, lives) }
    }
  }

  /// How long each slow head was borne that is closed by now.
  var headLives: [Duration] { lives.value.heads }
  var areSlowOnesClosed: Bool {
    lives.update { $0.heads.count + $0.bodies.count } == size.heads + size.bodies
  }

  /// What became of the slow ones, in a line.
  var report: String {
    let all = lives.value
    func range(_ lives: [Duration]) -> String {
      "\(lives.count) (\(lives.min() ?? .zero) to \(lives.max() ?? .zero))"
    }
    return "closed heads: \(range(all.heads)); closed bodies: \(range(all.bodies))"
  }

  func stopDripping() throws {
    isOver.update { $0 = true }
    try dripping.finish()
  }

  /// The idle connections, by their number, that no longer get an answer. Even ones had been used before.
  func idleOnesUnanswered() throws -> [Int] {
    try idle.indices.filter { index in
      try idle[index].send(Crowd.request("/good"))
      return try MessageReader(idle[index]).head()?.startLine.hasPrefix("HTTP/1.1 200") != true
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

  private static func idle(_ daemon: Daemon, isUsed: Bool) throws -> Socket {
    let socket = try Socket(port: daemon.port)
    guard isUsed else { return socket }
    try socket.send(request("/good"))
    let reader = MessageReader(socket)
    _ = try reader.head()
    try reader.read(1024) { _ in }
    return socket
  }

  /// Notes which of them the daemon has answered or closed by now, and lets the others drip.
  private static func advance(_ drips: inout [Drip], _ interval: Duration, _ lives: Shared<Lives>) {
    let isReadable = Socket.areReadable(drips.map(\.socket), within: 50)
    let now = ContinuousClock.now
    for index in drips.indices.reversed() {
      let drip = drips[index]
      if isReadable[index] {
        lives.update {
          if drip.isHead { $0.heads.append(now - drip.since) } else { $0.bodies.append(now - drip.since) }
        }
        drips.remove(at: index)
      } else if drip.last + interval <= now {
        try? drip.socket.send([UInt8(ascii: "x")])
        drips[index].last = now
      }
    }
  }

  private static func request(_ target: String) -> [UInt8] {
    Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
  }
}

/// A connection that sends a byte now and then.
private struct Drip: Sendable {
  let socket: Socket
  let since: ContinuousClock.Instant
  let isHead: Bool
  var last: ContinuousClock.Instant

  init(_ daemon: Daemon, _ start: String, isHead: Bool) throws {
    socket = try Socket(port: daemon.port)
    since = .now
    last = since
    self.isHead = isHead
    try socket.send(Array(start.utf8))
  }
}
