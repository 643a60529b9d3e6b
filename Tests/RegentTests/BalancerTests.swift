// The choice among an origin's addresses: shares by weight, failures, and random events against what must always hold.

import RegentConfig
import TestKit
import Testing

@testable import Regent

/// A loop's balancer with a table of its own: the two machines that share the choice.
private struct Balanced {
  var balancer: Balancer
  var health: [AddressHealth]
  let rules: AddressHealth.Rules

  init(_ weights: [Int], _ rule: Balancer.Rule = .roundRobin, patience: Int = 2) {
    balancer = Balancer(weights: weights, rule: rule)
    health = weights.map { _ in AddressHealth() }
    rules = AddressHealth.Rules(patience: patience, rest: .nanoseconds(100))
  }

  func isOut(_ index: Int, now: Int64) -> Bool { health[index].outUntil > now }

  mutating func requestCame(now: Int64, tried: Set<Int> = []) -> Int? {
    balancer.requestCame(now: now, tried: tried) { [health] in health[$0].outUntil }
  }

  mutating func requestEnded(_ index: Int) { balancer.requestEnded(index) }
  mutating func failed(_ index: Int, now: Int64) { health[index].failed(rules, now: now) }
  mutating func broke(_ index: Int, now: Int64) { health[index].broke(rules, now: now) }
  mutating func answered(_ index: Int) { health[index].answered() }
  mutating func completed(_ index: Int) { health[index].completed() }
  mutating func checked(_ index: Int, isWell: Bool) { health[index].checked(isWell: isWell) }

  /// Which addresses so many requests go to, one after the other.
  mutating func choices(_ count: Int, now: Int64 = 0) -> [Int] {
    (0..<count).map { _ in
      let index = requestCame(now: now) ?? -1
      if index >= 0 { requestEnded(index) }
      return index
    }
  }
}

@Suite("The choice among an origin's addresses")
struct BalancerTests {
  @Test("turns are spread evenly by weight")
  func turns() {
    var even = Balanced([1, 1, 1])
    #expect(even.choices(6) == [0, 1, 2, 0, 1, 2] || Set(even.choices(3)) == [0, 1, 2])
    var uneven = Balanced([5, 1, 1])
    let one = uneven.choices(7)
    #expect([0, 1, 2].map { index in one.count { $0 == index } } == [5, 1, 1])
    #expect(!one.starts(with: [0, 0, 0, 0]), "all at once: \(one)")
  }

