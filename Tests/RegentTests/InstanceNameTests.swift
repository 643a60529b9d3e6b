// A daemon's own name in Via: what is a circle, and what only looks like one.

import TestKit
import Testing

@testable import Regent

@Suite("A daemon's name in Via")
struct InstanceNameTests {
  private func name(_ seed: UInt64, _ text: String = "regent") -> InstanceName {
    var random = SeededGenerator(seed: seed)
    return InstanceName(text, random: &random)
  }

  private func via(_ name: InstanceName) -> String { String(decoding: name.via, as: UTF8.self) }

  @Test("a request that it sent is known again, wherever it stands and whoever added to it")
  func circle() {
    let own = name(1)
    #expect(own.isIn(fields("Via: \(via(own))")))
    #expect(own.isIn(fields("Via: 1.0 fred, \(via(own)) , 1.1 proxy (Apache)")))
    #expect(own.isIn(fields("Via: 1.0 fred", "X: y", "Via: HTTP/1.1 other", "Via: \(via(own))")))
    #expect(own.isIn(fields("Via: \(via(own).replacing("regent", with: "REGENT"))")))
  }

  @Test("two daemons that are named alike do not refuse each other")
  func namesakes() {
    #expect(!name(1).isIn(fields("Via: \(via(name(2)))")))
    #expect(!name(1).isIn(fields("Via: 1.1 regent")))
    #expect(!name(1, "a").isIn(fields("Via: \(via(name(1, "b")))")))
    #expect(!name(1).isIn(fields("Via: ", "X-Via: \(via(name(1)))")))
    #expect(!name(1).isIn(fields("Host: a")))
  }

  @Test("but more than eight of them in a row are a circle whose comments somebody took out")
  func many() {
    func hops(_ count: Int) -> String { Array(repeating: "1.1 regent", count: count).joined(separator: ", ") }
    #expect(!name(1).isIn(fields("Via: \(hops(8))")))
    #expect(name(1).isIn(fields("Via: \(hops(9))")))
    #expect(name(1).isIn(fields("Via: \(hops(5))", "Via: \(hops(4))")))
  }
}
