// Random operations on the faulty disk beside a model that knows what may be found, and what must be. The disk fails or
// loses its power at each of its operations in turn, and the store is opened again.

import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

/// What a store may say of each key.
private struct DiskModel {
  struct Key {
    /// The version that was offered last.
    var offered = 0
    /// Versions up to this one were removed, and those up to that one for good.
    var removed = 0
    var kept = 0
    /// The version that was found when all was last brought to the disk, and was neither removed nor evicted since.
    var synced = 0
  }
  var keys: [String: Key] = [:]

  static func size(_ version: Int) -> Int { [0, 1, 100, 4000, 20_000, 65_536, 65_537, 150_000][version % 8] }

  static func body(_ name: String, _ version: Int) -> [UInt8] {
    let start = name.utf8.reduce(version * 137) { $0 * 31 + Int($1) } & 0xFFFF
    return pattern(start..<start + size(version))
  }
}

/// One run of random operations.
private final class DiskRun {
  let disk = FaultyDisk()
  let options: DiskOptions
  var model = DiskModel()
  var random: SeededGenerator
  var store: DiskStore?
  var now: Int64 = 0
  var wall: Int64 = 1_000_000
  var faults: [String] = []

  init(seed: UInt64, budget: Int = 8 << 20) {
    random = SeededGenerator(seed: seed)
    options = .small(budget: budget, segment: 256 << 10)
  }

  func open() {
    wall += 100
    store = try? DiskStore.on(disk, options, now: now, wall: wall)
  }

  /// Opens the store again as after a crash.
  func reopen(losingPower: Bool) async {
    store = nil
    disk.restart(losingPower: losingPower, &random)
    model.keys = model.keys.mapValues { key in
      var key = key
      key.removed = key.kept
      return key
    }
    open()
    guard let store else { return faults.append("the store did not open") }
    if store.core.state != .healthy { faults.append("the store is \(store.core.state)") }
    await checkAll(requiringSynced: true)
    if !faults.isEmpty { print("\(faults.count) faults; reports: \(store.takeReports())") }
  }

  func steps(_ count: Int) async {
    for _ in 0..<count where !disk.isDown && faults.isEmpty { await step() }
  }

  private func step() async {
    guard let store else { return }
    let name = "key \(Int.random(in: 0..<12, using: &random))"
    now += 50_000_000
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<9: put(name, store)
    case 9: await update(name, store)
    case 10..<14: await check(name, requiringSynced: false)
    case 14: remove(name, store)
    case 15: await sync(store)
    case 16: store.engine.withLock { $0.beginSnapshot() }
    case 17: store.engine.withLock { $0.seal() }
    default: store.step(now)
    }
  }

  private func put(_ name: String, _ store: DiskStore) {
    let version = (model.keys[name]?.offered ?? 0) + 1
    model.keys[name, default: .init()].offered = version
    store.put(name, DiskModel.body(name, version), head: "\(version)")
    if Bool.random(using: &random) { store.step(now) }
  }

  /// A new head for the same body: the version stays, and a mark behind it says so.
  private func update(_ name: String, _ store: DiskStore) async {
    guard let record = await store.lookup(store.key(bytes(name)), now: now) else { return }
    _ = store.update(record, head: record.head.bytes + bytes("'"))
    if text(record.head).utf8.count > 8 { remove(name, store) }
    store.step(now)
  }

  private func remove(_ name: String, _ store: DiskStore) {
    guard let offered = model.keys[name]?.offered else { return }
    store.invalidate(store.key(bytes(name)))
    model.keys[name]?.removed = offered
    model.keys[name]?.synced = 0
    store.step(now)
    guard store.isKept, !disk.isDown else { return }
    model.keys = model.keys.mapValues { key in
      var key = key
      key.kept = key.removed
      return key
    }
  }

  /// What is found after all was brought to the disk must be found after any crash from now on.
  private func sync(_ store: DiskStore) async {
    store.step(now)
    store.syncNow()
    guard !disk.isDown, store.isKept, store.core.state == .healthy, store.statistics.damages == 0 else {
      return
    }
    for name in model.keys.keys {
      model.keys[name]?.synced = await store.get(name, at: now).flatMap { DiskRun.version($0.head) } ?? 0
    }
  }

  static func version(_ head: String) -> Int? { Int(head.filter { $0 != "'" }) }

  func checkAll(requiringSynced: Bool) async {
    for name in model.keys.keys.sorted() { await check(name, requiringSynced: requiringSynced) }
  }

  private func check(_ name: String, requiringSynced: Bool) async {
    guard let store, let key = model.keys[name] else { return }
    guard let found = await store.get(name, at: now) else {
      let isOwed = requiringSynced && key.synced > 0 && store.statistics.evictions == 0
      if isOwed { faults.append("\(name) was synced at \(key.synced), and is lost") }
      return
    }
    guard let version = DiskRun.version(found.head) else {
      return faults.append("\(name): a head that was never written")
    }
    if version <= key.removed { faults.append("\(name): \(version) came back, removed up to \(key.removed)") }
    if version > key.offered { faults.append("\(name): \(version) was never offered") }
    if requiringSynced, version < key.synced, store.statistics.evictions == 0 {
      faults.append("\(name): \(version) is older than the synced \(key.synced)")
    }
    if let body = found.body, body != DiskModel.body(name, version) { faults.append("\(name): wrong bytes") }
    if found.body == nil, store.statistics.damages == 0, !disk.isDown {
      faults.append("\(name): cannot be read")
    }
  }
}

