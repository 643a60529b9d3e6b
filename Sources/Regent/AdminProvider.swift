// The admin pages: what the daemon knows of itself, to read only. A provider like any other; nothing here changes state.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

/// Answers `/stats`, and at the admin pages' own host `/` and `/explain`.
final class AdminProvider: Provider {
  let name = "admin"
  private let statistics: Statistics
  private let explanations: ExplainPage
  private let domain: Int

  /// `domain` is the admin domain's own number.
  init(_ statistics: Statistics, _ explanations: ExplainPage, domain: Int) {
    self.statistics = statistics
    self.explanations = explanations
    self.domain = domain
  }

  func perform(_ request: Request) async throws -> Response {
    guard request.pathBytes.elementsEqual("/stats".utf8) else {
      guard request.domain.number == domain else { throw Unhandled() }
      if request.pathBytes.elementsEqual("/".utf8) {
        return Response(status: 200, text: statistics.welcome(exceptFor: domain))
      }
      if request.pathBytes.elementsEqual("/explain".utf8) { return await explanations.response(to: request) }
      return Response(status: 404, text: "There is no such page here; /stats and /explain are.\n")
    }
    guard request.method == .get || request.method == .head else {
      return Response(status: 405, text: "This page is to be read.\n", fields: [(.allow, "GET, HEAD")])
    }
    var fields = Fields()
    fields.append(.contentType, "application/json".utf8)
    fields.append(.cacheControl, "no-store".utf8)
    fields.append(named: "X-Content-Type-Options".utf8, "nosniff".utf8)
    let json = statistics.json(now: request.now)
    return Response(status: 200, fields: .parsed(fields), body: .whole(Slice(json)))
  }
}

/// The figures of all loops, summed when they are asked for.
final class Statistics: Sendable {
  private let version: String
  private let started: Int64
  private let domains: [String]
  private let providers: [String]
  private let loops: [LoopMeters]
  private let memory: MemoryStore?
  private let disk: DiskStore?
  private let flights: Flights
  private let healths: [(name: String, health: OriginHealth)]
  private let resolver: Resolver?
  private let addresses: [[String]]
  private let upstreams: [UpstreamProvider]

  init(
    version: String, started: Int64, domains: [String], providers: [String], loops: [LoopMeters],
    memory: MemoryStore?, disk: DiskStore? = nil, flights: Flights, resolver: Resolver? = nil,
    healths: [(name: String, health: OriginHealth)] = [], addresses: [[String]] = [],
    upstreams: [UpstreamProvider] = []
  ) {
    self.upstreams = upstreams
    self.healths = healths
    self.addresses = addresses
    self.resolver = resolver
    self.version = version
    self.started = started
    self.domains = domains
    self.providers = providers
    self.loops = loops
    self.memory = memory
    self.disk = disk
    self.flights = flights
  }

  /// What whoever looks in for the first time needs to know.
  func welcome(exceptFor admin: Int) -> String {
    let names = domains.indices.filter { $0 != admin }.map { domains[$0] }.joined(separator: ", ")
    return """
      This is Regent \(version). What it did so far: /stats
      What it would do with a request, and why: /explain?url=http://NAME.localhost/PATH
      Each of its domains answers at http://NAME.localhost with this port: \(names)

      """
  }

