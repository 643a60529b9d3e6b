// Trouble of every kind: it costs responses, never truth, and it ends when its cause ends.

import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("A disk store in trouble") struct DiskTroubleTests {
  /// The calls that fail, and with what.
  static let writing: [(String, Int32)] = [
    ("make", 28), ("make", 13), ("make", 30), ("write", 28), ("write", 5), ("allocate", 122),
    ("sync folder", 5),
  ]

  @Test("stops writing, goes on reading, and heals within 30 s of the trouble's end", arguments: writing)
  func degrades(call: String, code: Int32) async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    store.put("before", [1])
    store.step()
    disk.fail(call, code)
    for number in 0..<40 {
      store.put("during \(number)", pattern(0..<60_000))
      store.step(second)
    }
    guard case .degraded(let error) = store.core.state else {
      Issue.record("\(store.core.state)")
      return
    }
    #expect(error.code == code)
    #expect(await store.get("before")?.body == [1])
    #expect(!store.put("refused", [2]) && store.statistics.refusals > 0)
    #expect(store.takeReports().contains(.state(store.core.state)))
    disk.fail(call, nil)
    store.step(2 * second)
    store.step(33 * second)
    #expect(store.core.state == .healthy)
    store.put("after", [3])
    store.step(33 * second)
    #expect(await store.get("after")?.body == [3])
    #expect(await store.get("before")?.body == [1])
  }

  @Test("a removal that cannot be kept is not said to be, and is kept when it can be")
  func unkeptRemoval() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    store.put("key", [1])
    store.step()
    store.syncNow()
    disk.fail("sync", 5)
    store.invalidate(store.key(bytes("key")))
    store.step()
    #expect(!store.isKept)
    #expect(await store.get("key") == nil)
    disk.fail("sync", nil)
    store.step(60 * second)
    #expect(store.isKept)
    var random = SeededGenerator(seed: 1)
    disk.restart(losingPower: true, &random)
    #expect(try await DiskStore.on(disk).get("key") == nil)
  }

  @Test("a segment that could not be synced is given up, and no second sync makes it good (C11)")
  func failedSync() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    store.put("key", [1])
    store.step()
    disk.fail("sync", 5)
    store.syncNow()
    #expect(await store.get("key") == nil)
    disk.fail("sync", nil)
    #expect(!disk.allNames.contains("1.segment"))
    store.step(40 * second)
    store.put("key", [2])
    store.step(40 * second)
    store.syncNow()
    var random = SeededGenerator(seed: 1)
    disk.restart(losingPower: true, &random)
    #expect(try await DiskStore.on(disk).get("key")?.body == [2])
  }

  @Test("want of descriptors or memory is a miss and no damage; what the device cannot read is gone")
  func failedReads() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    store.put("key", [1])
    store.step()
    for code in [24, 23, 12, 11] as [Int32] {
      disk.fail("read", code)
      #expect(await store.get("key") == nil)
      disk.fail("read", nil)
      #expect(await store.get("key")?.body == [1])
    }
    #expect(store.statistics.damages == 0 && store.statistics.readErrors == 4)
    disk.fail("read", 5)
    #expect(await store.get("key") == nil)
    disk.fail("read", nil)
    #expect(await store.get("key") == nil)
    #expect(store.statistics.damages == 0 && store.statistics.entries == 0)
  }

  @Test("five hard errors within a minute take the store offline, and it comes back")
  func offline() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    for number in 0..<6 { store.put("\(number)", [1]) }
    store.step()
    disk.fail("read", 5)
    for number in 0..<5 { #expect(await store.get("\(number)", at: second) == nil) }
    guard case .offline = store.core.state else {
      Issue.record("\(store.core.state)")
      return
    }
    disk.fail("read", nil)
    #expect(await store.get("5", at: second) == nil, "nothing is read while offline")
    store.step(32 * second)
    #expect(store.core.state == .healthy)
    #expect(await store.get("5", at: 32 * second)?.body == [1])
  }

  @Test("what the device cannot read of a body in the middle of an answer counts for its health, too")
  func failedBodies() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk, .small(budget: 8 << 20, segment: 1 << 20))
    for number in 0..<5 { store.put("\(number)", pattern(0..<400_000)) }
    store.step()
    for number in 0..<5 {
      let record = try #require(await store.lookup(store.key(bytes("\(number)")), now: 0))
      #expect(store.core.state == .healthy)
      disk.fail("read", 5)
      #expect(await record.makeReader().allBytes() == nil)
      disk.fail("read", nil)
    }
    #expect(store.core.state == .offline(SystemError(call: "read", code: 5)))
    #expect(store.statistics.readErrors == 5 && store.statistics.damages == 0)
  }

  @Test("notices that its directory was removed, and begins anew")
  func removedDirectory() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    store.put("key", [1])
    store.step()
    disk.removeAll()
    store.step(2 * second)
    #expect(store.core.state != .healthy)
    #expect(await store.get("key") == nil)
    store.step(40 * second)
    store.recover(now: 40 * second)
    #expect(store.core.state == .healthy)
    store.put("key", [2])
    store.step(40 * second)
    #expect(await store.get("key")?.body == [2])
  }

  @Test("damage is a miss, is counted once, told of, and removed at its first detection (C2)")
  func damage() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk)
    store.put("key", pattern(0..<5000))
    store.step()
    disk.mutate("1.segment") { $0[4096 + 3000] ^= 1 }
    #expect(await store.get("key") == nil)
    #expect(store.statistics.damages == 1 && store.statistics.entries == 0)
    #expect(await store.get("key") == nil)
    #expect(store.statistics.damages == 1)
    #expect(store.takeReports().contains(.damage(segment: 1, offset: 4096, "body")))
  }

  @Test("damage in the middle of a long body ends it there, after the last good block (C2)")
  func lateDamage() async throws {
    let disk = FaultyDisk()
    let store = try DiskStore.on(disk, .small(budget: 8 << 20, segment: 1 << 20))
    store.put("key", pattern(0..<800_000))
    store.step()
    let record = try #require(await store.lookup(store.key(bytes("key")), now: 0))
    // In the second of the four pieces, beyond what is read at first.
    disk.mutate("1.segment") { $0[4096 + 262_144 + 300 + 100_000] ^= 1 }
    let reader = record.makeReader()
    var read: [UInt8] = []
    await #expect(throws: BodyFailure.aborted) {
      while let slice = try await reader.next(upTo: 65_536) { read += slice.bytes }
    }
    #expect(read == pattern(0..<read.count) && read.count == 262_144 + 65_536)
    #expect(await store.get("key") == nil)
  }

  @Test("three starts without an end within a minute leave the disk out of the next")
  func crashLoop() throws {
    let disk = FaultyDisk()
    var random = SeededGenerator(seed: 3)
    for start in 0..<3 as Range<Int64> {
      _ = try DiskStore(disk, .small(), pool: nil, clock: DiskTime(now: 0, wall: 1000 + start * 10))
      disk.restart(losingPower: false, &random)
    }
    #expect(throws: DiskOpenFailure.crashLoop) {
      try DiskStore(disk, .small(), pool: nil, clock: DiskTime(now: 0, wall: 1030))
    }
    let store = try DiskStore(disk, .small(), pool: nil, clock: DiskTime(now: 0, wall: 1061))
    store.step()
    store.shut()
    #expect(throws: Never.self) {
      try DiskStore(disk, .small(), pool: nil, clock: DiskTime(now: 0, wall: 1062))
    }
  }

  @Test(
    "starts of another clock, in the future or in 1970, leave nothing out",
    arguments: [0, 1 << 40] as [Int64])
  func clockJumps(wall: Int64) {
    var starts = DiskStarts()
    for _ in 0..<3 { starts.started(wall) }
    #expect(starts.mayStart(1_000_000) && DiskStarts(starts.encoded)?.mayStart(1_000_000) == true)
    #expect(wall == 0 || !starts.mayStart(wall))
  }

  @Test("health: back-off doubles to 30 s, and success resets it")
  func health() {
    var (health, now) = (DiskHealth(), Int64(0))
    let full = SystemError(call: "write", code: 28)
    var pauses: [Int64] = []
    for _ in 0..<8 {
      health.writeFailed(full, now: now)
      #expect(health.state == .degraded(full) && !health.mayWrite(now: health.retryAt - 1))
      pauses.append((health.retryAt - now) / second)
      now = health.retryAt
      #expect(health.mayWrite(now: now))
    }
    #expect(pauses == [1, 2, 4, 8, 16, 30, 30, 30])
    health.writeSucceeded()
    health.writeFailed(full, now: now)
    #expect(health.retryAt == now + second)
    let broken = SystemError(call: "read", code: 5)
    for step in 0..<20 as Range<Int64> { health.readFailed(broken, now: now + step * 20 * second) }
    #expect(health.state == .degraded(full), "four in a minute are not five")
  }
}
