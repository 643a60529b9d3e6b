// Sets of domains against sets of numbers: the laws of SetAlgebra, below 64 and far beyond.

import Regent
import TestKit
import Testing

@Suite("A set of domains")
struct RequestDomainTests {
  private static let numbers = [0, 1, 5, 62, 63, 64, 65, 127, 128, 191, 192, 700]

  private func set(_ numbers: some Sequence<Int>) -> RequestDomain {
    numbers.reduce(into: RequestDomain()) { $0.insert(RequestDomain($1)) }
  }

  private func random(_ random: inout SeededGenerator) -> Set<Int> {
    Set(Self.numbers.filter { _ in Bool.random(using: &random) })
  }

  private func isSame(_ set: RequestDomain, _ model: Set<Int>) -> Bool {
    set == self.set(model) && set.hashValue == self.set(model).hashValue && set.isEmpty == model.isEmpty
      && (0..<800).allSatisfy { set.contains(number: $0) == model.contains($0) }
  }

  @Test("agrees with a set of numbers in every operation", arguments: 1...60)
  func laws(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let (a, b) = (random(&generator), random(&generator))
    let (x, y) = (set(a.sorted()), set(b.sorted().reversed()))
    #expect(isSame(x.union(y), a.union(b)), "seed \(seed)")
    #expect(isSame(x.intersection(y), a.intersection(b)), "seed \(seed)")
    #expect(isSame(x.symmetricDifference(y), a.symmetricDifference(b)), "seed \(seed)")
    #expect(isSame(x.subtracting(y), a.subtracting(b)), "seed \(seed)")
    #expect(x.isSubset(of: y) == a.isSubset(of: b), "seed \(seed)")
    #expect(x.isSuperset(of: y) == a.isSuperset(of: b), "seed \(seed)")
    #expect(x.contains(y) == a.isSuperset(of: b), "seed \(seed)")
    #expect(x.isDisjoint(with: y) == a.isDisjoint(with: b), "seed \(seed)")
    #expect(x.isStrictSubset(of: y) == a.isStrictSubset(of: b), "seed \(seed)")
    #expect((x == y) == (a == b), "seed \(seed)")
    var (z, c) = (x, a)
    z.formUnion(y)
    c.formUnion(b)
    z.formIntersection(x)
    c.formIntersection(a)
    z.formSymmetricDifference(y)
    c.formSymmetricDifference(b)
    #expect(isSame(z, c), "seed \(seed)")
  }

  @Test("obeys the laws that tie its operations together", arguments: 1...60)
  func identities(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let sets = (0..<3).map { _ in set(random(&generator)) }
    let (x, y, z) = (sets[0], sets[1], sets[2])
    #expect(x.union(x) == x && x.intersection(x) == x && x.symmetricDifference(x).isEmpty, "seed \(seed)")
    #expect(x.union(RequestDomain()) == x && x.intersection(RequestDomain()).isEmpty, "seed \(seed)")
    #expect(x.union(y) == y.union(x) && x.intersection(y) == y.intersection(x), "seed \(seed)")
    #expect(x.union(y).union(z) == x.union(y.union(z)), "seed \(seed)")
    #expect(
      x.intersection(y.union(z)) == x.intersection(y).union(x.intersection(z)), "seed \(seed)")
    #expect(x.symmetricDifference(y).symmetricDifference(y) == x, "seed \(seed)")
    #expect(x.isSubset(of: x.union(y)) && x.intersection(y).isSubset(of: x), "seed \(seed)")
  }

  @Test("tells what an insertion, a removal and an update changed")
  func changes() {
    var domains = set([3, 64])
    #expect(domains.insert(RequestDomain(64)).inserted == false)
    #expect(domains.insert(set([64, 65])).inserted == true)
    #expect(domains == set([3, 64, 65]))
    #expect(domains.update(with: RequestDomain(3)) == RequestDomain(3))
    #expect(domains.update(with: RequestDomain(900)) == nil)
    #expect(domains.remove(RequestDomain(7)) == nil)
    #expect(domains.remove(set([65, 900, 7])) == set([65, 900]))
    #expect(domains == set([3, 64]))
    #expect(domains.remove(domains) == set([3, 64]))
    #expect(domains.isEmpty && domains == RequestDomain())
  }

  @Test("may hold every domain there is or will be")
  func any() {
    let some = set([1, 100])
    #expect((0..<1000).allSatisfy { RequestDomain.any.contains(number: $0) })
    #expect(RequestDomain.any.union(some) == .any && some.union(.any) == .any)
    #expect(RequestDomain.any.intersection(some) == some && some.intersection(.any) == some)
    #expect(some.isSubset(of: .any) && !RequestDomain.any.isSubset(of: some))
    #expect(RequestDomain.any.contains(some) && !some.contains(.any) && RequestDomain.any.contains(.any))
    #expect(!RequestDomain.any.isEmpty && RequestDomain.any != some && RequestDomain.any.isSuperset(of: some))
    var all = RequestDomain.any
    #expect(all.insert(some).inserted == false)
    #expect(all.remove(.any) == .any && all.isEmpty)
  }

  @Test("is written like any set")
  func literal() {
    let domains: RequestDomain = [RequestDomain(2), RequestDomain(70)]
    #expect(domains == set([70, 2]))
    #expect(!domains.contains(number: -1) && !domains.contains(number: Int.max))
  }
}
