// The pool of connections: random events against what must always hold, and the single rules.

import TestKit
import Testing

@testable import Regent

@Suite("The pool of connections")
struct ConnectionPoolTests {
  final class Link {
    var isOpen = true
  }

  typealias Pool = ConnectionPool<Link>

  private func pool(_ limit: Int, idle: Int = 100, waiting: Int = 100) -> Pool {
    Pool(limit: limit, idleLimit: idle, waitingLimit: waiting)
  }

  /// A pool with so many connections that were opened and handed back, the last one used last.
  private func pool(_ limit: Int, withIdle count: Int) -> (Pool, [Link]) {
    var pool = pool(limit)
    let links = (0..<count).map { _ in Link() }
    for _ in links { _ = pool.connectionAsked(fresh: true) }
    for link in links { _ = pool.connectionReturned(link) }
    return (pool, links)
  }

  @Test("the connection that was used last is used next")
  func lastFirst() {
    var (pool, links) = pool(4, withIdle: 3)
    for link in links.reversed() {
      guard case .use(let used) = pool.connectionAsked(fresh: false) else { return #expect(Bool(false)) }
      #expect(used === link)
    }
    #expect(pool.open == 3 && pool.idle.isEmpty)
  }

  @Test("a request for a fresh connection closes the one that was unused for longest where all are open")
  func fresh() {
    var (pool, links) = pool(2, withIdle: 2)
    guard case .open(let closing?) = pool.connectionAsked(fresh: true) else { return #expect(Bool(false)) }
    #expect(closing === links[0])
    #expect(pool.open == 2 && pool.idle.count == 1)
  }

  @Test("more unused ones than may be kept: the longest unused goes")
  func idleLimit() {
    var pool = pool(3, idle: 1)
    let links = [Link(), Link()]
    for _ in links { _ = pool.connectionAsked(fresh: true) }
    guard case .keep(nil) = pool.connectionReturned(links[0]),
      case .keep(let closed?) = pool.connectionReturned(links[1])
    else { return #expect(Bool(false)) }
    #expect(closed === links[0] && pool.open == 1)
    var none = self.pool(1, idle: 0)
    _ = none.connectionAsked(fresh: false)
    guard case .close = none.connectionReturned(Link()) else { return #expect(Bool(false)) }
    #expect(none.open == 0)
  }

  @Test("who waits is served in order, and a newcomer does not overtake")
  func order() {
    var pool = pool(1)
    let link = Link()
    guard case .open(nil) = pool.connectionAsked(fresh: false),
      case .wait(let first) = pool.connectionAsked(fresh: false),
      case .wait(let second) = pool.connectionAsked(fresh: true),
      case .hand(let served) = pool.connectionReturned(link)
    else { return #expect(Bool(false)) }
    #expect(served == first)
    // The connection is on its way to the first: whoever comes now is behind the second.
    guard case .wait(let third) = pool.connectionAsked(fresh: false),
      case .replace(let next) = pool.connectionReturned(link)
    else { return #expect(Bool(false)) }
    #expect(next == second)
    let last = pool.connectionClosed()
    #expect(last == third)
    let none = pool.connectionClosed()
    #expect(none == nil && pool.open == 0)
  }

  @Test("beyond the bound nobody waits, and whoever left waits no longer")
  func bound() {
    var pool = pool(1, waiting: 1)
    _ = pool.connectionAsked(fresh: false)
    guard case .wait(let waiter) = pool.connectionAsked(fresh: false),
      case .refuse = pool.connectionAsked(fresh: false)
    else { return #expect(Bool(false)) }
    let left = [pool.waiterLeft(waiter), pool.waiterLeft(waiter)]
    #expect(left == [true, false])
    let none = pool.connectionClosed()
    #expect(none == nil && pool.open == 0)
  }

  // MARK: Random events

  /// A pool and the world around it, which checks after each event what must always hold.
  struct World {
    var pool: Pool
    var used: [Link] = []
    var opening = 0
    /// Who waits, in the order of asking, and whether a fresh connection is asked for.
    var waiting: [(waiter: UInt64, fresh: Bool)] = []

    mutating func ask(fresh: Bool) {
      let wasFull = pool.open == pool.limit
      switch pool.connectionAsked(fresh: fresh) {
      case .use(let link):
        #expect(!fresh && link.isOpen && waiting.isEmpty, "an unused one while others wait")
        used.append(link)
      case .open(let closing):
        #expect(waiting.isEmpty, "somebody was overtaken")
        closing?.isOpen = false
        opening += 1
      case .wait(let waiter):
        #expect(wasFull)
        waiting.append((waiter, fresh))
      case .refuse: #expect(wasFull && waiting.count == pool.waitingLimit)
      }
    }

    mutating func giveBack(_ index: Int) {
      let link = used.remove(at: index)
      switch pool.connectionReturned(link) {
      case .keep(let closing):
        #expect(waiting.isEmpty)
        closing?.isOpen = false
      case .hand(let waiter):
        #expect(waiting.first?.waiter == waiter && waiting.first?.fresh == false)
        waiting.removeFirst()
        used.append(link)
      case .replace(let waiter):
        link.isOpen = false
        #expect(waiting.first?.waiter == waiter && waiting.first?.fresh == true)
        waiting.removeFirst()
        opening += 1
      case .close:
        #expect(waiting.isEmpty && pool.idleLimit == 0)
        link.isOpen = false
      }
    }

    /// A connection in use was closed, or one was not opened.
    mutating func freed() {
      guard let waiter = pool.connectionClosed() else { return #expect(waiting.isEmpty, "one was forgotten") }
      #expect(waiting.first?.waiter == waiter)
      waiting.removeFirst()
      opening += 1
    }

    func check() {
      #expect(pool.open == used.count + opening + pool.idle.count)
      #expect(pool.open <= pool.limit)
      #expect(pool.idle.count <= pool.idleLimit && pool.waiting <= pool.waitingLimit)
      #expect(pool.waiting == waiting.count)
      #expect(pool.idle.allSatisfy(\.isOpen) && used.allSatisfy(\.isOpen))
      if !waiting.isEmpty { #expect(pool.idle.isEmpty && pool.open == pool.limit, "one waits for nothing") }
    }
  }

  @Test(
    "after any events it is within its limits, forgets nobody and lets nobody overtake", arguments: 0..<40)
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var world = World(
      pool: pool(
        .random(in: 1...4, using: &random), idle: .random(in: 0...3, using: &random),
        waiting: .random(in: 0...4, using: &random)))
    for _ in 0..<1500 {
      switch Int.random(in: 0..<8, using: &random) {
      case 0...2: world.ask(fresh: .random(in: 0..<4, using: &random) == 0)
      case 3 where world.opening > 0:
        world.opening -= 1
        world.used.append(Link())
      case 4 where world.opening > 0:
        world.opening -= 1
        world.freed()
      case 5 where !world.used.isEmpty: world.giveBack(.random(in: 0..<world.used.count, using: &random))
      case 6 where !world.used.isEmpty:
        world.used.remove(at: .random(in: 0..<world.used.count, using: &random)).isOpen = false
        world.freed()
      case 7:
        if let idle = world.pool.idle.randomElement(using: &random) {
          let ended = [world.pool.idleConnectionEnded(idle), world.pool.idleConnectionEnded(idle)]
          #expect(ended == [true, false])
        } else if !world.waiting.isEmpty {
          let left = world.waiting.remove(at: .random(in: 0..<world.waiting.count, using: &random))
          let waited = world.pool.waiterLeft(left.waiter)
          #expect(waited)
        }
      default: break
      }
      world.check()
    }
  }
}
