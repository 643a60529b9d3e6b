// Opening a stream to whichever of a name's addresses answers first.

extension ByteStream {
  /// Connects to the first of the addresses that answers within `timeout` in all. The stream is the caller's to close.
  public static func connect(
    toFirstOf addresses: [SocketAddress], on loop: EventLoop, timeout: Duration
  ) async throws(StreamError) -> ByteStream {
    guard let only = addresses.first else { throw .nameNotFound("no address") }
    if addresses.count == 1 { return try await connect(to: only, on: loop, timeout: timeout) }
    let ordered = ConnectionRace.order(addresses) { $0.family }
    return try await Racers(ordered, on: loop, deadline: loop.clock.time(in: timeout)).run()
  }
}

/// The attempts of one race. Lives on its loop's thread.
private final class Racers {
  private let addresses: [SocketAddress]
  private let loop: EventLoop
  private let deadline: Int64
  private var race: ConnectionRace
  private var streams: [Int: ByteStream] = [:]
  private var timer: Task<Void, Never>?
  private var failure: StreamError?
  private var winner: CheckedContinuation<Result<LoopBound<ByteStream>, StreamError>, Never>?

  init(_ addresses: [SocketAddress], on loop: EventLoop, deadline: Int64) {
    self.addresses = addresses
    self.loop = loop
    self.deadline = deadline
    race = ConnectionRace(count: addresses.count)
  }

  func run() async throws(StreamError) -> ByteStream {
    let result = await withCheckedContinuation { continuation in
      winner = continuation
      perform(race.started())
    }
    return try result.get().value
  }

  private func perform(_ actions: [ConnectionRace.Action]) {
    for action in actions {
      switch action {
      case .attempt(let index): attempt(index)
      case .arm: arm()
      case .win(let index): finish(streams.removeValue(forKey: index).map { .success(LoopBound($0, loop)) })
      case .abandon(let index): streams.removeValue(forKey: index)?.close()
      case .fail: finish(.failure(failure ?? .timedOut))
      }
    }
  }

  private func finish(_ result: Result<LoopBound<ByteStream>, StreamError>?) {
    timer?.cancel()
    timer = nil
    winner?.resume(returning: result ?? .failure(.closed))
    winner = nil
  }

  private func arm() {
    timer?.cancel()
    let bound = LoopBound(self, loop)
    let loop = loop
    timer = Task(executorPreference: loop) {
      await loop.sleep(for: ConnectionRace.headStart)
      if Task.isCancelled { return }
      let racers = bound.value
      racers.perform(racers.race.timerFired())
    }
  }

  private func attempt(_ index: Int) {
    do throws(StreamError) {
      streams[index] = try ByteStream.open(addresses[index], on: loop)
    } catch {
      return failed(index, error)
    }
    let bound = LoopBound(self, loop)
    Task(executorPreference: loop) { await bound.value.connect(index) }
  }

  private func connect(_ index: Int) async {
    guard let stream = streams[index] else { return }
    do throws(StreamError) {
      try await stream.connected(until: deadline)
      perform(race.attemptSucceeded(index))
    } catch {
      streams.removeValue(forKey: index)?.close()
      failed(index, error)
    }
  }

  private func failed(_ index: Int, _ error: StreamError) {
    // The first address is the one that the system prefers: its failure tells the most.
    failure = failure ?? error
    perform(race.attemptFailed(index))
  }
}
