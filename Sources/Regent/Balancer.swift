// Which of a domain's upstream addresses a request goes to: by turns or by the fewest requests, each by its weight, and
// never to one that is out of turn while there is a better one. A pure machine: one method for each event.

/// The turns of one origin's addresses on one loop.
struct Balancer {
  enum Rule { case roundRobin, leastConnections }

  struct Address {
    let weight: Int
    /// How far it is behind its turn.
    fileprivate var credit = 0
    /// How many requests it has.
    fileprivate(set) var active = 0
  }

  let rule: Rule
  private(set) var addresses: [Address]

  init(weights: [Int], rule: Rule) {
    precondition(!weights.isEmpty && weights.allSatisfy { $0 > 0 }, "an address has a weight")
    addresses = weights.map { Address(weight: $0) }
    self.rule = rule
  }

  /// A request wants an address, none of those that it tried already. Nil if it tried all.
  ///
  /// - Parameter outUntil: Until when an address is out of turn.
  mutating func requestCame(now: Int64, tried: Set<Int> = [], outUntil: (Int) -> Int64) -> Int? {
    let left = addresses.indices.filter { !tried.contains($0) }
    let fit = left.filter { outUntil($0) <= now }
    let chosen = fit.isEmpty ? leastBad(of: left, outUntil) : next(of: fit)
    if let chosen { addresses[chosen].active += 1 }
    return chosen
  }

  /// A request is done with its address.
  mutating func requestEnded(_ index: Int) { addresses[index].active -= 1 }

  /// A check of an address's health begins; it ends like a request.
  mutating func checkBegan(_ index: Int) { addresses[index].active += 1 }

  /// All are out of turn: the one whose rest ends first.
  private func leastBad(of left: [Int], _ outUntil: (Int) -> Int64) -> Int? {
    left.map { (index: $0, until: outUntil($0)) }
      .min { ($0.until, addresses[$0.index].active) < ($1.until, addresses[$1.index].active) }?.index
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
