// Stores on the disks of the tests: small, without a thread, and with short ways to store and look up.

import RegentLoop

@testable import RegentStorage

extension DiskOptions {
  /// Small enough that a test fills several segments.
  static func small(budget: Int = 4 << 20, segment: Int = 256 << 10) -> DiskOptions {
    var options = DiskOptions(budget: budget, maxObject: 8 << 20)
    options.segmentSize = segment
    // So that they take many steps.
    (options.scanPiece, options.snapshotPiece, options.pagePiece) = (32 << 10, 256, 8 << 10)
    return options
  }
}

extension DiskStore {
  /// A store without a thread: it works when it is told to.
  static func on(
    _ device: any DiskDevice, _ options: DiskOptions = .small(), pool: BlockingPool? = nil, now: Int64 = 0,
    wall: Int64 = 1_000_000
  ) throws -> DiskStore {
    let store = try DiskStore(device, options, pool: pool, clock: DiskTime(now: now, wall: wall))
    store.recover(now: now)
    return store
  }

  /// Works until all that was there is found.
  func recover(now: Int64 = 0) {
    repeat { work(DiskTime(now: now, wall: 1_000_000)) } while engine.withLock { $0.recovery != nil }
  }

  func step(_ now: Int64 = 0) { work(DiskTime(now: now, wall: 1_000_000)) }
  func syncNow() { engine.withLock { $0.sync() } }
  func shut() { close(DiskTime(now: 0, wall: 1_000_000)) }
  /// Whether all removals so far would survive.
  var isKept: Bool { engine.withLock { $0.unkept.isEmpty && $0.unkeptMemos.isEmpty && $0.isOpen } }

  @discardableResult
  func put(
    _ name: String, _ body: [UInt8], head: String = "", variant: UInt32 = 0, since mark: RemovalMark? = nil
  ) -> Bool {
    insert(key(bytes(name)), variant: variant, head: bytes(head), body: [Slice(body)], since: mark)
  }

  func get(_ name: String, at now: Int64 = 0) async -> (head: String, body: [UInt8]?)? {
    let found = await lookup(key(bytes(name)), now: now)
    count(found, for: key(bytes(name)))
    guard let record = found else { return nil }
    return (text(record.head), await record.allBytes())
  }
}

extension DiskRecord {
  /// The whole body; nil where it could not be read to its end.
  func allBytes() async -> [UInt8]? {
    if let body { body.bytes } else { await makeReader().allBytes() }
  }
}

extension DiskBodyReader {
  func allBytes() async -> [UInt8]? {
    var bytes: [UInt8] = []
    do {
      while let slice = try await next() { slice.copy(onto: &bytes) }
      return bytes
    } catch {
      return nil
    }
  }
}
