// What was removed does not come back: a record whose fetch began before the removal is not taken.

import Testing

@testable import RegentStorage

@Suite("A removal")
struct RemovalTests {
  private let store = MemoryStore(budget: 1 << 20, maxObject: 1 << 16)

  private func insert(_ key: String, since mark: RemovalMark?) -> Bool {
    store.insert(
      RecordKey(key), head: [], sharedHead: bytes("h"), body: .bytes([1]), now: 0, since: mark,
      replacing: { _ in true })
  }

  @Test(
    "keeps out what was asked for before it, and lets in what is asked for afterwards",
    arguments: ["remove", "remove nothing", "invalidate", "remove all"])
  func keepsOut(how: String) {
    let before = store.mark(RecordKey("k"))
    #expect(insert("k", since: before))
    switch how {
    case "remove": store.remove(RecordKey("k")) { _ in true }
    case "remove nothing": store.remove(RecordKey("k")) { _ in false }
    case "invalidate": store.invalidate(RecordKey("k"))
    default: store.removeAll { _ in true }
    }
    #expect((store.get(RecordKey("k")) == nil) == (how != "remove nothing"))
    let refusals = store.statistics.refusals
    #expect(!insert("k", since: before))
    #expect(store.statistics.refusals == refusals + 1 && store.statistics.bytes == store.countedBytes)
    #expect(insert("k", since: store.mark(RecordKey("k"))))
    #expect(insert("k", since: nil))
    #expect(store.audit().faults.isEmpty)
  }

  @Test("of one key leaves the marks of nearly all others as they are")
  func others() {
    let keys = (0..<1000).map { RecordKey("key \($0)") }
    let marks = keys.map(store.mark)
    store.invalidate(RecordKey("one"))
    let changed = zip(keys, marks).count { store.mark($0) != $1 }
    #expect(changed < 30)
  }

  @Test("gives the mark of itself, which tells whether there was another one")
  func next() {
    let key = RecordKey("k")
    let before = store.mark(key)
    let own = store.invalidate(key)
    #expect(own.isNext(after: before) && own == store.mark(key))
    store.invalidate(key)
    #expect(!store.invalidate(key).isNext(after: own))
    #expect(!own.isNext(after: own))
  }

  @Test("and a storing on another thread never leave what was asked for before the removal")
  func racing() async {
    let key = RecordKey("k")
    for _ in 0..<300 {
      let before = store.mark(key)
      await withTaskGroup { group in
        group.addTask { [store] in
          _ = store.insert(
            key, head: [], sharedHead: [], body: .bytes([1]), now: 0, since: before, replacing: { _ in true })
        }
        group.addTask { [store] in store.invalidate(key) }
      }
      #expect(store.get(key) == nil)
    }
  }
}
