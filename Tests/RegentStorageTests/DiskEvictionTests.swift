// The eviction simulator: what the store's way of eviction hits, beside true LRU and the clairvoyant optimum, on a trace
// of the shape that measurements of web caches publish (Zipf, exponent 0.8 to 1), and on one with scans in between.

import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

/// Requests for objects by number, each with a size in bytes.
private struct Trace {
  var requests: [Int] = []
  let sizes: [Int]

  /// - Parameter scan: Which part of the requests, in hundredths, is for objects that come once, in long runs.
  init(requests count: Int, objects: Int, exponent: Double, scan: Int, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (weights, sum) = ([Double](), 0.0)
    for rank in 1...objects {
      sum += 1 / power(Double(rank), exponent)
      weights.append(sum)
    }
    var names = Array(0..<objects)
    names.shuffle(using: &random)
    var next = objects
    while requests.count < count {
      if scan > 0, Int.random(in: 0..<10_000, using: &random) < scan {
        // A crawler: a hundred objects in a row that nobody asks for again.
        requests += next..<next + 100
        next += 100
      } else {
        let point = Double.random(in: 0..<sum, using: &random)
        var (low, high) = (0, objects - 1)
        while low < high {
          let middle = (low + high) / 2
          if weights[middle] < point { low = middle + 1 } else { high = middle }
        }
        requests.append(names[low])
      }
    }
    sizes = (0..<next).map { _ in 500 << Int.random(in: 0..<6, using: &random) }
  }

  var bytes: Int { Set(requests).reduce(0) { $0 + sizes[$1] } }
}

/// e^(y ln x), by series: tests import no mathematics beside this.
private func power(_ x: Double, _ y: Double) -> Double {
  // ln x by halving and the series of atanh.
  var (mantissa, halvings) = (x, 0.0)
  while mantissa > 1.5 { (mantissa, halvings) = (mantissa / 2, halvings + 1) }
  let ratio = (mantissa - 1) / (mantissa + 1)
  var (logarithm, term) = (0.0, ratio)
  for odd in stride(from: 1.0, through: 41, by: 2) {
    logarithm += 2 * term / odd
    term *= ratio * ratio
  }
  let exponent = y * (logarithm + halvings * 0.693147180559945309)
  var (result, part) = (1.0, 1.0)
  for step in 1..<60 {
    part *= exponent / Double(step)
    result += part
  }
  return result
}

/// The store's way: segments, oldest first, with what was used since written anew.
private func hitsOfLog(_ trace: Trace, budget: Int, segment: Int, reinsertion: Int) -> (
  hits: Int, amplification: Double
) {
  var entries: [Int: DiskEntry] = [:]
  var segments: [[Int]] = [[]]
  var (first, filled, hits, written, again) = (0, 0, 0, 0, 0)
  func time() -> UInt16 {
    DiskEviction.time(
      DiskPosition(segment: UInt32(first + segments.count), offset: filled), segmentSize: segment)
  }
  func append(_ object: Int) {
    segments[segments.count - 1].append(object)
    filled += trace.sizes[object]
    written += trace.sizes[object]
    let position = DiskPosition(segment: UInt32(first + segments.count), offset: filled)
    entries[object] = DiskEntry(
      hash: UInt64(object), position: position, variant: 0, count: trace.sizes[object])
  }
  for object in trace.requests {
    if entries[object] != nil {
      hits += 1
      entries[object]?.touch(time())
      continue
    }
    if filled + trace.sizes[object] > segment {
      segments.append([])
      filled = 0
      // One segment's worth stays free, as in the store.
      while (segments.count + 1) * segment > budget {
        let number = UInt32(first + 1)
        let its = segments.removeFirst().compactMap { entries[$0] }.filter { $0.position.segment == number }
        first += 1
        let kept = DiskEviction.kept(of: its, quota: segment / 100 * reinsertion, now: time())
        for entry in its { entries[Int(entry.hash)] = nil }
        for entry in kept {
          append(Int(entry.hash))
          again += trace.sizes[Int(entry.hash)]
        }
      }
    }
    append(object)
  }
  return (hits, Double(written) / Double(max(1, written - again)))
}

