// The choice among an origin's addresses: shares by weight, failures, and random events against what must always hold.

import Testing

@testable import Regent

@Suite("The choice among an origin's addresses")
struct BalancerTests {
  private func balancer(
    _ weights: [Int], _ rule: Balancer.Rule = .roundRobin, patience: Int = 2
  ) -> Balancer {
    Balancer(weights: weights, rule: rule, patience: patience, rest: .nanoseconds(100))
  }

  /// Which addresses so many requests go to, one after the other.
  private func choices(_ balancer: inout Balancer, _ count: Int, now: Int64 = 0) -> [Int] {
    (0..<count).map { _ in
      let index = balancer.requestCame(now: now) ?? -1
      if index >= 0 { balancer.requestEnded(index) }
      return index
    }
  }

  @Test("turns are spread evenly by weight")
  func turns() {
    var even = balancer([1, 1, 1])
    #expect(choices(&even, 6) == [0, 1, 2, 0, 1, 2] || Set(choices(&even, 3)) == [0, 1, 2])
    var uneven = balancer([5, 1, 1])
    let one = choices(&uneven, 7)
    #expect([0, 1, 2].map { index in one.count { $0 == index } } == [5, 1, 1])
    #expect(!one.starts(with: [0, 0, 0, 0]), "all at once: \(one)")
  }

  @Test("the fewest requests for each unit of weight")
  func least() {
    var balancer = balancer([1, 2], .leastConnections)
    var active = [0, 0]
    for _ in 0..<300 { active[balancer.requestCame(now: 0) ?? 0] += 1 }
    #expect(active == [100, 200])
    for _ in 0..<50 { balancer.requestEnded(1) }
    for _ in 0..<50 { #expect(balancer.requestCame(now: 0) == 1) }
  }

  @Test("failures in a row put an address out of turn, each time twice as long, until it answers")
  func ejection() {
    var balancer = balancer([1, 1])
    balancer.failed(0, now: 0)
    balancer.answered(0)
    balancer.failed(0, now: 0)
    #expect(Set(choices(&balancer, 4)) == [0, 1])
    balancer.failed(0, now: 0)
    #expect(choices(&balancer, 4, now: 99) == [1, 1, 1, 1])
    // What fails meanwhile began before.
    for _ in 0..<9 { balancer.failed(0, now: 50) }
    #expect(Set(choices(&balancer, 4, now: 100)) == [0, 1])
    // Behind its rest one failure is enough.
    balancer.failed(0, now: 100)
    #expect(choices(&balancer, 2, now: 299) == [1, 1])
    #expect(Set(choices(&balancer, 2, now: 300)) == [0, 1])
    balancer.failed(0, now: 300)
    balancer.answered(0)
    #expect(Set(choices(&balancer, 2, now: 301)) == [0, 1])
  }

  @Test("a rest has its longest, 64 times the first")
  func longest() {
    var balancer = balancer([1, 1], patience: 1)
    var now: Int64 = 0
    for count in 0..<12 {
      balancer.failed(0, now: now)
      let long = 100 * Int64(1 << min(count, 6))
      #expect(choices(&balancer, 2, now: now + long - 1) == [1, 1])
      now += long
    }
    balancer.failed(0, now: .max - 1)
    #expect(choices(&balancer, 2, now: .max - 1) == [1, 1])
  }

  @Test(
    "where all are out of turn the one that is soonest back is asked, and a check alone brings an unwell one back"
  )
  func allOut() {
    var balancer = balancer([1, 1], patience: 1)
    balancer.failed(1, now: 0)
    balancer.failed(0, now: 10)
    #expect(choices(&balancer, 3, now: 20) == [1, 1, 1])
    balancer.checked(1, isWell: true)
    balancer.checked(1, isWell: false)
    #expect(choices(&balancer, 2, now: 1000) == [0, 0])
    balancer.checked(1, isWell: true)
    #expect(Set(choices(&balancer, 2, now: 1000)) == [0, 1])
  }

  @Test("any events: everybody gets an address, a bad one only where all are, none twice", arguments: 0..<60)
  func random(seed: UInt64) {
    var random = SeededGenerator(state: seed)
    let weights = (0..<Int.random(in: 1...5, using: &random)).map { _ in Int.random(in: 1...4, using: &random)
    }
    let rule: Balancer.Rule = Bool.random(using: &random) ? .roundRobin : .leastConnections
    var balancer = balancer(weights, rule, patience: .random(in: 1...3, using: &random))
    var now: Int64 = 0
    var active = weights.map { _ in 0 }
    for _ in 0..<1000 {
      let index = Int.random(in: weights.indices, using: &random)
      switch Int.random(in: 0..<7, using: &random) {
      case 0: now += .random(in: 0...200, using: &random)
      case 1: balancer.failed(index, now: now)
      case 2: balancer.answered(index)
      case 3: balancer.checked(index, isWell: .random(using: &random))
      case 4 where active[index] > 0:
        active[index] -= 1
        balancer.requestEnded(index)
      default:
        var tried: Set<Int> = []
        for _ in weights {
          let anyFit = weights.indices.contains {
            !tried.contains($0) && !balancer.addresses[$0].isOut(now: now)
          }
          guard let chosen = balancer.requestCame(now: now, tried: tried) else {
            Issue.record("seed \(seed): nobody was chosen")
            break
          }
          #expect(!tried.contains(chosen), "seed \(seed): tried twice")
          #expect(
            !anyFit || !balancer.addresses[chosen].isOut(now: now), "seed \(seed): a bad one was chosen")
          active[chosen] += 1
          tried.insert(chosen)
          if Bool.random(using: &random) { break }
        }
        if tried.count == weights.count {
          let none = balancer.requestCame(now: now, tried: tried)
          #expect(none == nil)
        }
      }
      #expect(balancer.addresses.map(\.active) == active, "seed \(seed)")
    }
  }
}
