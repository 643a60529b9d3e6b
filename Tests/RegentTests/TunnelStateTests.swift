// The tunnel's machine: its table, and what holds after every step of random sequences of events.

import TestKit
import Testing

@testable import Regent

@Suite("The tunnel's state")
struct TunnelStateTests {
  @Test(
    "a side's end is passed on, and the other direction goes on; both ends close",
    arguments: TunnelState.Side.allCases)
  func halfClose(_ side: TunnelState.Side) {
    var state = TunnelState()
    #expect(state.ended(side) == [.endSending(to: side.other)])
    #expect(!state.isOver && state.hasEnded(side) && !state.hasEnded(side.other))
    #expect(state.ended(side) == [])
    #expect(state.ended(side.other) == [.endSending(to: side), .close])
    #expect(state.isOver)
  }

  @Test("a failure, and silence, cut both directions, once")
  func cut() {
    var state = TunnelState()
    #expect(state.ended(.client) == [.endSending(to: .origin)])
    #expect(state.fellSilent() == [.abort])
    #expect(state.failed() == [] && state.ended(.origin) == [] && state.isOver)
    #expect(!state.hasOriginEnded)
  }

  @Test(
    "whatever happens in whatever order: each end is passed on once, and there is one last action at most")
  func random() {
    let seed = SeededGenerator.anySeed()
    print("seed of the tunnels: \(seed)")
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      var state = TunnelState()
      var done: [TunnelState.Action] = []
      for _ in 0..<8 {
        let wasOver = state.isOver
        let actions =
          switch UInt8.random(in: 0...9, using: &generator) {
          case 0...3: state.ended(.client)
          case 4...7: state.ended(.origin)
          case 8: state.failed()
          default: state.fellSilent()
          }
        #expect(!wasOver || actions.isEmpty, "seed \(seed)")
        done += actions
        #expect(state.isOver == (done.last == .close || done.last == .abort), "seed \(seed): \(done)")
        #expect(
          done.contains(.close) == (state.hasClientEnded && state.hasOriginEnded), "seed \(seed): \(done)")
      }
      for side in TunnelState.Side.allCases {
        let passed = done.count { $0 == .endSending(to: side.other) }
        #expect(passed == (state.hasEnded(side) ? 1 : 0), "seed \(seed): \(done)")
      }
      #expect(done.count { $0 == .close || $0 == .abort } <= 1, "seed \(seed): \(done)")
    }
  }
}
