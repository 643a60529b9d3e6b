// The memory of names: answers for a while, one look-up for all who ask at once, a bound.

import TestKit
import Testing

@testable import RegentLoop

@Suite("The memory of names")
struct NameTableTests {
  private func name(_ number: Int) -> NameTable.Name { .init(host: "host\(number).test", port: 80) }
  private func found(_ port: UInt16 = 80) -> NameTable.Answer {
    .success([SocketAddress(bytes: [2, 0, UInt8(port >> 8), UInt8(port & 255)], family: 2, description: "")])
  }
  private let missing = NameTable.Answer.failure(.nameNotFound("no such name"))

  private func table(bound: Int = 10) -> NameTable {
    NameTable(lifetime: .nanoseconds(100), missingLifetime: .nanoseconds(10), bound: bound)
  }

  @Test("those who ask for one name at once share one look-up")
  func shared() {
    var table = table()
    func ask(_ number: Int, at time: Int64) -> NameTable.Asked { table.asked(name(number), now: time) }
    func answer(_ number: Int, _ answer: NameTable.Answer, at time: Int64) -> [UInt64] {
      table.answered(name(number), answer, now: time)
    }
    #expect(ask(1, at: 0) == .lookUp(1))
    #expect(ask(1, at: 0) == .wait(2))
    #expect(ask(2, at: 0) == .lookUp(3))
    table.waiterLeft(1, for: name(1))
    #expect(answer(1, found(), at: 5) == [2])
    #expect(answer(1, found(), at: 5).isEmpty)
  }

  @Test("an answer holds for its time, and a name that was not found for a shorter one")
  func lifetimes() {
    var table = table()
    func ask(_ number: Int, at time: Int64) -> NameTable.Asked { table.asked(name(number), now: time) }
    func answer(_ number: Int, _ answer: NameTable.Answer, at time: Int64) -> [UInt64] {
      table.answered(name(number), answer, now: time)
    }
    #expect(ask(1, at: 0) == .lookUp(1))
    _ = answer(1, found(), at: 5)
    #expect(ask(1, at: 104) == .known(found()))
    #expect(ask(1, at: 105) == .lookUp(2))
    _ = answer(1, missing, at: 110)
    #expect(ask(1, at: 119) == .known(missing))
    #expect(ask(1, at: 120) == .lookUp(3))
  }

  @Test("without a lifetime every look-up is a new one")
  func none() {
    var table = NameTable(lifetime: .zero, missingLifetime: .zero, bound: 1)
    func ask(_ number: Int, at time: Int64) -> NameTable.Asked { table.asked(name(number), now: time) }
    func answer(_ number: Int, _ answer: NameTable.Answer, at time: Int64) -> [UInt64] {
      table.answered(name(number), answer, now: time)
    }
    #expect(ask(1, at: 0) == .lookUp(1))
    _ = answer(1, found(), at: 0)
    #expect(ask(1, at: 0) == .lookUp(2))
  }

  @Test(
    "any events: it remembers at most its bound, and everyone who waits is answered once", arguments: 0..<40)
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let bound = Int.random(in: 1...5, using: &random)
    var table = table(bound: bound)
    func ask(_ number: Int, at time: Int64) -> NameTable.Asked { table.asked(name(number), now: time) }
    func answer(_ number: Int, _ answer: NameTable.Answer, at time: Int64) -> [UInt64] {
      table.answered(name(number), answer, now: time)
    }
    var now: Int64 = 0
    var asking: [Int: [UInt64]] = [:]
    for _ in 0..<2000 {
      let number = Int.random(in: 0..<8, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: now += .random(in: 0...30, using: &random)
      case 1 where asking[number] != nil:
        let said = Bool.random(using: &random) ? found(UInt16(number)) : missing
        #expect(answer(number, said, at: now) == asking.removeValue(forKey: number) ?? [])
        switch ask(number, at: now) {
        case .known(let answer): #expect(answer == said)
        case .lookUp(let waiter):
          #expect(asking.count >= bound, "it was forgotten too soon")
          asking[number] = [waiter]
        case .wait: #expect(Bool(false), "nobody looks it up")
        }
      case 2 where asking[number]?.isEmpty == false:
        let waiter = asking[number]?.removeFirst() ?? 0
        table.waiterLeft(waiter, for: name(number))
      default:
        switch ask(number, at: now) {
        case .known(let answer):
          #expect(asking[number] == nil)
          #expect(answer == missing || answer == found(UInt16(number)), "another name's answer")
        case .wait(let waiter):
          #expect(asking[number] != nil, "nobody looks it up")
          asking[number, default: []].append(waiter)
        case .lookUp(let waiter):
          #expect(asking[number] == nil, "looked up twice at once")
          asking[number] = [waiter]
        }
      }
      // What is being looked up cannot be forgotten.
      #expect(table.count <= max(bound, asking.count), "seed \(seed)")
    }
  }
}
