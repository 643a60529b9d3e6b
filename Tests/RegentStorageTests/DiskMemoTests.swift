// What the store's owner keeps in the directory: whole, or as it was before, or not there.

import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("A memo") struct DiskMemoTests {
  @Test(
    "is there at once, and after a restart, whole; the last one of a name counts",
    arguments: [0, 1, 64 << 10])
  func kept(count: Int) throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    #expect(store.memo("generations") == nil)
    let first = store.setMemo("generations", [1, 2, 3])
    #expect(first && store.memo("generations") == [1, 2, 3])
    store.step()
    store.setMemo("generations", pattern(0..<count))
    store.setMemo("other-1", [9])
    store.step()
    #expect(store.isKept)
    store.shut()
    let again = try DiskStore.on(disk)
    #expect(again.memo("generations") == pattern(0..<count) && again.memo("other-1") == [9])
    #expect(again.statistics.damages == 0)
  }

  @Test("that is too long, or one too many, or has a name that is no file's, is refused")
  func refused() throws {
    let store = try DiskStore.on(FaultyDisk())
    for name in ["", "a/b", "..", "A", "a.b", "identity\n", String(repeating: "a", count: 33)] {
      let isTaken = store.setMemo(name, [])
      #expect(!isTaken, "\(name)")
    }
    let isLongTaken = store.setMemo("long", pattern(0..<(64 << 10) + 1))
    #expect(!isLongTaken)
    let taken = (0..<10).count { store.setMemo("memo-\($0)", [1]) }
    #expect(taken == DiskMemos.most)
    let isReplaced = store.setMemo("memo-0", [2])
    #expect(isReplaced)
  }

  @Test(
    "after a crash at any operation it is the old or the new one, and the new one where that was said to be durable"
  )
  func crashes() throws {
    for crash in 0..<40 {
      let disk = FaultyDisk()
      var random = SeededGenerator(seed: UInt64(crash))
      do {
        let store = try DiskStore.on(disk)
        store.setMemo("memo", pattern(0..<3000))
        store.step()
        #expect(store.isKept)
        disk.crash(at: disk.operations + crash)
        store.setMemo("memo", pattern(3000..<9000))
        store.step()
        let isKept = store.isKept
        disk.restart(losingPower: true, &random)
        let found = try DiskStore.on(disk).memo("memo")
        #expect(found == pattern(3000..<9000) || !isKept && found == pattern(0..<3000), "crash at \(crash)")
      }
    }
  }

  @Test("that is damaged is not there, whatever bit it is")
  func damaged() throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    store.setMemo("memo", pattern(0..<100))
    store.step()
    store.shut()
    let whole = try #require(disk.content("memo.memo"))
    for index in whole.indices {
      disk.mutate("memo.memo") { bytes in
        bytes = whole
        bytes[index] ^= 1 << UInt8(index % 8)
      }
      let again = try DiskStore.on(disk)
      #expect(again.memo("memo") == nil && again.statistics.damages == 1, "byte \(index)")
      again.shut()
    }
    for count in 0..<whole.count {
      disk.mutate("memo.memo") { $0 = Array(whole[..<count]) }
      let again = try DiskStore.on(disk)
      #expect(again.memo("memo") == nil, "\(count) bytes")
      again.shut()
    }
  }

  @Test("that cannot be written now is written when it can be; another directory gets it, too")
  func trouble() throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    disk.fail("make", 28)
    store.setMemo("memo", [7])
    store.step()
    #expect(!store.isKept && store.memo("memo") == [7])
    disk.fail("make", nil)
    store.step(60 * second)
    #expect(store.isKept)
    disk.removeAll()
    store.step(70 * second)
    store.step(140 * second)
    store.recover(now: 140 * second)
    #expect(store.isKept)
    store.shut()
    #expect(try DiskStore.on(disk).memo("memo") == [7])
  }

  @Test("counts against the budget")
  func budget() throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk, .small(budget: 1 << 20, segment: 128 << 10))
    for round in 0..<40 {
      for number in 0..<4 { store.put("key \(round) \(number)", pattern(0..<20_000)) }
      store.setMemo("memo-\(round % 8)", pattern(0..<64 << 10))
      store.step()
      #expect(disk.totalBytes <= 1 << 20 && store.isKept, "round \(round)")
    }
    #expect(store.statistics.evictions > 0 && store.statistics.entries > 0)
  }
}
