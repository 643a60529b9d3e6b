// Which of a domain's upstream addresses a request goes to: by turns or by the fewest requests, each by its weight, and
// never to one that failed lately while there is a better one. A pure machine: one method for each event.

import RegentLoop

/// The addresses of one origin as one loop sees them.
struct Balancer {
  enum Rule { case roundRobin, leastConnections }

  struct Address {
    let weight: Int
    /// How far it is behind its turn.
    fileprivate var credit = 0
    /// How many requests it has.
    fileprivate(set) var active = 0
    /// How many failures came in a row, and how often that put it out of turn since it last answered.
    fileprivate var failures = 0
    fileprivate var ejections = 0
    /// Until when it is out of turn.
    fileprivate var until = Int64.min
    /// Whether the last check of its health found it wanting.
    fileprivate(set) var isUnwell = false

    func isOut(now: Int64) -> Bool { until > now || isUnwell }
  }

  /// So many failures in a row put an address out of turn,
  let patience: Int
  /// for so many nanoseconds, and twice as long each further time, up to 64 times.
  let rest: Int64
  let rule: Rule
  private(set) var addresses: [Address]

  init(weights: [Int], rule: Rule, patience: Int, rest: Duration) {
    precondition(!weights.isEmpty && weights.allSatisfy { $0 > 0 }, "an address has a weight")
    addresses = weights.map { Address(weight: $0) }
    self.rule = rule
    self.patience = patience
    self.rest = rest.nanoseconds
  }

  /// A request wants an address, none of those that it tried already. Nil if it tried all.
  mutating func requestCame(now: Int64, tried: Set<Int> = []) -> Int? {
    let left = addresses.indices.filter { !tried.contains($0) }
    let fit = left.filter { !addresses[$0].isOut(now: now) }
    let chosen = fit.isEmpty ? leastBad(of: left) : next(of: fit)
    if let chosen { addresses[chosen].active += 1 }
    return chosen
  }

  /// A request is done with its address.
  mutating func requestEnded(_ index: Int) { addresses[index].active -= 1 }

  /// An address answered.
  mutating func answered(_ index: Int) {
    addresses[index].failures = 0
    addresses[index].ejections = 0
    addresses[index].until = .min
  }

  /// An address could not be reached, or broke off before it answered.
  mutating func failed(_ index: Int, now: Int64) {
    // What began before it was put out of turn says nothing new.
    guard addresses[index].until <= now else { return }
    addresses[index].failures += 1
    guard addresses[index].failures >= patience else { return }
    // Behind its rest, one more failure is enough.
    addresses[index].failures = patience - 1
    let (long, overflow) = rest.multipliedReportingOverflow(by: 1 << min(addresses[index].ejections, 6))
    let (until, beyond) = now.addingReportingOverflow(overflow ? .max : long)
    addresses[index].until = beyond ? .max : until
    addresses[index].ejections += 1
  }

  /// A check of an address's health begins; it ends like a request.
  mutating func checkBegan(_ index: Int) { addresses[index].active += 1 }

  /// A check of an address's health ended.
  mutating func checked(_ index: Int, isWell: Bool) {
    // While requests fail, a check that ends well says little: it ends what checks began.
    if isWell, addresses[index].isUnwell { answered(index) }
    addresses[index].isUnwell = !isWell
  }

  /// All are out of turn: the one whose rest ends first.
  private func leastBad(of left: [Int]) -> Int? {
    left.min { (addresses[$0].until, addresses[$0].active) < (addresses[$1].until, addresses[$1].active) }
  }

  private mutating func next(of fit: [Int]) -> Int? {
    switch rule {
    case .roundRobin: return nextInTurn(of: fit)
    case .leastConnections:
      let least = fit.min { load($0, isLessThan: $1) }
      return nextInTurn(of: fit.filter { index in least.map { !load($0, isLessThan: index) } ?? false })
    }
  }

  private func load(_ one: Int, isLessThan other: Int) -> Bool {
    addresses[one].active * addresses[other].weight < addresses[other].active * addresses[one].weight
  }

  /// Turns by weight, spread as evenly as can be: each gains its weight, and whoever is served pays all of them.
  private mutating func nextInTurn(of fit: [Int]) -> Int? {
    for index in fit { addresses[index].credit += addresses[index].weight }
    let chosen = fit.max { addresses[$0].credit < addresses[$1].credit }
    if let chosen { addresses[chosen].credit -= fit.reduce(0) { $0 + addresses[$1].weight } }
    return chosen
  }
}
