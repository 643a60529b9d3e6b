// A domain's origin as one loop meets it: its addresses, and which of them a request goes to. Most origins have one, and
// then nothing is chosen.

import RegentConfig
import RegentLoop

/// The origin of one domain on one loop.
final class Origin {
  private let servers: [OriginServer]
  private let balance: OriginBalance?
  private let checks: AddressChecks?
  private let loop: EventLoop

  /// The origin of a domain; nil where it has none.
  init?(
    _ domain: RegentConfig.Domain, number: Int, on loop: EventLoop, resolver: Resolver,
    configuration: Configuration, table: AddressTable?, meters: LoopMeters
  ) {
    guard domain.upstream != nil else { return nil }
    let addresses = domain.upstreams
    let balance = table.map { OriginBalance(domain, $0, on: loop, meters: meters.addresses[number]) }
    self.loop = loop
    self.balance = balance
    checks = AddressChecks(domain, on: loop, configuration)
    servers = addresses.enumerated().map { index, address in
      OriginServer(
        OriginIdentity(address.url, domain.manners, domain.tls, proxy: address.proxy), on: loop,
        resolver: resolver,
        configuration: configuration, meters: meters, share: balance.map { OriginShare(index, of: $0) })
    }
  }

  /// An unused connection, where nothing needs to be chosen, opened or waited for: most requests get one so.
  func unused() -> OriginConnection? { balance == nil ? servers[0].unused() : nil }

  /// A connection to send one request on.
  ///
  /// - Parameter deadline: The loop's monotonic time at which whatever it takes is given up.
  func connection(fresh: Bool = false, until deadline: Int64) async throws(Failure) -> OriginConnection {
    guard let balance else { return try await servers[0].connection(fresh: fresh, until: deadline) }
    checks?.start(servers, balance)
    var tried: Set<Int> = []
    var failure = Failure.overloaded
    while let index = balance.requestCame(tried: tried) {
      do throws(Failure) {
        return try await servers[index].connection(fresh: fresh, until: deadline)
      } catch {
        // Nothing was sent yet: any other address may be asked.
        balance.requestEnded(index)
        tried.insert(index)
        failure = error
      }
    }
    throw failure
  }

  /// Closes the connections that nobody uses, for the daemon's end.
  func closeIdle() {
    checks?.stop()
    for server in servers { server.closeIdle() }
  }
}

/// The choice among an origin's addresses on one loop, with its figures.
final class OriginBalance {
  private var balancer: Balancer
  private let table: AddressTable
  private let loop: EventLoop
  private let meters: [AddressMeters]

  init(
    _ domain: RegentConfig.Domain, _ table: AddressTable, on loop: EventLoop, meters: [AddressMeters]
  ) {
    balancer = Balancer(
      weights: domain.upstreams.map(\.weight),
      rule: domain.balance.rule == .roundRobin ? .roundRobin : .leastConnections)
    self.table = table
    self.loop = loop
    self.meters = meters
  }

  func requestCame(tried: Set<Int>) -> Int? {
    let chosen = balancer.requestCame(now: loop.clock.now, tried: tried) { table.outUntil($0) }
    guard let index = chosen else { return nil }
    meters[index].requests.add(1)
    note(index)
    return index
  }

  /// Whether the caller is to check the addresses, for all loops.
  func takeChecks() -> Bool { table.takeChecks() }

  func checkBegan(_ index: Int) {
    balancer.checkBegan(index)
    note(index)
  }

  func checked(_ index: Int, isWell: Bool) { table.checked(index, isWell: isWell) }

  /// - Parameter isWhole: Whether its answer came to its end.
  func requestEnded(_ index: Int, isWhole: Bool = false) {
    balancer.requestEnded(index)
    if isWhole { table.completed(index) }
    note(index)
  }

  fileprivate func answered(_ index: Int) { table.answered(index) }

  fileprivate func failed(_ index: Int) {
    meters[index].failures.add(1)
    table.failed(index, now: loop.clock.now)
  }

  fileprivate func broke(_ index: Int) {
    meters[index].failures.add(1)
    table.broke(index, now: loop.clock.now)
  }

  private func note(_ index: Int) { meters[index].active.set(balancer.addresses[index].active) }
}

/// One address's part in the choice.
struct OriginShare {
  private let index: Int
  private let balance: OriginBalance

  init(_ index: Int, of balance: OriginBalance) {
    self.index = index
    self.balance = balance
  }

  func requestEnded(isWhole: Bool) { balance.requestEnded(index, isWhole: isWhole) }
  func answered() { balance.answered(index) }
  func failed() { balance.failed(index) }
  func broke() { balance.broke(index) }
}
