// The pure machine of a flight under random events: whoever waits gets exactly one outcome, and a bounded number leads.

import RegentStorage
import TestKit
import Testing

@testable import Regent

@Suite("A flight")
struct FlightMachineTests {
  @Test("elects who waited longest when the leader fails, once, and then fails all")
  func elections() {
    var flight = Flight<Int>()
    #expect(flight.joined(1, limit: 10) == .first)
    #expect(flight.joined(2, limit: 10) == .further)
    #expect(flight.joined(3, limit: 10) == .further)
    let first = flight.leaderFailed { _ in false }
    #expect(first.elected == 1 && first.failed.isEmpty && !first.isOver)
    let second = flight.leaderFailed { _ in false }
    #expect(second.elected == nil && second.failed == [2, 3] && second.isOver)
  }

  @Test("elects nobody where the origin wants to be left alone, and fails all")
  func final() {
    var flight = Flight<Int>()
    for number in 1...4 { _ = flight.joined(number, limit: 10) }
    let outcome = flight.leaderFailed(isFinal: true) { $0 == 2 }
    #expect(outcome.content == [2] && outcome.elected == nil)
    #expect(outcome.failed == [1, 3, 4] && outcome.isOver)
  }

  @Test("lets those go at once who have something stale, and elects none of them")
  func content() {
    var flight = Flight<Int>()
    for number in 1...4 { _ = flight.joined(number, limit: 10) }
    let outcome = flight.leaderFailed { $0 % 2 == 1 }
    #expect(outcome.content == [1, 3] && outcome.elected == 2 && flight.waiting == [4])
  }

  @Test("has one leader more when the lease passes; the first head serves all, the second none")
  func lease() {
    var flight = Flight<Int>()
    for number in 1...3 { _ = flight.joined(number, limit: 10) }
    #expect(flight.leaseExpired() == 1)
    #expect(flight.leaseExpired() == nil)
    #expect(flight.leading == 2)
    #expect(flight.landed() == [2, 3])
    #expect(flight.landed().isEmpty)
  }

  @Test("takes no more than its limit")
  func limit() {
    var flight = Flight<Int>()
    #expect(flight.joined(1, limit: 1) == .first)
    #expect(flight.joined(2, limit: 1) == .overflowed)
    #expect(flight.joined(3, limit: 0) == .overflowed)
    #expect(flight.refused() == [1])
  }

  @Test("gives every follower exactly one outcome, whatever happens", arguments: 0..<200 as Range<UInt64>)
  func random(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var flight = Flight<Int>()
    var (joined, leading) = (0, 1)
    var outcomes: [Int] = []
    var isOver = false
    while !isOver {
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<12:
        guard !flight.isLanded else { continue }
        joined += 1
        if flight.joined(joined, limit: 8) == .overflowed { outcomes.append(joined) }
      case 12..<15:
        if let elected = flight.leaseExpired() {
          outcomes.append(elected)
          leading += 1
        }
      case 15..<18:
        let before = flight.isLanded
        let failed = flight.leaderFailed(isFinal: .random(using: &generator)) { $0 % 3 == 0 }
        leading -= 1
        outcomes += failed.content + failed.failed
        if let elected = failed.elected {
          outcomes.append(elected)
          leading += 1
        }
        #expect(before || failed.isOver == (leading == 0), "seed \(seed)")
        isOver = leading == 0
      default:
        outcomes += Bool.random(using: &generator) ? flight.landed() : flight.refused()
        leading -= 1
        isOver = leading == 0 || !flight.isLanded
      }
      #expect(flight.led <= Flight<Int>.mostLeaders && flight.waiting.count <= 8, "seed \(seed)")
      #expect(Set(outcomes).isDisjoint(with: flight.waiting), "seed \(seed)")
    }
    #expect(flight.waiting.isEmpty, "seed \(seed)")
    #expect(outcomes.sorted() == Array(1..<(joined + 1)), "seed \(seed): \(outcomes) of \(joined)")
  }

  @Test("remembers keys until their time, and has a fixed number of places")
  func notes() {
    var notes = KeyNotes(places: 4)
    let keys = (0..<100).map { RecordKey([UInt8($0)]) }
    for key in keys { notes.note(key, until: 100) }
    #expect(notes.count(now: 99) <= 4 && notes.count(now: 99) > 0)
    #expect(notes.count(now: 100) == 0)
    let last = keys[99]
    #expect(notes.holds(last, now: 99) && !notes.holds(last, now: 100))
    notes.forget(last)
    #expect(!notes.holds(last, now: 0))
  }
}
