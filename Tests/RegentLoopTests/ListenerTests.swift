// Listening and connecting: batches, ports in use, sockets that a dead daemon left, and descriptors that run out.

import Glibc
import TestKit
import Testing

@testable import RegentLoop

@Suite("A listener", .timeLimit(.minutes(10)))
struct ListenerTests {
  @Test("accepts more connections than fit into one batch, each of them whole")
  func batches() async throws {
    try await onLoop { loop in
      let socket = try listening(backlog: 1024)[0]
      var clients: [ByteStream] = []
      // All wait in the kernel before the listener looks.
      for number in 0..<(2 * Listener.batch + 5) {
        let client = try await ByteStream.connect(to: socket.address, on: loop, timeout: .seconds(30))
        clients.append(client)
        try await client.write([UInt8(number)], stall: .seconds(30))
      }
      let acceptance = Acceptance()
      let listener = Listener(socket, on: loop) { acceptance.accepted($0) }
      await acceptance.wait(for: clients.count)
      var numbers: [UInt8] = []
      for stream in acceptance.streams { numbers += try await read(1, from: stream) }
      #expect(numbers.sorted() == (0..<UInt8(clients.count)).map { $0 })
      #expect(listener.exhaustions == 0)
      listener.close()
      listener.close()
      acceptance.closeAll()
      for client in clients { client.close() }
    }
  }

  @Test("rests while descriptors are exhausted, and accepts who waited when there are some again")
  func exhaustion() async {
    await #expect(processExitsWith: .success) {
      try await onLoop { loop in
        let socket = try listening()[0]
        let client = try await ByteStream.connect(to: socket.address, on: loop, timeout: .seconds(30))
        // Unsafe: reads a local.
        var limit = rlimit(rlim_cur: 64, rlim_max: 64)
        _ = try SystemError.check(
          "setrlimit", unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit))
        var fillers: [Int32] = []
        while case let filler = dup(0), filler >= 0 { fillers.append(filler) }
        let acceptance = Acceptance()
        let listener = Listener(socket, on: loop) { acceptance.accepted($0) }
        while listener.exhaustions == 0 { await loop.yieldTurn() }
        precondition(acceptance.streams.isEmpty && !fillers.isEmpty)
        // At rest it is not asked again and again.
        for _ in 0..<50 { await loop.yieldTurn() }
        precondition(listener.exhaustions == 1)
        for filler in fillers { Glibc.close(filler) }
        await acceptance.wait(for: 1)
        try await client.write([7], stall: .seconds(30))
        let bytes = try await read(1, from: acceptance.streams[0])
        precondition(bytes == [7])
        listener.close()
        acceptance.closeAll()
        client.close()
      }
    }
  }

  @Test("may be closed while it rests")
  func closedAtRest() async throws {
    try await onLoop { loop in
      let listener = Listener(try listening()[0], on: loop) { $0.close() }
      listener.rest()
      listener.close()
      await loop.sleep(for: Listener.pause + .milliseconds(1))
      #expect(listener.exhaustions == 1)
    }
  }
}

@Suite("A listening socket", .timeLimit(.minutes(10)))
struct ListeningSocketTests {
  @Test("is bound once for every loop, all at one port of the system's choice")
  func shared() throws {
    let sockets = try listening(count: 3)
    defer { for socket in sockets { Glibc.close(socket.descriptor) } }
    #expect(Set(sockets.map(\.address.port)).count == 1)
    #expect(sockets[0].address.port != 0 && Set(sockets.map(\.descriptor)).count == 3)
  }

