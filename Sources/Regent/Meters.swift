// What is counted: one set of counters for each loop, written by that loop alone and summed when somebody reads.

import Synchronization

/// A count that one thread writes and any may read.
struct Counter: ~Copyable, Sendable {
  private let value = Atomic<Int>(0)

  /// Adds; by the writing thread only, so that a load and a store do.
  @inline(__always)
  borrowing func add(_ amount: Int) {
    value.store(value.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }

  borrowing func set(_ amount: Int) { value.store(amount, ordering: .relaxed) }
  var count: Int { value.load(ordering: .relaxed) }
}

/// What happened to the requests of one domain on one loop.
final class DomainMeters: Sendable {
  let requests = Counter()
  let hits = Counter()
  let misses = Counter()
  let stale = Counter()
  let revalidations = Counter()
  let errors = Counter()
  let bytesIn = Counter()
  let bytesOut = Counter()
  let latency = LatencyHistogram()
}

/// What happened at one place of the chain on one loop.
final class ProviderMeters: Sendable {
  let answered = Counter()
  let passed = Counter()
  let errors = Counter()
}

/// Everything that one loop counts.
final class LoopMeters: Sendable {
  let domains: [DomainMeters]
  let providers: [ProviderMeters]
  let connections = Counter()
  let accepted = Counter()
  let refused = Counter()
  let shed = Counter()
  let exhausted = Counter()
  let badRequests = Counter()
  let misdirected = Counter()
  let originConnections = Counter()
  let originRequests = Counter()
  let originRetries = Counter()

  init(domains: Int, providers: Int) {
    self.domains = (0..<domains).map { _ in DomainMeters() }
    self.providers = (0..<providers).map { _ in ProviderMeters() }
  }
}
