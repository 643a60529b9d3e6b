// Who goes when room is needed, and that the budget holds at every moment.

import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("Eviction from the memory store")
struct EvictionTests {
  /// A store of one shard whose budget is full after ten records of 1,000 bytes.
  static func full(shards: Int = 1) -> MemoryStore {
    let store = MemoryStore(
      budget: 10 * (1001 + Block.overhead(capacity: 1001)) + SlotTable.pageCost, maxObject: 1 << 20,
      shards: shards)
    for number in 0..<10 { store.put(RecordKey("\(number)"), body: pattern(0..<1000)) }
    return store
  }

  @Test("takes the record that was used longest ago")
  func leastRecentlyUsed() {
    let store = EvictionTests.full()
    #expect(store.statistics.entries == 10 && store.statistics.evictions == 0)
    _ = store.get(RecordKey("0"), at: 3 * second)
    store.put(RecordKey("x"), body: pattern(0..<1000), at: 3 * second)
    #expect(
      store.audit().order.map { String(decoding: $0, as: UTF8.self) } == ["x", "0"]
        + (2..<10).reversed().map(String.init))
    #expect(store.statistics.evictions == 1)
  }

  @Test("moves a record to the front at most once in two seconds")
  func refreshInterval() {
    let store = EvictionTests.full()
    _ = store.get(RecordKey("0"), at: 19 * second / 10)
    #expect(store.audit().order.last == bytes("0"))
    _ = store.get(RecordKey("0"), at: 22 * second / 10)
    #expect(store.audit().order.first == bytes("0"))
    _ = store.get(RecordKey("1"), at: 22 * second / 10)
    _ = store.get(RecordKey("0"), at: 4 * second)
    #expect(store.audit().order.first == bytes("1"))
  }

  @Test("does not move what was only looked at and not matched")
  func unmatchedStays() {
    let store = EvictionTests.full()
    #expect(store.lookup(RecordKey("0"), now: 9 * second) { _ in false } == nil)
    #expect(store.audit().order.last == bytes("0"))
  }

  @Test("goes by age across all shards, so that an uneven shard costs nothing")
  func acrossShards() {
    let store = MemoryStore(budget: 4 << 20, maxObject: 1 << 20, shards: 16)
    // All in one shard but for one older record elsewhere.
    store.put(RecordKey(bytes("old"), hash: .max), body: pattern(0..<1000), at: 0)
    for number in 0..<10_000 {
      store.put(
        RecordKey(bytes("\(number)"), hash: UInt64(number)), body: pattern(0..<1000),
        at: Int64(number + 1) * second)
    }
    #expect(store.get(RecordKey(bytes("old"), hash: .max)) == nil)
    #expect(store.get(RecordKey(bytes("9999"), hash: 9999)) != nil)
    #expect(store.statistics.entries > 3500)
    #expect(store.statistics.bytes == store.countedBytes)
  }

  @Test("makes room for bytes that are reserved, and refuses more than there is")
  func reservation() {
    let store = EvictionTests.full()
    #expect(store.reserve(3000))
    #expect(store.statistics.entries == 7)
    #expect(!store.reserve(store.budget.limit))
    store.release(3000)
    #expect(store.statistics.bytes == store.countedBytes)
    #expect(!store.reserve(-1) && !store.reserve(.max))
  }

  @Test("makes room for a body that is still arriving")
  func arrivingBody() {
    let store = EvictionTests.full()
    let stream = BodyStream(expected: nil)
    #expect(stream.keep(limit: 1 << 20, account: store.budget))
    #expect(stream.tryAppend(Slice(pattern(0..<4000))) == .accepted)
    #expect(store.statistics.entries == 6)
    #expect(store.statistics.bytes == store.countedBytes + stream.charged)
    #expect(stream.charged >= 4000)
  }

  @Test("leaves an evicted body counted until its last reader is done")
  func evictedButRead() async throws {
    let store = MemoryStore(budget: 1 << 20, maxObject: 1 << 20)
    var stream = BodyStream.stored(300_000, in: store)
    #expect(store.put(RecordKey("k"), stream: try #require(stream)))
    var reader = stream?.makeReader()
    stream = nil
    store.remove(RecordKey("k")) { _ in true }
    #expect(store.statistics.entries == 0)
    #expect(store.statistics.bytes >= 300_000)
    #expect(!store.reserve(800_000))
    var read: [UInt8] = []
    while let slices = try await reader?.next(upTo: 10_000) {
      for slice in slices { slice.copy(onto: &read) }
    }
    #expect(read == pattern(0..<300_000))
    reader = nil
    #expect(store.statistics.bytes == store.countedBytes)
    #expect(store.reserve(800_000))
  }

  @Test("keeps the budget, the lists and the order through random changes", arguments: 0..<8 as Range<UInt64>)
  func againstModel(seed: UInt64) {
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    var model = StoreModel(budget: 200_000 + Int(seed) * 30_000)
    for step in 0..<1500 {
      model.step(&random)
      let faults = model.faults()
      #expect(faults == [], "seed \(seed), step \(step)")
      if !faults.isEmpty { return }
    }
    #expect(model.store.statistics.evictions > 0)
  }

  @Test("stays whole under changes from several threads at once", arguments: [1, 16])
  func hammered(shards: Int) async {
    let store = MemoryStore(budget: 1 << 20, maxObject: 1 << 20, shards: shards)
    let wrong = await withTaskGroup(of: Int.self) { group in
      for worker in 0..<4 as Range<UInt64> {
        group.addTask {
          var random = SeededGenerator(seed: worker)
          return (0..<3000).count { !hammer(store, &random, Int64($0) * second / 10) }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(wrong == 0)
    #expect(store.audit().faults == [])
    #expect(store.statistics.bytes == store.countedBytes)
    #expect(store.statistics.evictions > 0)
  }
}

/// One random change; false when the store answered wrongly or exceeded its budget.
private func hammer(_ store: MemoryStore, _ random: inout SeededGenerator, _ now: Int64) -> Bool {
  let number = Int.random(in: 0..<300, using: &random)
  let key = RecordKey("key \(number)")
  let body = pattern(0..<(number * 37))
  switch Int.random(in: 0..<20, using: &random) {
  case 0..<10:
    guard let record = store.get(key, at: now) else { return true }
    return record.key.bytes == key.bytes && record.bodyCount % 100_000 == body.count
  case 10..<16: store.put(key, shared: "shared \(number % 5)", body: body, at: now) { _ in true }
  case 16:
    if let stream = BodyStream.stored(100_000 + body.count, in: store) {
      _ = store.insert(
        key, head: [], sharedHead: [], body: .stream(stream), now: now, replacing: { _ in true })
    }
  case 17: store.remove(key) { _ in true }
  case 18: if store.reserve(50_000) { store.release(50_000) }
  default: return store.statistics.bytes <= store.budget.limit
  }
  return true
}

/// A store beside a plain list that says what it should hold.
private struct StoreModel {
  struct Entry { var key: [UInt8], head: String, touched: UInt32 }
  let store: MemoryStore
  /// Newest use first.
  var entries: [Entry] = []
  var now: Int64 = 0

  init(budget: Int) { store = MemoryStore(budget: budget, maxObject: budget / 3, shards: 1) }

  var tick: UInt32 { Ticks.at(now) }

  mutating func step(_ random: inout SeededGenerator) {
    now += Int64.random(in: 0..<second, using: &random)
    let number = Int.random(in: 0..<60, using: &random)
    // A few hashes only, so that chains are long.
    let key = RecordKey(bytes("key \(number)"), hash: UInt64(number % 7) &* 0x1_0001)
    let head = "\(Int.random(in: 0..<3, using: &random))"
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<5: put(key, head, Int.random(in: 0..<8000, using: &random))
    case 5..<9: get(key, head)
    default: remove(key, head)
    }
  }

  private mutating func put(_ key: RecordKey, _ head: String, _ count: Int) {
    let isStored = store.put(
      key, head: head, shared: "shared \(count % 9)", body: pattern(0..<count), at: now
    ) {
      text($0.head) == head
    }
    forgetEvicted(besides: isStored ? 1 : 0, replacing: isStored ? (key.bytes, head) : nil)
    if isStored { entries.insert(Entry(key: key.bytes, head: head, touched: tick), at: 0) }
  }

  /// Cuts the model's tail to the store's length: eviction may take the oldest, and nothing else.
  private mutating func forgetEvicted(besides added: Int, replacing: (key: [UInt8], head: String)?) {
    let order = store.audit().order
    var evicted = 0
    while true {
      let left = entries.filter { entry in
        replacing.map { entry.key == $0.key && entry.head == $0.head } != true
      }
      if left.count <= order.count - added || entries.isEmpty {
        entries = left
        return
      }
      entries.removeLast()
      evicted += 1
    }
  }

  private mutating func get(_ key: RecordKey, _ head: String) {
    let found = store.lookup(key, now: now) { text($0.head) == head }
    guard let index = entries.firstIndex(where: { $0.key == key.bytes && $0.head == head }) else {
      #expect(found == nil)
      return
    }
    #expect(found != nil)
    let span = tick &- (entries.last?.touched ?? tick)
    let refresh = min(max(span / 4, Ticks.shortestRefresh), Ticks.longestRefresh)
    if tick &- entries[index].touched >= refresh {
      var entry = entries.remove(at: index)
      entry.touched = tick
      entries.insert(entry, at: 0)
    }
  }

  private mutating func remove(_ key: RecordKey, _ head: String) {
    let removed = store.remove(key) { text($0.head) == head }
    let before = entries.count
    entries.removeAll { $0.key == key.bytes && $0.head == head }
    #expect(before - entries.count == removed)
  }

  func faults() -> [String] {
    var faults = store.audit().faults
    if store.audit().order != entries.map(\.key) { faults.append("the order of use differs") }
    if store.statistics.bytes != store.countedBytes { faults.append("bytes were miscounted") }
    if store.statistics.bytes > store.budget.limit { faults.append("the budget was exceeded") }
    if store.statistics.entries != entries.count { faults.append("entries were miscounted") }
    return faults
  }
}
