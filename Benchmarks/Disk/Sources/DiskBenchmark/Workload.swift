// The objects that are stored: each found again by its number, and large enough to be told apart.

import Glibc
import RegentLoop
import RegentStorage

struct Workload {
  let path: String
  let count: Int
  let size: Int

  func key(_ number: Int) -> [UInt8] {
    Array("benchmark https://origin.example/objects/\(number)?size=\(size)".utf8)
  }
  static let head = [UInt8](repeating: UInt8(ascii: "h"), count: 300)

  var options: DiskOptions { DiskOptions(budget: 32 << 30) }

  func open() throws -> DiskStore {
    let pool = try BlockingPool(name: "disk", threads: 4)
    return try DiskStore.open(path: path, options: options, pool: pool, clock: .read())
  }

  /// Stores all objects that are not stored yet.
  func fill() async throws {
    let (store, start) = (try open(), Meter.read())
    await recovered(store)
    let body = Slice([UInt8](repeating: UInt8(ascii: "b"), count: size))
    for number in store.statistics.entries..<max(count, store.statistics.entries) {
      while !store.insert(store.key(key(number)), variant: 0, head: Workload.head, body: [body]) {
        Meter.pause()
      }
    }
    while store.statistics.queuedBytes > 0 { Meter.pause() }
    let cost = start.elapsed
    store.close(clock: .read())
    print(
      "filled: \(store.statistics.entries) entries in \(cost.time.rounded(2)) s, CPU \(cost.processor.rounded(2)) s"
    )
  }

  /// Waits until the start is over.
  func recovered(_ store: DiskStore) async {
    while store.statistics.isRecovering { Meter.pause() }
  }

  func get(_ store: DiskStore, _ number: Int) async -> DiskRecord? {
    await store.lookup(store.key(key(number)), now: LoopClock.read().now)
  }
}
