// Time on a loop: the queue of deadlines alone, and sleeps on a real loop.

import TestKit
import Testing

@testable import RegentLoop

@Suite("The queue of timers")
struct TimerQueueTests {
  @Test(
    "gives out what is due in the order of the deadlines, whatever the order of adding", arguments: 1...20)
  func order(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var queue = TimerQueue()
    var model: [Int64] = []
    for _ in 0..<400 {
      if Int.random(in: 0..<3, using: &random) > 0 {
        let deadline = Int64.random(in: 0..<50, using: &random)
        queue.add(deadline, .stream(SlotID(index: UInt32(model.count), generation: 1)))
        model.append(deadline)
      } else {
        let now = Int64.random(in: -5..<50, using: &random)
        let due = queue.popDue(now)?.deadline
        let expected = model.min().flatMap { $0 <= now ? $0 : nil }
        #expect(due == expected, "seed \(seed)")
        if let expected, let index = model.firstIndex(of: expected) { model.remove(at: index) }
      }
      #expect(queue.next == model.min() && queue.count == model.count, "seed \(seed)")
    }
  }

  @Test("holds back what is due a nanosecond later")
  func notBefore() {
    var queue = TimerQueue()
    queue.add(100, .stream(SlotID(bits: 7)))
    #expect(queue.popDue(99) == nil)
    #expect(queue.popDue(100)?.deadline == 100)
    #expect(queue.popDue(.max) == nil)
    #expect(queue.next == nil)
  }

  @Test("bears the earliest and the latest deadlines there are")
  func extremes() {
    var queue = TimerQueue()
    for deadline in [Int64.max, 0, .min, -1] { queue.add(deadline, .stream(SlotID(bits: 1))) }
    var order: [Int64] = []
    while let entry = queue.popDue(.max) { order.append(entry.deadline) }
    #expect(order == [.min, -1, 0, .max])
  }

  @Test(
    "gives back the name that it was given, a sleeper's or a stream's",
    arguments: [
      TimerTarget.sleeper(0), .sleeper(1), .sleeper(1 << 62), .stream(SlotID(bits: 0)),
      .stream(SlotID(index: 7, generation: 1)), .stream(SlotID(index: .max, generation: .max >> 1)),
    ])
  func names(target: TimerTarget) {
    var queue = TimerQueue()
    queue.add(1, target)
    #expect(queue.popDue(1)?.target == target)
  }
}

@Suite("A sleep on a loop", .timeLimit(.minutes(10)))
struct SleepTests {
  @Test("ends in the order of the deadlines, not of the sleeps")
  func order() async throws {
    let order = Gathered()
    try await onLoop { loop in
      await withTaskGroup { group in
        for milliseconds in [30, 5, 20, 1, 10] {
          group.addTask {
            await loop.sleep(for: .milliseconds(milliseconds))
            order.append(milliseconds)
          }
        }
      }
    }
    #expect(order.numbers == [1, 5, 10, 20, 30])
  }

  @Test("never ends before its time", arguments: [0, 1, 500, 1000, 3700, 12_000])
  func notBefore(microseconds: Int) async throws {
    let slept = try await onLoop { loop in
      let start = loop.clock.now
      await loop.sleep(for: .microseconds(microseconds))
      return loop.clock.now - start
    }
    #expect(slept >= Int64(microseconds) * 1000)
  }

  @Test(
    "ends at once when it is no time at all", arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func noTime(duration: Duration) async throws {
    try await onLoop { loop in
      await loop.sleep(for: duration)
      #expect(loop.timers.count == 0)
    }
  }

  @Test("is not cut short by an overflow", arguments: [Duration.seconds(Int64.max), .seconds(9_223_372_036)])
  func forEver(duration: Duration) async throws {
    try await onLoop { loop in
      let long = Task(executorPreference: loop) { await loop.sleep(for: duration) }
      await Task.yield()
      await loop.sleep(for: .milliseconds(2))
      #expect(loop.timers.count == 1)
      long.cancel()
      await long.value
    }
  }

  @Test("ends when its task is cancelled from another thread")
  func cancelled() async throws {
    let group = try LoopGroup(count: 1)
    defer { group.stop() }
    let loop = group.loops[0]
    let (begun, sender) = AsyncStream.makeStream(of: Void.self)
    let sleeper = Task(executorPreference: loop) {
      sender.yield()
      await loop.sleep(for: .seconds(3600))
      return Task.isCancelled
    }
    var iterator = begun.makeAsyncIterator()
    await iterator.next()
    sleeper.cancel()
    #expect(await sleeper.value)
  }

  @Test("does not begin in a task that is cancelled already")
  func cancelledBefore() async throws {
    try await onLoop { loop in
      let sleeper = Task(executorPreference: loop) {
        while !Task.isCancelled { await Task.yield() }
        await loop.sleep(for: .seconds(3600))
      }
      sleeper.cancel()
      await sleeper.value
      #expect(loop.timers.count == 0)
    }
  }

  @Test("traps on another thread than the loop's, where it would race with the timers")
  func offLoop() async {
    await #expect(processExitsWith: .failure) {
      let group = try LoopGroup(count: 1)
      await group.loops[0].sleep(for: .milliseconds(1))
    }
  }

  @Test("survives cancellations that race with its end")
  func racingCancellations() async throws {
    let group = try LoopGroup(count: 1)
    defer { group.stop() }
    let loop = group.loops[0]
    for round in 0..<300 {
      let sleeper = Task(executorPreference: loop) { await loop.sleep(for: .microseconds(round)) }
      if round % 3 > 0 { await Task.yield() }
      sleeper.cancel()
      await sleeper.value
    }
    // Every timer has passed by then, those of the cancelled sleeps as well.
    let left = await Task(executorPreference: loop) {
      await loop.sleep(for: .milliseconds(2))
      return loop.timers.count
    }.value
    #expect(left == 0)
  }
}
