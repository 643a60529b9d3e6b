// What is counted: one set of counters for each loop, written by that loop alone and summed when somebody reads.

import RegentCaching
import RegentLoop
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
  let forwarded = ReasonCounters<FwdReason>()
  let validated = ReasonCounters<MissReason>()
  let staleFor = ReasonCounters<StaleReason>()
  let refused = ReasonCounters<RefusalReason>()

  /// Counts the reasons that Cache-Status gives; a plain hit has none.
  func count(_ status: CacheStatus) {
    switch status.outcome {
    case .hit: hits.add(1)
    case .forwarded(let reason):
      misses.add(1)
      forwarded.add(reason)
    }
    switch status.detail {
    case .none, .disk: break
    case .miss(let reason): validated.add(reason)
    case .refused(let reason): refused.add(reason)
    case .stale(let reason):
      stale.add(1)
      staleFor.add(reason)
    }
  }
}

/// How often each of a closed list of reasons was given.
final class ReasonCounters<Reason: CaseIterable & Equatable & Sendable>: Sendable {
  // A few cases of one byte each: to walk them costs less than to hash one.
  private let reasons: [Reason]
  private let counters: Counters

  init() {
    reasons = Array(Reason.allCases)
    counters = Counters(count: reasons.count)
  }

  func add(_ reason: Reason) { reasons.firstIndex(of: reason).map { counters.add(1, at: $0) } }
  func count(_ reason: Reason) -> Int { reasons.firstIndex(of: reason).map { counters[$0] } ?? 0 }
}

/// What happened at one place of the chain on one loop.
final class ProviderMeters: Sendable {
  let answered = Counter()
  let passed = Counter()
  let errors = Counter()
}

/// What happened at one of an origin's addresses on one loop.
final class AddressMeters: Sendable {
  let requests = Counter()
  let active = Counter()
  let failures = Counter()
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
  let loopsDetected = Counter()
  let originConnections = Counter()
  let originIdle = Counter()
  let originWaiting = Counter()
  let originRefused = Counter()
  let originOpened = Counter()
  let tlsResumed = Counter()
  let originRequests = Counter()
  /// Requests that were sent again on a new connection, because the origin had closed the idle one.
  let originReconnections = Counter()
  let originRetries = Counter()
  let retryRefusals = ReasonCounters<RetryRefusal>()
  /// Bytes of request content that is kept so that it can be sent again.
  let keptContent = Counter()
  let faults = ReasonCounters<OriginFault>()
  let transfers: Transfers
  let tunnels = Counter()
  let tunnelsOpened = Counter()
  let tunnelsRefused = Counter()
  let tunnelBytesIn = Counter()
  let tunnelBytesOut = Counter()

  /// Of each domain with several addresses, by its number.
  let addresses: [[AddressMeters]]

  init(domains: Int, providers: Int, transfers: Int = 1024, addresses: [Int] = []) {
    self.transfers = Transfers(bound: transfers)
    self.addresses = addresses.map { count in (0..<(count > 1 ? count : 0)).map { _ in AddressMeters() } }
    self.domains = (0..<domains).map { _ in DomainMeters() }
    self.providers = (0..<providers).map { _ in ProviderMeters() }
  }
}