  @Test("is refused at a port that another one has")
  func portInUse() throws {
    let sockets = try listening()
    defer { for socket in sockets { Glibc.close(socket.descriptor) } }
    let error = #expect(throws: SystemError.self) {
      try ListeningSocket.open(sockets[0].address, count: 1, backlog: 1)
    }
    #expect(error?.code == EADDRINUSE && error?.isAddress == true)
  }

  @Test("is had by one of those who want its port at once, and by that one whole")
  func race() async throws {
    let free = try listening()[0]
    Glibc.close(free.descriptor)
    for _ in 0..<200 {
      let outcomes = await withTaskGroup(of: Result<[ListeningSocket], SystemError>.self) { group in
        for _ in 0..<4 {
          group.addTask {
            Result { () throws(SystemError) in
              try ListeningSocket.open(free.address, count: 3, backlog: 8)
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      let open = outcomes.compactMap { try? $0.get() }
      #expect(open.count == 1 && open[0].count == 3)
      #expect(outcomes.allSatisfy { if case .failure(let error) = $0 { error.isAddress } else { true } })
      for socket in open.joined() { Glibc.close(socket.descriptor) }
    }
  }

  @Test("hands the chosen congestion control on to its connections, and refuses one that is not there")
  func congestionControl() throws {
    let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
    let socket = try ListeningSocket.open(address, count: 1, backlog: 1, congestionControl: "reno")[0]
    defer { Glibc.close(socket.descriptor) }
    try ListeningSocket.check(congestionControl: "reno")
    let client = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(client) }
    _ = unsafe socket.address.withSocketAddress { unsafe connect(client, $0, $1) }
    var accepted: Int32 = -1
    while accepted < 0 { accepted = accept(socket.descriptor, nil, nil) }
    defer { Glibc.close(accepted) }
    var (name, length) = ([UInt8](repeating: 0, count: 16), socklen_t(16))
    #expect(unsafe getsockopt(accepted, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &length) == 0)
    #expect(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) == "reno")
    let error = #expect(throws: SystemError.self) {
      try ListeningSocket.open(address, count: 1, backlog: 1, congestionControl: "nothing-such")
    }
    #expect(error?.code == ENOENT)
    #expect(throws: SystemError.self) { try ListeningSocket.check(congestionControl: "nothing-such") }
  }

  @Test("knows whether its connections are paced, and they do", arguments: ["reno", "bbr"])
  func pacing(algorithm: String) async throws {
    // Not every kernel has both.
    guard (try? ListeningSocket.check(congestionControl: algorithm)) != nil else { return }
    let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
    let socket = try ListeningSocket.open(address, count: 1, backlog: 1, congestionControl: algorithm)[0]
    #expect(socket.isPaced == (algorithm == "bbr"))
    try await onLoop { loop in
      let acceptance = Acceptance()
      let listener = Listener(socket, on: loop) { acceptance.accepted($0) }
      defer { listener.close() }
      let client = try await ByteStream.connect(to: socket.address, on: loop, timeout: .seconds(30))
      await acceptance.wait(for: 1)
      #expect(acceptance.streams.allSatisfy { $0.isPaced == (algorithm == "bbr") })
      acceptance.closeAll()
      client.close()
    }
  }

  @Test("takes the place of one that a dead daemon left, never that of a living one or of a file")
  func stalePath() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/socket"
    let address = try #require(SocketAddress(path: path))
    let dead = try ListeningSocket.open(address, count: 1, backlog: 1)
    Glibc.close(dead[0].descriptor)
    let living = try ListeningSocket.open(address, count: 4, backlog: 1)
    defer { Glibc.close(living[0].descriptor) }
    #expect(living.count == 1)
    let error = #expect(throws: SystemError.self) { try ListeningSocket.open(address, count: 1, backlog: 1) }
    #expect(error?.code == EADDRINUSE)
    try folder.write([1], to: "file")
    let file = try #require(SocketAddress(path: folder.path + "/file"))
    #expect(throws: SystemError.self) { try ListeningSocket.open(file, count: 1, backlog: 1) }
    #expect(try FileReader.read(folder.path + "/file", limit: 10) == [1])
  }
}

@Suite("Connecting", .timeLimit(.minutes(10)))
struct ConnectTests {
  @Test("to a port where nobody listens is refused")
  func refused() async throws {
    try await onLoop { loop in
      let socket = try listening()[0]
      Glibc.close(socket.descriptor)
      let error = await failure {
        try await ByteStream.connect(to: socket.address, on: loop, timeout: .seconds(30)).close()
      }
      guard case .system(let reason) = error else {
        Issue.record("connected, or failed with \(error.debugDescription)")
        return
      }
      #expect(reason.isRefusal && reason.call == "connect")
    }
  }

  @Test("to a path where there is nothing fails at once")
  func noPath() async throws {
    try await onLoop { loop in
      let folder = try TemporaryFolder()
      let address = try #require(SocketAddress(path: folder.path + "/nothing"))
      let error = await failure {
        try await ByteStream.connect(to: address, on: loop, timeout: .seconds(30)).close()
      }
      #expect(error == .system(SystemError(call: "connect", code: ENOENT)))
    }
  }

  @Test("to a listener whose backlog is full times out")
  func timesOut() async throws {
    try await onLoop { loop in
      let socket = try listening(backlog: 0)[0]
      defer { Glibc.close(socket.descriptor) }
      var streams: [ByteStream] = []
      defer { for stream in streams { stream.close() } }
      var error: StreamError?
      while error == nil, streams.count < 8 {
        do throws(StreamError) {
          streams.append(
            try await ByteStream.connect(to: socket.address, on: loop, timeout: .milliseconds(100)))
        } catch let caught {
          error = caught
        }
      }
      #expect(error == .timedOut)
    }
  }

  @Test("over a path works like any other")
  func overPath() async throws {
    try await onLoop { loop in
      let folder = try TemporaryFolder()
      let address = try #require(SocketAddress(path: folder.path + "/socket"))
      let acceptance = Acceptance()
      let socket = try ListeningSocket.open(address, count: 1, backlog: 8)[0]
      let listener = Listener(socket, on: loop) { acceptance.accepted($0) }
      let client = try await ByteStream.connect(to: address, on: loop, timeout: .seconds(30))
      await acceptance.wait(for: 1)
      try await acceptance.streams[0].write([1, 2], stall: .seconds(30))
      let received = try await read(2, from: client)
      #expect(received == [1, 2])
      client.close()
      acceptance.closeAll()
      listener.close()
    }
  }
}
