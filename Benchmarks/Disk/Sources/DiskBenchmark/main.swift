// Measures the disk store without the daemon around it. Benchmarks/README.md has the commands and what came of them.

import Glibc
import RegentLoop
import RegentStorage

/// Opens the directory, and looks up objects until all of it is indexed.
func start(_ work: Workload) async throws {
  let before = Meter.memory("VmRSS")
  let begin = Meter.read()
  let store = try work.open()
  let opened = begin.elapsed.time
  var (slowest, lookups, hits, early) = (0.0, 0, 0, 0)
  var peak = 0.0
  repeat {
    let one = Meter.read()
    let isHit = await work.get(store, (lookups &* 7919) % work.count) != nil
    slowest = max(slowest, one.elapsed.time)
    (lookups, hits) = (lookups + 1, hits + (isHit ? 1 : 0))
    if begin.elapsed.time < 0.1 { early = lookups }
    Meter.pause()
  } while store.statistics.isRecovering || lookups < 3
  let (all, figures) = (begin.elapsed, store.statistics)
  peak = Meter.memory("VmHWM")
  print(
    "opened in \((opened * 1000).rounded(1)) ms; \(figures.entries) entries after \(all.time.rounded(3)) s, CPU \(all.processor.rounded(3)) s"
  )
  print(
    "  meanwhile \(lookups) lookups (\(early) in the first 100 ms), \(hits) hits, the slowest \((slowest * 1000).rounded(2)) ms"
  )
  print(
    "  memory: \(before.rounded(1)) MiB before, \(Meter.memory("VmRSS").rounded(1)) now, at most \(peak.rounded(1)); index \((Double(figures.indexBytes) / 1_048_576).rounded(1)) MiB"
  )
  let closing = Meter.read()
  store.close(clock: .read())
  let cost = closing.elapsed
  print(
    "  closed in \(cost.time.rounded(3)) s, CPU \(cost.processor.rounded(3)) s; at most \(Meter.memory("VmHWM").rounded(1)) MiB"
  )
}

/// Looks up random objects, all of them in the page cache, and the same bytes by bare reads.
func hits(_ work: Workload, _ rounds: Int) async throws {
  let store = try work.open()
  await work.recovered(store)
  let keys = (0..<work.count).map { store.key(work.key($0)) }
  let now = LoopClock.read().now
  for key in keys { _ = await store.lookup(key, now: now) }
  let begin = Meter.read()
  var found = 0
  for round in 0..<rounds {
    if let record = await store.lookup(keys[(round &* 7919) % work.count], now: now),
      record.bodyCount == work.size
    {
      found += 1
    }
  }
  let cost = begin.elapsed.processor / Double(rounds)
  store.close(clock: .read())
  let bare = try reads(work, rounds)
  print(
    "hits of \(work.size): \(found) of \(rounds), \((cost * 1e6).rounded(3)) us each; a bare read \((bare * 1e6).rounded(3)) us"
  )
}

/// Reads as many bytes from places in the first segment; the seconds of processor time that one read takes.
func reads(_ work: Workload, _ rounds: Int) throws -> Double {
  let file = try Folder.open(work.path).folder("v1").file("1.segment", .reading)
  let count = work.size + 512
  let places = max(1, min(work.count, try file.size().length / count - 1))
  var block = Block(capacity: count)
  let begin = Meter.read()
  for round in 0..<rounds {
    if !block.reuse() { block = Block(capacity: count) }
    _ = try file.read(count, at: (round &* 7919) % places * count, into: block, waits: false)
  }
  return begin.elapsed.processor / Double(rounds)
}

/// Reads whole bodies, again and again.
func bodies(_ work: Workload, _ rounds: Int) async throws {
  let store = try work.open()
  await work.recovered(store)
  var bytes = 0
  var begin = Meter.read()
  for round in -2..<rounds {
    if round == 0 { (begin, bytes) = (Meter.read(), 0) }
    guard let record = await work.get(store, (round + 2) % work.count) else { continue }
    let reader = record.makeReader()
    while let slice = try await reader.next() { bytes += slice.count }
  }
  let cost = begin.elapsed
  print(
    "bodies of \(work.size): \(bytes / max(1, rounds)) bytes each, \((cost.processor / Double(rounds) * 1e6).rounded(1)) us each, \((Double(bytes) / cost.processor / 1e9).rounded(2)) GB/s"
  )
  store.close(clock: .read())
}

func checksum() {
  for count in [1024, 16 << 10, 64 << 10, 1 << 20] {
    let bytes = [UInt8](repeating: 7, count: count)
    let (rounds, begin) = ((1 << 31) / count, Meter.read())
    var sum: UInt32 = 0
    for _ in 0..<rounds { sum ^= CRC32C.of(bytes.span) }
    let cost = begin.elapsed
    print("CRC32C of \(count): \((Double(rounds * count) / cost.processor / 1e9).rounded(2)) GB/s \(sum)")
  }
}

let words = CommandLine.arguments.dropFirst()
let numbers = words.compactMap { Int($0) }
let work = Workload(
  path: words.dropFirst().first ?? "", count: numbers.first ?? 1000, size: numbers.dropFirst().first ?? 1024)
switch words.first {
case "fill": try await work.fill()
case "start": try await start(work)
case "hits": try await hits(work, numbers.dropFirst(2).first ?? 1_000_000)
case "bodies": try await bodies(work, numbers.dropFirst(2).first ?? 500)
case "crc": checksum()
default: print("usage: DiskBenchmark fill|start|hits|bodies DIRECTORY COUNT SIZE [ROUNDS], or crc")
}
