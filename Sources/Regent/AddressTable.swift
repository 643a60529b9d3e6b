// What all loops know of one origin's several addresses: which are out of turn, and who checks them. Reading it takes no
// lock, and neither does good news of an address that never failed; what a loop learns serves the others at once.

import RegentConfig
import RegentLoop
import Synchronization

/// The addresses of one domain's origin.
final class AddressTable: Sendable {
  private final class Entry: Sendable {
    // Taken for bad news, and for good news behind it.
    let health = Lock(AddressHealth())
    // Both are written under the lock.
    let outUntil = Atomic<Int64>(.min)
    let isSpotless = Atomic<Bool>(true)
  }

  private let rules: AddressHealth.Rules
  private let entries: [Entry]
  private let isChecked = Atomic<Bool>(false)

  /// Nil where there is one address only: that is asked in any case.
  init?(_ domain: RegentConfig.Domain) {
    guard domain.upstreams.count > 1 else { return nil }
    rules = AddressHealth.Rules(patience: domain.balance.ejectAfter, rest: domain.balance.ejectFor)
    entries = domain.upstreams.map { _ in Entry() }
  }

  /// Until when an address is out of turn.
  func outUntil(_ index: Int) -> Int64 { entries[index].outUntil.load(ordering: .relaxed) }

  /// Whether the caller is the first that would check them: then it does so for all loops.
  func takeChecks() -> Bool { !isChecked.exchange(true, ordering: .relaxed) }

  // MARK: Events

  func failed(_ index: Int, now: Int64) { change(index) { $0.failed($1, now: now) } }
  func broke(_ index: Int, now: Int64) { change(index) { $0.broke($1, now: now) } }
  func checked(_ index: Int, isWell: Bool) { change(index) { health, _ in health.checked(isWell: isWell) } }

  func answered(_ index: Int) {
    if !isSpotless(index) { change(index) { health, _ in health.answered() } }
  }

  func completed(_ index: Int) {
    if !isSpotless(index) { change(index) { health, _ in health.completed() } }
  }

  private func isSpotless(_ index: Int) -> Bool { entries[index].isSpotless.load(ordering: .relaxed) }

  private func change(_ index: Int, _ event: (inout AddressHealth, AddressHealth.Rules) -> Void) {
    let entry = entries[index]
    entry.health.withLock { health in
      event(&health, rules)
      entry.outUntil.store(health.outUntil, ordering: .relaxed)
      entry.isSpotless.store(health.isSpotless, ordering: .relaxed)
    }
  }
}