  func json(now: Int64) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.value("version", version)
      json.value("uptime", Int((now - started) / 1_000_000_000))
      json.value("workers", loops.count)
      json.object("connections", writeConnections)
      json.object("origins", writeOrigins)
      json.object("flights") { flights.figures(now: now).write(&$0) }
      json.object("tunnels", writeTunnels)
      json.object("domains") { writeDomains(&$0, now) }
      json.object("providers", writeProviders)
      json.array("transfers") { write(loops.flatMap { $0.transfers.progress(now: now) }, &$0) }
      json.value("transfers-unlisted", sum { $0.transfers.unlisted.count })
      if let memory { json.object("memory") { write(memory.statistics, &$0) } }
      if let disk { json.object("disk") { disk.statistics.write(&$0) } }
    }
    return json.bytes + [0x0A]
  }

  private func sum(_ count: (LoopMeters) -> Int) -> Int { loops.reduce(0) { $0 + count($1) } }

  private func writeConnections(_ json: inout JSONWriter) {
    json.value("open", sum { $0.connections.count })
    json.value("accepted", sum { $0.accepted.count })
    json.value("refused", sum { $0.refused.count })
    json.value("heads-shed", sum { $0.shed.count })
    json.value("descriptors-exhausted", sum { $0.exhausted.count })
    json.value("bad-requests", sum { $0.badRequests.count })
    json.value("misdirected", sum { $0.misdirected.count })
    json.value("loops-detected", sum { $0.loopsDetected.count })
  }

  private func writeOrigins(_ json: inout JSONWriter) {
    json.value("connections", sum { $0.originConnections.count })
    json.value("idle", sum { $0.originIdle.count })
    json.value("opened", sum { $0.originOpened.count })
    json.value("tls-resumed", sum { $0.tlsResumed.count })
    json.value("waiting", sum { $0.originWaiting.count })
    json.value("refused", sum { $0.originRefused.count })
    json.value("requests", sum { $0.originRequests.count })
    json.value("reconnections", sum { $0.originReconnections.count })
    json.value("retries", sum { $0.originRetries.count })
    json.value("kept-content-bytes", sum { $0.keptContent.count })
    json.object("not-retried") { json in
      for reason in RetryRefusal.allCases {
        let count = sum { $0.retryRefusals.count(reason) }
        if count > 0 { json.value(reason.rawValue, count) }
      }
    }
    json.object("health") { json in
      for (name, health) in healths { json.object(name) { write(health.figures, &$0) } }
    }
    writeFaults(&json)
    guard let figures = resolver?.figures else { return }
    json.value("names", figures.names)
    json.value("name-look-ups", figures.lookUps)
  }

  private func write(_ health: OriginHealth.Figures, _ json: inout JSONWriter) {
    json.value("breaker", health.isClosed ? "closed" : health.isOpen ? "open" : "half-open")
    json.value("openings", health.openings)
    json.value("failures", health.failures)
    json.value("refusals", health.refusals)
    json.value("retries", health.retries)
    json.value("budget-refusals", health.budgetRefusals)
  }

  private func writeFaults(_ json: inout JSONWriter) {
    json.object("faults") { json in
      for fault in OriginFault.allCases {
        let count = sum { $0.faults.count(fault) }
        if count > 0 { json.value(fault.rawValue, count) }
      }
    }
  }

  private func writeTunnels(_ json: inout JSONWriter) {
    json.value("open", sum { $0.tunnels.count })
    json.value("opened", sum { $0.tunnelsOpened.count })
    json.value("refused", sum { $0.tunnelsRefused.count })
    json.value("bytes-in", sum { $0.tunnelBytesIn.count })
    json.value("bytes-out", sum { $0.tunnelBytesOut.count })
  }

  private func write(_ transfers: [Transfer.Progress], _ json: inout JSONWriter) {
    for transfer in transfers {
      json.object { json in
        json.value("domain", transfer.domain)
        json.value("path", transfer.path)
        json.value("direction", transfer.direction.rawValue)
        json.value("bytes", transfer.bytes)
        if let total = transfer.total { json.value("total", total) }
        if let done = transfer.thousandths { json.value("fraction", thousandths: done) }
        json.value("bytes-per-second", transfer.rate)
        json.value("age-milliseconds", Int(transfer.age / 1_000_000))
      }
    }
  }

  private func writeDomains(_ json: inout JSONWriter, _ now: Int64) {
    for (number, name) in domains.enumerated() {
      json.object(name) { json in
        json.value("requests", sum { $0.domains[number].requests.count })
        json.value("hits", sum { $0.domains[number].hits.count })
        json.value("misses", sum { $0.domains[number].misses.count })
        json.value("stale", sum { $0.domains[number].stale.count })
        json.value("revalidations", sum { $0.domains[number].revalidations.count })
        json.value("errors", sum { $0.domains[number].errors.count })
        json.value("bytes-in", sum { $0.domains[number].bytesIn.count })
        json.value("bytes-out", sum { $0.domains[number].bytesOut.count })
        json.object("forwarded") { json in write(\.forwarded, of: number, \.rawValue, &json) }
        json.object("asked-again") { json in write(\.validated, of: number, \.text, &json) }
        json.object("stale-reasons") { json in write(\.staleFor, of: number, \.text, &json) }
        json.object("not-stored") { json in write(\.refused, of: number, \.text, &json) }
        json.object("latency-microseconds") { writeLatency(number, &$0) }
        writeAddresses(of: number, &json, now)
      }
    }
  }

  /// The addresses of an origin that has several.
  private func writeAddresses(of number: Int, _ json: inout JSONWriter, _ now: Int64) {
    guard number < addresses.count, addresses[number].count > 1 else { return }
    json.object("addresses") { json in
      for (index, name) in addresses[number].enumerated() {
        json.object(name) { json in
          json.value("requests", sum { $0.addresses[number][index].requests.count })
          json.value("active", sum { $0.addresses[number][index].active.count })
          json.value("failures", sum { $0.addresses[number][index].failures.count })
          json.value("out-of-turn", upstreams.contains { $0.isOut(index, of: number, now: now) } ? 1 : 0)
        }
      }
    }
  }

  /// The reasons that were given at all: there are no others than those of the decisions' own lists.
  private func write<Reason: CaseIterable & Hashable & Sendable>(
    _ counters: (DomainMeters) -> ReasonCounters<Reason>, of number: Int, _ text: (Reason) -> String,
    _ json: inout JSONWriter
  ) {
    for reason in Reason.allCases {
      let count = sum { counters($0.domains[number]).count(reason) }
      if count > 0 { json.value(text(reason), count) }
    }
  }

  private func writeLatency(_ number: Int, _ json: inout JSONWriter) {
    let all = loops.map { $0.domains[number].latency.counts }
    guard var counts = all.first else { return }
    for other in all.dropFirst() { for index in counts.indices { counts[index] += other[index] } }
    for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
      json.value(name, Int(LatencyHistogram.quantile(part, of: counts) / 1000))
    }
  }

  private func writeProviders(_ json: inout JSONWriter) {
    for (index, name) in providers.enumerated() {
      json.object(name) { json in
        json.value("answered", sum { $0.providers[index].answered.count })
        json.value("passed", sum { $0.providers[index].passed.count })
        json.value("errors", sum { $0.providers[index].errors.count })
      }
    }
  }

  private func write(_ memory: MemoryStatistics, _ json: inout JSONWriter) {
    json.value("entries", memory.entries)
    json.value("bytes", memory.bytes)
    json.value("budget", memory.budget)
    json.value("insertions", memory.insertions)
    json.value("evictions", memory.evictions)
    json.value("refusals", memory.refusals)
  }
}