@Suite("A disk store on a disk that fails") struct DiskModelTests {
  /// How many operations on the disk a run makes that nothing befalls.
  private func length(_ seed: UInt64) async -> Int {
    let run = DiskRun(seed: seed)
    run.open()
    await run.steps(90)
    return run.disk.operations
  }

  @Test(
    "finds after a crash at each operation what was synced, and nothing wrong or removed",
    arguments: 0..<2 as Range<UInt64>, [true, false])
  func crashes(seed: UInt64, losingPower: Bool) async {
    let total = await length(seed)
    var recovered = 0
    for operation in stride(from: 0, to: total, by: losingPower ? 1 : 4) {
      let run = DiskRun(seed: seed)
      run.open()
      run.disk.crash(at: run.disk.operations + operation)
      await run.steps(90)
      await run.reopen(losingPower: losingPower)
      // And on from there, with another crash while it recovers or later.
      run.disk.crash(at: run.disk.operations + operation % 7)
      await run.steps(10)
      await run.reopen(losingPower: losingPower)
      await run.steps(30)
      await run.checkAll(requiringSynced: false)
      recovered += run.store?.statistics.entries ?? 0
      #expect(run.faults == [], "seed \(seed), operation \(operation), power lost: \(losingPower)")
      if !run.faults.isEmpty { return }
    }
    print(
      "seed \(seed), power lost \(losingPower): \(total / (losingPower ? 1 : 4)) crash points, \(recovered) responses found afterwards"
    )
    #expect(total > 60 && recovered > total)
  }

  /// EIO, ENOSPC, EDQUOT, EROFS, EACCES, EMFILE, ENOMEM and EINTR.
  static let codes: [Int32] = [5, 28, 122, 30, 13, 24, 12, 4]

  @Test("goes on after an error at each operation, and heals by itself", arguments: codes)
  func errors(code: Int32) async {
    let seed = UInt64(code)
    let total = await length(seed)
    for operation in stride(from: Int(code) % 6, to: total, by: 6) {
      let run = DiskRun(seed: seed)
      run.open()
      run.disk.fail(at: run.disk.operations + operation, code)
      await run.steps(90)
      // The error may come in the midst of healing, too.
      for round in 0..<4 {
        if round == 2 { run.disk.state.withLock { $0.failures = [:] } }
        run.now += 40_000_000_000
        run.store?.step(run.now)
      }
      await run.checkAll(requiringSynced: false)
      #expect(run.faults == [], "error \(code) at operation \(operation)")
      #expect(run.store?.core.state == .healthy, "error \(code) at operation \(operation)")
      run.store?.put("at the end", [1])
      run.store?.step(run.now + 2)
      #expect(await run.store?.get("at the end")?.body == [1], "error \(code) at operation \(operation)")
      await run.reopen(losingPower: false)
      // What was synced may have been in a segment that failed to be synced once more.
      run.faults.removeAll { $0.contains("synced") }
      #expect(run.faults == [], "error \(code) at operation \(operation), reopened")
      if !run.faults.isEmpty { return }
    }
  }

  @Test(
    "does what it should through long runs that evict, crash and flip bits",
    arguments: 100..<106 as Range<UInt64>)
  func longRuns(seed: UInt64) async {
    print("seed \(seed)")
    let run = DiskRun(seed: seed, budget: 2 << 20)
    run.open()
    for round in 0..<12 {
      run.disk.crash(at: run.disk.operations + Int.random(in: 1..<300, using: &run.random))
      await run.steps(150)
      run.store = nil
      if round % 3 == 2 { flip(run) }
      await run.reopen(losingPower: round % 2 == 0)
      // Damage, and eviction before the crash, may take what was synced.
      run.faults.removeAll { $0.contains("synced") }
      #expect(run.faults == [], "seed \(seed), round \(round)")
      #expect(run.disk.totalBytes <= 2 << 20)
      if !run.faults.isEmpty { return }
    }
  }

  /// Flips some bits of segments and indexes.
  private func flip(_ run: DiskRun) {
    for name in run.disk.allNames where name.hasSuffix(".segment") || name.hasPrefix("index") {
      var random = run.random
      run.disk.mutate(name) { bytes in
        guard !bytes.isEmpty else { return }
        for _ in 0..<3 {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] ^=
            1 << UInt8.random(in: 0..<8, using: &random)
        }
      }
      run.random = random
    }
  }
}
