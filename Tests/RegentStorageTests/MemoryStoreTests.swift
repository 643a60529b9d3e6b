// The memory store: what is found, what replaces what, who goes first, and that no byte is forgotten.

import RegentLoop
import Testing

@testable import RegentStorage

@Suite("The memory store")
struct MemoryStoreTests {
  let store = MemoryStore(budget: 4 << 20, maxObject: 2 << 20)

  @Test("gives back the key, both heads and the body that were stored")
  func roundTrip() throws {
    #expect(store.put(RecordKey("k"), head: "own", shared: "common", body: bytes("body")))
    let record = try #require(store.get(RecordKey("k")))
    #expect(text(record.key) == "k")
    #expect(text(record.head) == "own")
    #expect(record.sharedHead.map { text(Slice($0)) } == "common")
    #expect(record.bodyBytes == bytes("body"))
    #expect(record.bodyCount == 4)
    #expect(store.get(RecordKey("l")) == nil)
  }

  @Test(
    "of several records that match, the newest is found unless an older one is preferred, whoever shares the bucket"
  )
  func preference() throws {
    let keys = [RecordKey([1], hash: 7), RecordKey([2], hash: 7), RecordKey([1, 1], hash: 7)]
    for key in keys { for head in ["3", "1", "2"] { #expect(store.put(key, head: head)) } }
    for key in keys {
      let found = { (better: (borrowing Record, borrowing Record) -> Bool) in
        store.lookup(key, now: 0, where: { text($0.head) != "9" }, preferring: better).map { text($0.head) }
      }
      #expect(found { _, _ in false } == "2")
      #expect(found { text($0.head) > text($1.head) } == "3")
      #expect(found { text($0.head) < text($1.head) } == "1")
      let some = store.lookup(
        key, now: 0, where: { text($0.head) != "3" }, preferring: { text($0.head) > text($1.head) })
      #expect(some.map { text($0.head) } == "2")
      #expect(store.records(key).map { text($0.head) } == ["2", "1", "3"])
      #expect(
        store.records(key, limit: 2).map { text($0.key) } == [text(Slice(key.bytes)), text(Slice(key.bytes))])
    }
    #expect(store.records(RecordKey([3], hash: 7)).isEmpty)
  }

  @Test("B2: keys whose hashes collide never answer for each other")
  func collisions() throws {
    for number in 0..<2000 {
      let key = RecordKey(Array("\(number)".utf8), hash: UInt64(number % 3))
      #expect(store.put(key, head: "\(number)"))
    }
    for number in 0..<2000 {
      let key = RecordKey(Array("\(number)".utf8), hash: UInt64(number % 3))
      if let record = store.get(key) { #expect(text(record.head) == "\(number)") }
      #expect(store.get(RecordKey(Array("x\(number)".utf8), hash: UInt64(number % 3))) == nil)
    }
    #expect(store.statistics.entries > 100)
  }

  @Test("keeps empty keys, heads and bodies apart from none at all")
  func emptyParts() throws {
    #expect(store.get(RecordKey("")) == nil)
    #expect(store.put(RecordKey("")))
    let record = try #require(store.get(RecordKey("")))
    #expect(record.head.count == 0 && record.bodyCount == 0 && record.sharedHead == nil)
  }

  @Test(
    "packs a body up to 64 KiB and keeps a longer one as a stream",
    arguments: [0, 1, 65_536, 65_537, 300_000])
  func packing(count: Int) throws {
    let body = pattern(0..<count)
    let whole = BodyStream(whole: [Slice(body)])
    for (key, offered) in [("b", .bytes(body)), ("s", .slices([Slice(body)])), ("w", .stream(whole))]
      as [(String, OfferedBody)]
    {
      #expect(
        store.insert(
          RecordKey(key), head: [], sharedHead: [], body: offered, now: 0, replacing: { _ in false }))
      let record = try #require(store.get(RecordKey(key)))
      #expect(record.bodyBytes == body)
      if case .packed = record.body { #expect(count <= 65_536) } else { #expect(count > 65_536) }
    }
    #expect(store.statistics.bytes == store.countedBytes)
  }

  @Test("finds the most recently stored of several records under a key, among those that match")
  func newestMatch() throws {
    for head in ["a1", "b1", "a2", "b2"] { store.put(RecordKey("k"), head: head) }
    #expect(text(try #require(store.get(RecordKey("k"))).head) == "b2")
    let found = store.lookup(RecordKey("k"), now: 0) { text($0.head).hasPrefix("a") }
    #expect(text(try #require(found).head) == "a2")
    #expect(store.lookup(RecordKey("k"), now: 0) { _ in false } == nil)
  }

  @Test("replaces the records that match, and leaves the others under the key")
  func replaces() {
    for head in ["a1", "b1"] { store.put(RecordKey("k"), head: head) }
    store.put(RecordKey("k"), head: "a2") { text($0.head) == "a1" }
    #expect(store.statistics.entries == 2)
    #expect(store.lookup(RecordKey("k"), now: 0) { text($0.head) == "a1" } == nil)
    #expect(store.lookup(RecordKey("k"), now: 0) { text($0.head) == "b1" } != nil)
    #expect(store.statistics.bytes == store.countedBytes)
  }

  @Test("removes what matches under one key, and says how many")
  func removes() {
    for head in ["a", "b", "a"] { store.put(RecordKey("k"), head: head) }
    store.put(RecordKey("other"), head: "a")
    #expect(store.remove(RecordKey("k")) { text($0.head) == "a" } == 2)
    #expect(store.remove(RecordKey("none")) { _ in true } == 0)
    #expect(store.statistics.entries == 2)
    #expect(store.audit().faults == [])
  }

  @Test("removes what matches under all keys, and says how many")
  func removesAll() {
    for number in 0..<1000 { store.put(RecordKey("\(number)"), head: number % 3 == 0 ? "go" : "stay") }
    #expect(store.removeAll { text($0.head) == "go" } == 334)
    #expect(store.statistics.entries == 666)
    #expect(store.removeAll { _ in true } == 666)
    #expect(store.statistics.bytes == store.countedBytes)
    #expect(store.audit().faults == [])
  }

  @Test("keeps at most 32 records under a key; the oldest goes")
  func variantsBounded() {
    for number in 0..<100 { store.put(RecordKey("k"), head: "\(number)") }
    #expect(store.statistics.entries == 32)
    for number in [67, 68, 99] {
      let found = store.lookup(RecordKey("k"), now: 0) { text($0.head) == "\(number)" }
      #expect((found != nil) == (number > 67))
    }
    #expect(store.statistics.bytes == store.countedBytes)
  }

  @Test("never answers one key with another whose hash is the same", arguments: [0, 1, .max] as [UInt64])
  func forcedCollisions(hash: UInt64) throws {
    let names = (0..<500).map { "\($0)" } + ["", "0\0", "00"]
    for name in names { store.put(RecordKey(bytes(name), hash: hash), head: name) }
    for name in names {
      #expect(text(try #require(store.get(RecordKey(bytes(name), hash: hash))).head) == name)
    }
    #expect(store.get(RecordKey(bytes("500"), hash: hash)) == nil)
    #expect(store.remove(RecordKey(bytes("7"), hash: hash)) { _ in true } == 1)
    #expect(store.get(RecordKey(bytes("7"), hash: hash)) == nil)
    #expect(store.get(RecordKey(bytes("77"), hash: hash)) != nil)
    #expect(store.audit().faults == [])
  }

  @Test("refuses what is longer than the longest object, and counts the refusal")
  func refusesTooLarge() {
    let store = MemoryStore(budget: 1 << 20, maxObject: 1000)
    #expect(!store.put(RecordKey("key"), head: "head", body: pattern(0..<994)))
    #expect(store.put(RecordKey("key"), head: "head", body: pattern(0..<993)))
    #expect(!store.put(RecordKey("key"), head: "head", shared: "s", body: pattern(0..<993)))
    #expect(store.statistics.refusals == 2 && store.statistics.insertions == 1)
  }

  @Test("refuses a stream that is not whole", arguments: ["open", "failed", "dropped", "unkept"])
  func refusesUnwhole(how: String) async throws {
    let stream = BodyStream(expected: nil)
    if how != "unkept" && how != "dropped" { #expect(stream.keep(limit: 100, account: store.budget)) }
    let reader = stream.makeReader()
    #expect(stream.tryAppend(Slice([1, 2, 3])) == .accepted)
    if how == "dropped" { _ = try await reader?.next() }
    if how == "failed" { stream.fail(.aborted) } else if how != "open" { stream.finish() }
    #expect(
      !store.insert(
        RecordKey("k"), head: [], sharedHead: [], body: .stream(stream), now: 0, replacing: { _ in true }))
    #expect(store.get(RecordKey("k")) == nil)
  }

  @Test("frees a shared head with its last record, and counts it once")
  func interning() {
    let store = MemoryStore(budget: 4 << 20, maxObject: 1 << 20, shards: 1)
    for number in 0..<10 { store.put(RecordKey("\(number)"), shared: number < 6 ? "one" : "two") }
    #expect(store.audit().sharedHeads == 2)
    #expect(store.statistics.bytes == store.countedBytes)
    for number in 0..<6 { store.remove(RecordKey("\(number)")) { _ in true } }
    #expect(store.audit().sharedHeads == 1)
    store.put(RecordKey("7"), shared: "three") { _ in true }
    #expect(store.audit().sharedHeads == 2)
    store.removeAll { _ in true }
    #expect(store.audit().sharedHeads == 0)
    #expect(store.statistics.bytes == store.countedBytes)
    #expect(store.audit().faults == [])
  }

  @Test("frees everything when it goes, though a body is still read")
  func freesAll() async throws {
    weak var budget: ByteBudget?
    var stream: BodyStream?
    do {
      let store = MemoryStore(budget: 4 << 20, maxObject: 1 << 20)
      budget = store.budget
      stream = BodyStream.stored(200_000, in: store)
      #expect(store.put(RecordKey("k"), stream: try #require(stream)))
      store.put(RecordKey("l"), shared: "head")
    }
    #expect(stream != nil && budget?.used == stream?.charged)
    stream = nil
    #expect(budget == nil)
  }
}
