// A shard's own inspection, for tests and for whoever doubts: walks all lists and counts everything anew.
// Slow, and under the lock: never on a request's path.

import RegentLoop

/// What an inspection of a shard found.
struct ShardAudit: Sendable, Equatable {
  /// Every record's bytes, every shared head and every page, counted anew; streams count themselves.
  var bytes = 0
  /// The keys in the order of use, newest first.
  var order: [[UInt8]] = []
  var streams: [BodyStreamIdentity] = []
  var sharedHeads = 0
  /// Rules that do not hold.
  var faults: [String] = []
}

/// Tells streams apart, and how much each is charged.
struct BodyStreamIdentity: Sendable, Hashable {
  let identity: ObjectIdentifier
  let charged: Int
}

extension Shard {
  func audit() -> ShardAudit {
    var audit = ShardAudit()
    walkOrder(&audit)
    walkTable(&audit)
    audit.bytes += table.pageCount * SlotTable.pageCost + heads.cost
    audit.sharedHeads = heads.count
    if heads.users != entriesWithSharedHead { audit.faults.append("users of shared heads miscounted") }
    return audit
  }

  private func walkOrder(_ audit: inout ShardAudit) {
    var (index, newer) = (newest, SlotTable.none)
    while index != SlotTable.none, audit.order.count <= entries {
      if table[index].newer != newer { audit.faults.append("the order of use is not symmetric") }
      guard let block = table[index].block else { return audit.faults.append("a free slot is in use") }
      audit.order.append(Slice(block, 0..<Int(table[index].keyCount)).bytes)
      audit.bytes += block.footprint
      if let stream = table[index].stream {
        audit.streams.append(.init(identity: ObjectIdentifier(stream), charged: stream.charged))
      }
      (index, newer) = (table[index].older, index)
    }
    if newer != oldest { audit.faults.append("the order of use does not end at the oldest") }
    if audit.order.count != entries { audit.faults.append("the order of use misses records") }
  }

  private func walkTable(_ audit: inout ShardAudit) {
    var (chained, taken) = (0, 0)
    for bucket in 0..<table.count {
      var index = table.first(inBucket: bucket)
      while index != SlotTable.none, chained <= entries {
        if table.first(table[index].hash) != table.first(inBucket: bucket) {
          audit.faults.append("a record is in the wrong bucket")
        }
        chained += 1
        index = table[index].next
      }
      if table[bucket].block != nil { taken += 1 }
    }
    if chained != entries { audit.faults.append("the chains hold \(chained) of \(entries) records") }
    if taken != entries { audit.faults.append("\(taken) slots are taken by \(entries) records") }
    if table.freeCount + taken != Int(table.count) { audit.faults.append("a slot was lost") }
  }

  private var entriesWithSharedHead: Int {
    (0..<table.count).count { table[$0].block != nil && table[$0].sharedHead != SlotTable.none }
  }
}
