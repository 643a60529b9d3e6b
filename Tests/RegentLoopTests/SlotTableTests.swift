// Slots with generations: a name finds its own object or nobody.

import TestKit
import Testing

@testable import RegentLoop

@Suite("The table of slots")
struct SlotTableTests {
  private final class Thing {}

  @Test("finds an object by its name until it is removed")
  func finds() {
    var table = SlotTable<Thing>()
    let (one, other) = (Thing(), Thing())
    let (first, second) = (table.insert(one), table.insert(other))
    #expect(table[first] === one && table[second] === other && table.count == 2)
    table.remove(first)
    #expect(table[first] == nil && table[second] === other && table.count == 1)
  }

  @Test("gives a used slot a new name, so that the old one finds nobody")
  func staleName() {
    var table = SlotTable<Thing>()
    let old = table.insert(Thing())
    table.remove(old)
    let successor = Thing()
    let fresh = table.insert(successor)
    #expect(fresh.index == old.index && fresh != old)
    #expect(table[old] == nil)
    table.remove(old)
    #expect(table[fresh] === successor)
  }

  @Test("knows no names that it did not give", arguments: [0, 1, 1 << 32, 2 << 32 | 9, .max] as [UInt])
  func unknown(bits: UInt) {
    var table = SlotTable<Thing>()
    #expect(table[SlotID(bits: bits)] == nil)
    table.remove(SlotID(bits: bits))
    #expect(table.count == 0)
  }

  @Test("writes a name into a pointer's bits and back, never as null", arguments: 1...10)
  func bits(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    for _ in 0..<100 {
      let id = SlotID(
        index: .random(in: 0 ... .max, using: &random), generation: .random(in: 1 ... .max, using: &random))
      #expect(SlotID(bits: id.bits) == id && id.bits != 0)
    }
  }

  @Test("agrees with a dictionary through random insertions and removals", arguments: 1...10)
  func model(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var table = SlotTable<Thing>()
    var live: [SlotID: Thing] = [:]
    var dead: Set<SlotID> = []
    for _ in 0..<500 {
      if Bool.random(using: &random) || live.isEmpty {
        let thing = Thing()
        let id = table.insert(thing)
        #expect(live[id] == nil && !dead.contains(id), "seed \(seed)")
        live[id] = thing
      } else if let (id, _) = live.randomElement(using: &random) {
        table.remove(id)
        live[id] = nil
        dead.insert(id)
      }
      #expect(table.count == live.count, "seed \(seed)")
    }
    for (id, thing) in live { #expect(table[id] === thing) }
    for id in dead { #expect(table[id] == nil) }
  }
}