private func hitsOfLRU(_ trace: Trace, budget: Int) -> Int {
  // The last use of each; a queue of uses, of which the outdated are passed over.
  var (last, queue, head, used, hits) = ([Int: Int](), [Int](), 0, 0, 0)
  for (time, object) in trace.requests.enumerated() {
    if last[object] != nil { hits += 1 } else { used += trace.sizes[object] }
    last[object] = time
    queue.append(object)
    while used > budget {
      let oldest = queue[head]
      if last[oldest] == head {
        last[oldest] = nil
        used -= trace.sizes[oldest]
      }
      head += 1
    }
  }
  return hits
}

/// Belady's rule with sizes: what is used again last goes first. Near the optimum, which is NP-hard for sizes.
private func hitsOfOptimum(_ trace: Trace, budget: Int) -> Int {
  var next = [Int](repeating: .max, count: trace.requests.count)
  var seen: [Int: Int] = [:]
  for time in trace.requests.indices.reversed() {
    next[time] = seen[trace.requests[time]] ?? .max
    seen[trace.requests[time]] = time
  }
  // A heap by next use; outdated entries are passed over.
  var (heap, due, used, hits) = (Heap(), [Int: Int](), 0, 0)
  for (time, object) in trace.requests.enumerated() {
    if due[object] != nil { hits += 1 } else { used += trace.sizes[object] }
    due[object] = next[time]
    heap.push(next[time], object)
    while used > budget, let (use, victim) = heap.pop() {
      guard due[victim] == use else { continue }
      due[victim] = nil
      used -= trace.sizes[victim]
    }
  }
  return hits
}

/// The greatest first.
private struct Heap {
  private var items: [(Int, Int)] = []

  mutating func push(_ key: Int, _ value: Int) {
    items.append((key, value))
    var index = items.count - 1
    while index > 0, items[(index - 1) / 2].0 < items[index].0 {
      items.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func pop() -> (Int, Int)? {
    guard let first = items.first, let last = items.popLast() else { return nil }
    guard !items.isEmpty else { return first }
    items[0] = last
    var index = 0
    while true {
      let children = [2 * index + 1, 2 * index + 2].filter { $0 < items.count }
      guard let child = children.max(by: { items[$0].0 < items[$1].0 }), items[child].0 > items[index].0
      else {
        return first
      }
      items.swapAt(index, child)
      index = child
    }
  }
}

@Suite("The disk store's eviction") struct DiskEvictionTests {
  static let shapes: [(String, Double, Int)] = [
    ("Zipf 0.9", 0.9, 0), ("Zipf 1.0", 1.0, 0), ("Zipf 0.9, half scans", 0.9, 100),
  ]

  @Test("hits within 2 per cent of LRU, or more", arguments: shapes, [10, 30])
  func simulate(_ shape: (String, Double, Int), share: Int) {
    let trace = Trace(requests: 120_000, objects: 12_000, exponent: shape.1, scan: shape.2, seed: 2026)
    let budget = 12_000 * 5250 / 100 * share
    let lru = hitsOfLRU(trace, budget: budget)
    let log = hitsOfLog(
      trace, budget: budget, segment: budget / 32, reinsertion: DiskOptions(budget: budget).reinsertion)
    let best = hitsOfOptimum(trace, budget: budget)
    func ratio(_ hits: Int) -> Double { Double(hits * 1000 / trace.requests.count) / 10 }
    print(
      "\(shape.0), cache \(share) %: LRU \(ratio(lru)), log \(ratio(log.hits)), optimum \(ratio(best)) per cent;",
      "write amplification \(Double(Int(log.amplification * 100)) / 100)")
    #expect(Double(log.hits) >= 0.98 * Double(lru))
    #expect(best >= lru && best >= log.hits)
    #expect(log.amplification <= 1 / (1 - 0.5))
  }

  @Test("keeps what was hit, the most recent first, within its quota, in the order of the log")
  func kept() {
    var entries = (1...6 as ClosedRange<UInt64>).map {
      DiskEntry(hash: $0, position: DiskPosition(rawValue: $0 * 100), variant: 0, count: 1000)
    }
    for (index, time) in [(1, 5), (3, 65_530), (4, 9)] as [(Int, UInt16)] { entries[index].touch(time) }
    func kept(_ quota: Int) -> [UInt64] { DiskEviction.kept(of: entries, quota: quota, now: 10).map(\.hash) }
    // Time runs round its end: 65,530 is sixteen before 10.
    #expect(kept(10_000) == [2, 4, 5] && kept(2100) == [2, 5] && kept(1100) == [5] && kept(500) == [])
  }
}
