// How long answers take: from the moment that a request is read until its answer has left, be it with others.

import RegentLoop

/// When the requests whose answers wait in a buffer began.
struct Timing {
  private let start: Int64
  private(set) var domain = 0
  private var pending = 0
  /// The content that is being sent, if that may take a while.
  var transfer: Transfer?

  init(start: Int64) { self.start = start }

  var isEmpty: Bool { pending == 0 }

  mutating func add(_ domain: Int) {
    self.domain = domain
    pending += 1
  }

  mutating func record(_ meters: LoopMeters, now: Int64) {
    meters.domains[domain].latency.record(now - start, times: pending)
    pending = 0
  }
}
