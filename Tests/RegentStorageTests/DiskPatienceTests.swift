// A disk that does not answer: nobody waits for it longer than the limits say, and nothing is taken for damage.

import RegentLoop
import Testing

@testable import RegentStorage

@Suite("A disk store on a slow disk") struct DiskPatienceTests {
  private let disk = FaultyDisk()
  private let store: DiskStore
  private static let limit = DiskOptions.small().readLimit

  init() throws {
    var options = DiskOptions.small(budget: 8 << 20, segment: 1 << 20)
    options.queueLimit = 100_000
    store = try DiskStore.on(disk, options, pool: BlockingPool(name: "slow", threads: 3))
    for number in 0..<8 { store.put("\(number)", pattern(0..<1000)) }
    store.step()
  }

  /// Makes the disk's reads wait, and not answer.
  private func stall() {
    disk.state.withLock { $0.isCold = true }
    disk.gate.set(shut: true)
  }

  /// Waits until so many reads have a thread, or wait for one.
  private func reads(running: Int, waiting: Int) async {
    while store.core.patience.counts != (waiting, running) { await Task.yield() }
  }

  /// Leaves two of the three threads in reads that nobody waits for any more.
  private func crowd() async {
    stall()
    async let first = store.get("0")
    async let second = store.get("1")
    await reads(running: 2, waiting: 2)
    _ = store.core.patience.step(0)
    _ = store.core.patience.step(Self.limit)
    #expect(await first == nil)
    #expect(await second == nil)
  }

  @Test("answers from the page cache at once, and waits for the rest")
  func cold() async {
    #expect(await store.get("0")?.body == pattern(0..<1000))
    #expect(store.statistics.slowReads == 0)
    disk.state.withLock { $0.isCold = true }
    #expect(await store.get("0")?.body == pattern(0..<1000))
    #expect(store.statistics.slowReads == 1 && store.statistics.timeouts == 0)
  }

  @Test("gives a lookup up after its limit: a miss, counted, and no damage (F11)")
  func lookup() async {
    stall()
    async let found = store.get("0")
    await reads(running: 1, waiting: 1)
    _ = store.core.patience.step(0)
    _ = store.core.patience.step(Self.limit - 1)
    #expect(store.statistics.timeouts == 0)
    _ = store.core.patience.step(Self.limit)
    #expect(await found == nil)
    #expect(store.statistics.timeouts == 1 && store.statistics.stuckReads == 1)
    #expect(store.statistics.damages == 0 && store.statistics.entries == 8)
    disk.gate.set(shut: false)
    await reads(running: 0, waiting: 1)
    _ = store.core.patience.step(2 * Self.limit)
    #expect(store.statistics.stuckReads == 0 && store.core.patience.counts.waiting == 0)
    #expect(await store.get("0")?.body == pattern(0..<1000))
    #expect(store.core.state == .healthy)
  }

  @Test("while more than half of the threads are stuck, no lookup waits for one")
  func crowded() async {
    await crowd()
    #expect(store.statistics.stuckReads == 2 && store.core.patience.isCrowded)
    let (slow, timeouts) = (store.statistics.slowReads, store.statistics.timeouts)
    #expect(await store.get("2") == nil)
    #expect(await store.records(store.key(bytes("3")), now: 0).isEmpty)
    #expect(store.statistics.slowReads == slow && store.statistics.timeouts == timeouts + 2)
    disk.state.withLock { $0.isCold = false }
    #expect(await store.get("4")?.body == pattern(0..<1000), "what is in the page cache is answered")
    disk.gate.set(shut: false)
    await reads(running: 0, waiting: 2)
    _ = store.core.patience.step(2 * Self.limit)
    #expect(!store.core.patience.isCrowded)
  }

  @Test("a read that waited for a thread until its limit never runs")
  func queued() async {
    stall()
    async let answers = withTaskGroup(of: Bool.self) { group in
      for number in 0..<5 { group.addTask { await store.get("\(number)") == nil } }
      return await group.reduce(true) { $0 && $1 }
    }
    await reads(running: 3, waiting: 5)
    _ = store.core.patience.step(0)
    _ = store.core.patience.step(Self.limit)
    #expect(await answers)
    #expect(store.statistics.timeouts == 5 && store.statistics.stuckReads == 3)
    _ = store.core.patience.step(Self.limit)
    #expect(store.core.patience.counts == (3, 3))
    disk.gate.set(shut: false)
    await reads(running: 0, waiting: 3)
  }

  @Test("cuts the reading of a body after ten seconds, and keeps the body")
  func body() async throws {
    let fill = try #require(store.fill(store.key(bytes("big")), variant: 0))
    for start in stride(from: 0, to: 600_000, by: 50_000) {
      while fill.tryAppend(Slice(pattern(start..<start + 50_000))) == .full { store.step() }
      store.step()
    }
    #expect(fill.commit(head: []))
    store.step()
    let record = try #require(await store.lookup(store.key(bytes("big")), now: 0))
    let reader = record.makeReader()
    let first = try await reader.next()
    #expect(first != nil)
    stall()
    async let rest = reader.allBytes()
    await reads(running: 1, waiting: 1)
    _ = store.core.patience.step(0)
    _ = store.core.patience.step(store.core.options.bodyLimit - 1)
    #expect(store.statistics.timeouts == 0 && store.statistics.stuckReads == 1)
    _ = store.core.patience.step(store.core.options.bodyLimit)
    #expect(await rest == nil)
    #expect(store.statistics.timeouts == 1 && store.statistics.damages == 0)
    disk.gate.set(shut: false)
    #expect(await store.get("big")?.body == pattern(0..<600_000))
  }

  @Test("a body is given up rather than held back by a writer that hangs", arguments: [false, true])
  func fills(crowded: Bool) async throws {
    let fill = try #require(store.fill(store.key(bytes("big")), variant: 0))
    while fill.tryAppend(Slice(pattern(0..<50_000))) != .full {}
    if crowded {
      await crowd()
      #expect(await fill.append(Slice(pattern(0..<50_000))) == .abandoned)
      disk.gate.set(shut: false)
    } else {
      async let outcome = fill.append(Slice(pattern(0..<50_000)))
      while store.core.patience.counts.waiting == 0 { await Task.yield() }
      _ = store.core.patience.step(0)
      _ = store.core.patience.step(store.core.options.writeLimit)
      #expect(await outcome == .abandoned)
    }
    #expect(!fill.commit(head: []), "what lacks bytes is never stored")
    store.step()
    #expect(await store.get("big") == nil)
  }

  @Test("what is waited for when the store closes is given up")
  func closed() async {
    stall()
    async let found = store.get("0")
    await reads(running: 1, waiting: 1)
    store.core.patience.close()
    #expect(await found == nil)
    disk.gate.set(shut: false)
    store.shut()
  }
}
