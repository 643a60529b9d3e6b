// Names to addresses by the system's own resolver, on threads of its own; never libevent's. What was found is remembered
// for all loops together, and so is that nothing was.

import CLibevent
import Glibc

/// The system's resolver behind threads that may block, and what it said lately.
public final class Resolver: Sendable {
  private let pool: BlockingPool
  private let state: Lock<State>

  private struct State {
    var table: NameTable
    var continuations: [NameTable.Waiter: CheckedContinuation<NameTable.Answer, Never>] = [:]
    var lookUps = 0
  }

  /// `lifetime` is how long addresses are used, `missingLifetime` how long a name is taken to have none, `bound` how
  /// many names are remembered.
  public init(
    threads: Int = 2, lifetime: Duration = .seconds(10), missingLifetime: Duration = .seconds(1),
    bound: Int = 1024
  ) throws(SystemError) {
    pool = try BlockingPool(name: "regent-dns", threads: threads, bound: 1000)
    state = Lock(
      State(table: NameTable(lifetime: lifetime, missingLifetime: missingLifetime, bound: bound)))
  }

  /// How many names are remembered, and how often the system was asked.
  public var figures: (names: Int, lookUps: Int) { state.withLock { ($0.table.count, $0.lookUps) } }

  /// The addresses of a host, both families, in the order that the system prefers. Never empty. Waits for `patience` at
  /// most; the look-up itself goes on then, for whoever asks next.
  public func resolve(
    host: String, port: UInt16, on loop: EventLoop, patience: Duration
  ) async throws(StreamError) -> [SocketAddress] {
    // A failure means that it is a name.
    if let literal = try? Self.lookUp(host: host, port: port, numericOnly: true) { return literal }
    let name = NameTable.Name(host: host, port: port)
    var timer: Task<Void, Never>?
    let answer = await withCheckedContinuation { continuation in
      switch ask(name, now: loop.clock.now, continuation) {
      case .known(let answer): continuation.resume(returning: answer)
      case .wait(let waiter): timer = impatience(of: waiter, name, on: loop, patience)
      case .lookUp(let waiter):
        timer = impatience(of: waiter, name, on: loop, patience)
        lookUp(name)
      }
    }
    timer?.cancel()
    return try answer.get()
  }

  /// Asks the table; whoever has to wait is resumed by the answer or by the end of its patience.
  private func ask(
    _ name: NameTable.Name, now: Int64, _ continuation: CheckedContinuation<NameTable.Answer, Never>
  ) -> NameTable.Asked {
    state.withLock { state in
      let asked = state.table.asked(name, now: now)
      switch asked {
      case .known: break
      case .wait(let waiter), .lookUp(let waiter): state.continuations[waiter] = continuation
      }
      return asked
    }
  }

  private func impatience(
    of waiter: NameTable.Waiter, _ name: NameTable.Name, on loop: EventLoop, _ patience: Duration
  ) -> Task<Void, Never> {
    Task(executorPreference: loop) {
      await loop.sleep(for: patience)
      let continuation = self.state.withLock { state in
        state.table.waiterLeft(waiter, for: name)
        return state.continuations.removeValue(forKey: waiter)
      }
      continuation?.resume(returning: .failure(.nameTimedOut))
    }
  }

  private func lookUp(_ name: NameTable.Name) {
    state.withLock { $0.lookUps += 1 }
    let isAccepted = pool.submit {
      do throws(StreamError) {
        self.answer(name, .success(try Self.lookUp(host: name.host, port: name.port, numericOnly: false)))
      } catch {
        self.answer(name, .failure(error))
      }
    }
    if !isAccepted { answer(name, .failure(.nameNotFound("too many names are being resolved"))) }
  }

  private func answer(_ name: NameTable.Name, _ answer: NameTable.Answer) {
    let now = LoopClock.read().now
    let waiting = state.withLock { state in
      state.table.answered(name, answer, now: now).compactMap { state.continuations.removeValue(forKey: $0) }
    }
    for continuation in waiting { continuation.resume(returning: answer) }
  }
  static func lookUp(host: String, port: UInt16, numericOnly: Bool) throws(StreamError) -> [SocketAddress] {
    // Unsafe: the hints point nowhere.
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = numericOnly ? AI_NUMERICHOST | AI_NUMERICSERV : AI_ADDRCONFIG | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    // Unsafe: the list is the resolver's and freed below.
    let code = unsafe getaddrinfo(host, String(port), &hints, &list)
    guard code == 0 else { throw .nameNotFound(unsafe String(cString: gai_strerror(code))) }
    defer { unsafe freeaddrinfo(list) }
    var found: [SocketAddress] = []
    var next = unsafe list
    while let entry = unsafe next {
      if let address = unsafe entry.pointee.ai_addr {
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: address, count: Int(entry.pointee.ai_addrlen)))
        let text = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        unsafe found.append(
          SocketAddress(bytes: bytes, family: entry.pointee.ai_family, description: text))
      }
      unsafe next = entry.pointee.ai_next
    }
    guard !found.isEmpty else { throw .nameNotFound("no address") }
    return found
  }
}