  @Test("the fewest requests for each unit of weight")
  func least() {
    var balancer = Balanced([1, 2], .leastConnections)
    var active = [0, 0]
    for _ in 0..<300 { active[balancer.requestCame(now: 0) ?? 0] += 1 }
    #expect(active == [100, 200])
    for _ in 0..<50 { balancer.requestEnded(1) }
    for _ in 0..<50 { #expect(balancer.requestCame(now: 0) == 1) }
  }

  @Test("failures in a row put an address out of turn, each time twice as long, until it answers")
  func ejection() {
    var balancer = Balanced([1, 1])
    balancer.failed(0, now: 0)
    balancer.answered(0)
    balancer.failed(0, now: 0)
    #expect(Set(balancer.choices(4)) == [0, 1])
    balancer.failed(0, now: 0)
    #expect(balancer.choices(4, now: 99) == [1, 1, 1, 1])
    // What fails meanwhile began before.
    for _ in 0..<9 { balancer.failed(0, now: 50) }
    #expect(Set(balancer.choices(4, now: 100)) == [0, 1])
    // Behind its rest one failure is enough.
    balancer.failed(0, now: 100)
    #expect(balancer.choices(2, now: 299) == [1, 1])
    #expect(Set(balancer.choices(2, now: 300)) == [0, 1])
    balancer.failed(0, now: 300)
    balancer.answered(0)
    #expect(Set(balancer.choices(2, now: 301)) == [0, 1])
  }

  @Test(
    "answers that break off are failures of their own, which good heads do not clear but whole answers do")
  func bodies() {
    var balancer = Balanced([1, 1], patience: 2)
    for _ in 0..<2 {
      balancer.answered(0)
      balancer.broke(0, now: 0)
    }
    balancer.answered(0)
    #expect(balancer.choices(4, now: 99) == [1, 1, 1, 1])
    // Behind its rest one more is enough, for twice as long.
    balancer.answered(0)
    balancer.broke(0, now: 100)
    #expect(balancer.choices(2, now: 299) == [1, 1])
    balancer.completed(0)
    #expect(balancer.health[0].isSpotless && Set(balancer.choices(2, now: 200)) == [0, 1])
    balancer.broke(0, now: 300)
    balancer.completed(0)
    balancer.broke(0, now: 300)
    #expect(Set(balancer.choices(2, now: 300)) == [0, 1])
    // Either kind alone puts it out of turn, and the one does not clear the other.
    balancer.failed(0, now: 300)
    balancer.failed(0, now: 300)
    balancer.completed(0)
    #expect(balancer.isOut(0, now: 301))
    balancer.answered(0)
    #expect(!balancer.isOut(0, now: 301) && balancer.health[0].isSpotless)
  }

  @Test("a table tells all loops the same, whoever writes", arguments: 0..<20 as Range<UInt64>)
  func table(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var domain = RegentConfig.Domain(name: "many")
    domain.upstreams = try (0..<3).map { UpstreamAddress(try UpstreamURL("http://a\($0).test")) }
    domain.balance.ejectAfter = .random(in: 1...3, using: &random)
    domain.balance.ejectFor = .nanoseconds(100)
    let table = try #require(AddressTable(domain))
    let rules = AddressHealth.Rules(patience: domain.balance.ejectAfter, rest: domain.balance.ejectFor)
    var model = (0..<3).map { _ in AddressHealth() }
    var now: Int64 = 0
    for _ in 0..<500 {
      let index = Int.random(in: 0..<3, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        table.failed(index, now: now)
        model[index].failed(rules, now: now)
      case 1:
        table.broke(index, now: now)
        model[index].broke(rules, now: now)
      case 2:
        table.answered(index)
        model[index].answered()
      case 3:
        table.completed(index)
        model[index].completed()
      case 4:
        let isWell = Bool.random(using: &random)
        table.checked(index, isWell: isWell)
        model[index].checked(isWell: isWell)
      default: now += .random(in: 0...200, using: &random)
      }
      #expect((0..<3).map { table.outUntil($0) } == model.map(\.outUntil), "seed \(seed)")
    }
    #expect(table.takeChecks() && !table.takeChecks())
    domain.upstreams.removeLast(2)
    #expect(AddressTable(domain) == nil)
  }

  @Test("a rest has its longest, 64 times the first")
  func longest() {
    var balancer = Balanced([1, 1], patience: 1)
    var now: Int64 = 0
    for count in 0..<12 {
      balancer.failed(0, now: now)
      let long = 100 * Int64(1 << min(count, 6))
      #expect(balancer.choices(2, now: now + long - 1) == [1, 1])
      now += long
    }
    balancer.failed(0, now: .max - 1)
    #expect(balancer.choices(2, now: .max - 1) == [1, 1])
  }

  @Test(
    "where all are out of turn the one that is soonest back is asked, and a check alone brings an unwell one back"
  )
  func allOut() {
    var balancer = Balanced([1, 1], patience: 1)
    balancer.failed(1, now: 0)
    balancer.failed(0, now: 10)
    #expect(balancer.choices(3, now: 20) == [1, 1, 1])
    balancer.checked(1, isWell: true)
    balancer.checked(1, isWell: false)
    #expect(balancer.choices(2, now: 1000) == [0, 0])
    balancer.checked(1, isWell: true)
    #expect(Set(balancer.choices(2, now: 1000)) == [0, 1])
  }

  @Test("any events: everybody gets an address, a bad one only where all are, none twice", arguments: 0..<60)
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let weights = (0..<Int.random(in: 1...5, using: &random)).map { _ in Int.random(in: 1...4, using: &random)
    }
    let rule: Balancer.Rule = Bool.random(using: &random) ? .roundRobin : .leastConnections
    var balancer = Balanced(weights, rule, patience: .random(in: 1...3, using: &random))
    var now: Int64 = 0
    var active = weights.map { _ in 0 }
    for _ in 0..<1000 {
      let index = Int.random(in: weights.indices, using: &random)
      switch Int.random(in: 0..<9, using: &random) {
      case 0: now += .random(in: 0...200, using: &random)
      case 1: balancer.failed(index, now: now)
      case 2: balancer.answered(index)
      case 3: balancer.checked(index, isWell: .random(using: &random))
      case 4: balancer.broke(index, now: now)
      case 5: balancer.completed(index)
      case 6 where active[index] > 0:
        active[index] -= 1
        balancer.requestEnded(index)
      default:
        var tried: Set<Int> = []
        for _ in weights {
          let anyFit = weights.indices.contains {
            !tried.contains($0) && !balancer.isOut($0, now: now)
          }
          guard let chosen = balancer.requestCame(now: now, tried: tried) else {
            Issue.record("seed \(seed): nobody was chosen")
            break
          }
          #expect(!tried.contains(chosen), "seed \(seed): tried twice")
          #expect(
            !anyFit || !balancer.isOut(chosen, now: now), "seed \(seed): a bad one was chosen")
          active[chosen] += 1
          tried.insert(chosen)
          if Bool.random(using: &random) { break }
        }
        if tried.count == weights.count {
          let none = balancer.requestCame(now: now, tried: tried)
          #expect(none == nil)
        }
      }
      #expect(balancer.balancer.addresses.map(\.active) == active, "seed \(seed)")
    }
  }
}
