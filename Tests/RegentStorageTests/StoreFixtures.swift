// What the storage tests share: short ways to store and look up, a whole store's inspection, patterns.

import RegentLoop

@testable import RegentStorage

let second: Int64 = 1_000_000_000

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
func text(_ slice: Slice) -> String { String(decoding: slice.bytes, as: UTF8.self) }

/// Bytes that tell where in a body they are; at most a million.
func pattern(_ range: Range<Int>) -> [UInt8] { Array(allOfPattern[range]) }

private let allOfPattern = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

extension RecordKey {
  init(_ text: String) { self.init(Array(text.utf8)) }
}

extension MemoryStore {
  @discardableResult
  func put(
    _ key: RecordKey, head: String = "", shared: String = "", body: [UInt8] = [], at now: Int64 = 0,
    replacing matches: (borrowing Record) -> Bool = { _ in false }
  ) -> Bool {
    insert(
      key, head: bytes(head), sharedHead: bytes(shared), body: .bytes(body), now: now, replacing: matches)
  }

  func put(_ key: RecordKey, stream: BodyStream) -> Bool {
    insert(key, head: [], sharedHead: [], body: .stream(stream), now: 0, replacing: { _ in false })
  }

  func get(_ key: RecordKey, at now: Int64 = 0) -> Record? { lookup(key, now: now) { _ in true } }

  /// All shards' inspections in one; the order is that of the shards, then of use.
  func audit() -> ShardAudit {
    var sum = ShardAudit()
    for index in 0..<shards.count {
      let one = shards[index].shard.withLock { $0.audit() }
      sum.bytes += one.bytes
      sum.order += one.order
      sum.streams += one.streams
      sum.sharedHeads += one.sharedHeads
      sum.faults += one.faults
    }
    return sum
  }

  /// What the budget should say while no body arrives and no evicted one is read.
  var countedBytes: Int {
    let audit = audit()
    return audit.bytes + Set(audit.streams).reduce(0) { $0 + $1.charged }
  }
}

extension Record {
  var bodyBytes: [UInt8] {
    switch body {
    case .packed(let slice): slice.bytes
    case .stream(let stream): stream.wholeSlices.flatMap(\.bytes)
    }
  }
}

extension BodyStream {
  /// A finished stream that is kept on this account.
  static func stored(_ count: Int, in store: MemoryStore) -> BodyStream? {
    let stream = BodyStream(expected: count)
    guard stream.keep(limit: count, account: store.budget) else { return nil }
    for start in stride(from: 0, to: count, by: 1 << 14) {
      guard stream.tryAppend(Slice(pattern(start..<min(count, start + (1 << 14))))) == .accepted else {
        return nil
      }
    }
    stream.finish()
    return stream
  }
}
