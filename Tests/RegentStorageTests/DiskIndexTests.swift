// The index: what it takes in memory, that it loses nothing, and that a start brings it back.

import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("The disk store's index") struct DiskIndexTests {
  @Test("holds what a plain dictionary holds, through random changes", arguments: 0..<4 as Range<UInt64>)
  func againstModel(seed: UInt64) {
    print("seed \(seed)")
    var (random, shard) = (SeededGenerator(seed: seed), DiskShard())
    var model: [UInt64: [UInt32: UInt64]] = [:]
    for step in 1..<8000 as Range<UInt64> {
      // Hashes close to each other, so that chains are long and run round the table's end.
      let hash =
        UInt64.random(in: 0..<300, using: &random)
        &* (seed % 2 == 0 ? 0x0003_FFFF_FFFF_0001 : 0x0000_0011_0000_0000)
      let variant = UInt32.random(in: 0..<3, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6:
        let entry = DiskEntry(
          hash: hash, position: DiskPosition(rawValue: step), variant: variant, count: 100)
        let isIn = shard.insert(entry)
        #expect(isIn)
        model[hash, default: [:]][variant] = step
      case 6:
        let old = DiskEntry(
          hash: hash, position: DiskPosition(rawValue: step / 2), variant: variant, count: 100)
        let isNewer = (model[hash]?[variant]).map { $0 < step / 2 } ?? true
        guard step > 1, !isNewer else { continue }
        let isIn = shard.insert(old)
        #expect(!isIn)
      case 7:
        let (gone, its) = (shard.remove(hash) { _ in true }, model.removeValue(forKey: hash)?.count ?? 0)
        #expect(gone == its)
      case 8:
        let gone = shard.remove(hash) { $0.variant == variant }
        let its = model[hash]?.removeValue(forKey: variant)
        #expect(gone == (its == nil ? 0 : 1))
      default:
        let found = shard.entries(hash).map(\.location)
        #expect(found == (model[hash] ?? [:]).values.sorted(by: >))
      }
      #expect(shard.count == model.values.reduce(0) { $0 + $1.count })
    }
    let gone = shard.removeAll { $0.variant == 1 }
    #expect(gone == model.values.count { $0[1] != nil })
    for (hash, variants) in model { #expect(shard.entries(hash).count == variants.keys.count { $0 != 1 }) }
  }

  @Test("an entry takes at most 64 bytes, all in, at 1,000,000 and on the way there")
  func memory() {
    let index = DiskIndex()
    #expect(MemoryLayout<DiskEntry>.stride == 24)
    var (random, worst) = (SeededGenerator(seed: 6), 0.0)
    for number in 1...1_000_000 as ClosedRange<UInt64> {
      let entry = DiskEntry(
        hash: random.next(), position: DiskPosition(rawValue: number), variant: 0, count: 1200)
      _ = index.insert(entry)
      if number % 50_000 == 0 { worst = max(worst, Double(index.bytes) / Double(index.count)) }
    }
    print("index: \(Double(index.bytes) / Double(index.count)) bytes an entry, at worst \(worst)")
    #expect(index.count == 1_000_000 && worst <= 64)
  }

  /// How many places are looked at to find each entry, on the average.
  private func probes(_ shard: DiskShard) -> Double {
    var (sum, run) = (0, 0)
    // A run's entries are at most as far from home as the run is long.
    for place in shard.places + shard.places {
      run = place.isEmpty ? 0 : run + 1
      sum += run
    }
    return Double(sum) / Double(2 * shard.count)
  }

  @Test("entries spread over the whole table, however they come", arguments: [false, true])
  func spread(inOrder: Bool) {
    var (random, shard) = (SeededGenerator(seed: 8), DiskShard())
    var hashes = (0..<20_000).map { _ in random.next() >> 6 }
    if inOrder {
      hashes.sort()
      shard.reserve(hashes.count)
    }
    var worst = 0.0
    for (number, hash) in hashes.enumerated() {
      let position = DiskPosition(rawValue: UInt64(number) + 1)
      _ = shard.insert(DiskEntry(hash: hash, position: position, variant: 0, count: 100))
      if !inOrder, number > 100, number % 1000 == 0 { worst = max(worst, probes(shard)) }
    }
    worst = max(worst, probes(shard))
    print("runs of \(worst) places on the average")
    #expect(worst < 40)
  }

  @Test("a million entries come back from a snapshot")
  func start() throws {
    let disk = FaultyDisk()
    let options = DiskOptions(budget: 8 << 30)
    let store = try DiskStore.on(disk, options)
    store.put("key", [1])
    store.step()
    var random = SeededGenerator(seed: 7)
    for number in 1..<1_000_000 as Range<UInt64> {
      let position = DiskPosition(rawValue: 1 << 32 | (number + 600))
      _ = store.core.index.insert(DiskEntry(hash: random.next(), position: position, variant: 0, count: 1200))
    }
    store.engine.withLock { $0.active?.offset = 32 << 20 }
    store.shut()
    let again = try DiskStore.on(disk, options)
    #expect(again.statistics.entries == 1_000_000 && again.statistics.indexBytes <= 40_000_000)
  }
}
