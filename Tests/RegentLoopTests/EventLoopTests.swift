// Event loops as executors: where tasks run, how other threads wake a loop, and how its end comes.

import Testing

@testable import RegentLoop

@Suite("An event loop", .timeLimit(.minutes(10)))
struct EventLoopTests {
  @Test("keeps a task that was started on it, through every kind of wait")
  func tasksStay() async throws {
    let pool = try BlockingPool(name: "test", threads: 1)
    let places = try await onLoop { loop in
      var places = [EventLoop.current === loop && loop.isCurrent]
      let offLoop = await pool.run { EventLoop.current == nil && !loop.isCurrent }
      places.append(offLoop == true)
      places.append(loop.isCurrent)
      await loop.sleep(for: .milliseconds(1))
      places.append(loop.isCurrent)
      async let child = loop.isCurrent
      places.append(await child)
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<3 { group.addTask { loop.isCurrent } }
        for await isCurrent in group { places.append(isCurrent) }
      }
      await Task.yield()
      places.append(loop.isCurrent)
      return places
    }
    #expect(places == Array(repeating: true, count: 9))
  }

  @Test("is nobody's outside its thread")
  func currentIsNilElsewhere() async throws {
    let group = try LoopGroup(count: 1)
    defer { group.stop() }
    #expect(EventLoop.current == nil)
    #expect(!group.loops[0].isCurrent)
  }

  @Test("is woken from its poll by work that another thread hands over")
  func wokenFromOtherThreads() async throws {
    let group = try LoopGroup(count: 2)
    defer { group.stop() }
    let total = await withTaskGroup(of: Int.self) { tasks in
      for number in 0..<4 {
        let loop = group.loops[number % 2]
        tasks.addTask {
          var done = 0
          for _ in 0..<500 {
            // Each waits for the one before, so that the loop polls in between.
            done += await Task(executorPreference: loop) { loop.isCurrent ? 1 : 0 }.value
          }
          return done
        }
      }
      return await tasks.reduce(0, +)
    }
    #expect(total == 2000)
  }

  @Test("runs one thread's work in the order in which it was handed over")
  func keepsOrder() async throws {
    let group = try LoopGroup(count: 1)
    let order = Gathered()
    for number in 0..<1000 { group.loops[0].run { order.append(number) } }
    group.stop()
    #expect(order.numbers == Array(0..<1000))
  }

  @Test("ends only after what was handed over before, and starts no more threads than loops")
  func stopRunsWhatIsReady() async throws {
    let group = try LoopGroup(count: 3)
    let order = Gathered()
    for loop in group.loops {
      loop.run {
        order.append(loop.index)
        loop.run { order.append(loop.index + 10) }
      }
    }
    group.stop()
    #expect(order.numbers.sorted() == [0, 1, 2, 10, 11, 12])
    group.stop()
  }

  @Test("gives every other event a turn when a task asks for it")
  func yieldTurn() async throws {
    let told = try await onLoop { loop in
      try await withPair(on: loop) { one, other in
        let witness = Witness { other.pauseReading() }
        other.delegate = witness
        other.resumeReading()
        _ = one.send([1], then: [], skipping: 0)
        let before = witness.readable
        // The turn comes behind the events of one poll; the next one sees what was sent.
        for _ in 0..<2 { await loop.yieldTurn() }
        return [before, witness.readable]
      }
    }
    #expect(told == [0, 1])
  }

  @Test("lets several tasks wait for the same turn")
  func sharedTurn() async throws {
    let order = Gathered()
    try await onLoop { loop in
      await withTaskGroup { group in
        for number in 0..<5 {
          group.addTask {
            order.append(number)
            await loop.yieldTurn()
            order.append(number + 10)
          }
        }
      }
    }
    #expect(Array(order.numbers.prefix(5)) == [0, 1, 2, 3, 4])
    #expect(order.numbers.sorted() == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14])
  }

  @Test("keeps buffers for reuse, empty, and no large ones")
  func buffers() async throws {
    let (reused, count, large) = try await onLoop { loop in
      var buffer = loop.takeBuffer()
      buffer.append(contentsOf: pattern(20 << 10))
      let capacity = buffer.capacity
      loop.giveBack(buffer)
      let again = loop.takeBuffer()
      loop.giveBack([UInt8](repeating: 0, count: 1 << 20))
      return (again.capacity == capacity, again.count, loop.takeBuffer().capacity)
    }
    #expect(reused)
    #expect(count == 0)
    #expect(large < 1 << 20)
  }

  @Test("that ends lets nobody wait for ever: sleepers wake, streams close, and nothing is left behind")
  func ends() async throws {
    let ended = Notes()
    weak var left: EventLoop?
    do {
      let group = try LoopGroup(count: 2)
      let (one, other) = (group.loops[0], group.loops[1])
      left = one
      let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
      Task(executorPreference: one) {
        isReady.yield()
        await one.sleep(for: .seconds(3600))
        ended.add("slept")
        // What it begins now has no loop to go on with, and ends as well.
        await one.sleep(for: .seconds(3600))
        ended.add("slept again")
      }
      Task(executorPreference: other) {
        guard let (near, far) = try? makePair(on: other) else { return }
        isReady.yield()
        let error = await failure { try await near.readable() }
        far.close()
        ended.add(error == .closed ? "closed" : "\(String(describing: error))")
        // Its end is what a task of the other loop waits for.
        await Task(executorPreference: one) { ended.add("told") }.value
        ended.add("done")
      }
      var readiness = ready.makeAsyncIterator()
      await readiness.next()
      await readiness.next()
      group.stop()
    }
    #expect(ended.all == ["slept", "slept again", "closed", "told", "done"])
    #expect(left == nil)
  }
}

/// What happened, from any thread.
private final class Notes: Sendable {
  private let lines = Lock<Set<String>>([])

  func add(_ line: String) { lines.withLock { _ = $0.insert(line) } }
  var all: Set<String> { lines.withLock { $0 } }
}

@Suite("A value of a loop's own", .timeLimit(.minutes(10)))
struct LoopLocalTests {
  @Test("is another one on every loop")
  func loopLocal() async throws {
    let group = try LoopGroup(count: 3)
    defer { group.stop() }
    let local = LoopLocal(group) { $0.index * 100 }
    for loop in group.loops {
      #expect(await Task(executorPreference: loop) { local.value }.value == loop.index * 100)
    }
  }

  @Test("travels with a task of the same loop")
  func loopBound() async throws {
    let value = try await onLoop { loop in
      let bound = LoopBound(Witness(), loop)
      bound.value.streamBecameReadable()
      return await Task(executorPreference: loop) { bound.value.readable }.value
    }
    #expect(value == 1)
  }

  @Test("cannot be had off the loops")
  func localOffLoop() async {
    await #expect(processExitsWith: .failure) {
      let group = try LoopGroup(count: 1)
      _ = LoopLocal(group) { $0.index }.value
    }
  }

  @Test("cannot be unwrapped on another thread")
  func boundOffLoop() async {
    await #expect(processExitsWith: .failure) {
      let group = try LoopGroup(count: 1)
      _ = LoopBound(1, group.loops[0]).value
    }
  }
}

/// Numbers in the order in which any threads added them.
final class Gathered: Sendable {
  private let all = Lock<[Int]>([])

  func append(_ number: Int) { all.withLock { $0.append(number) } }
  var numbers: [Int] { all.withLock { $0 } }
}
