// How one of an origin's several addresses is, as far as its failures and its checks tell: a pure machine, one method for
// each event. Heads and bodies are judged apart: an address may answer each request well, and break each answer off.

import RegentLoop

/// The health of one address.
struct AddressHealth: Sendable, Equatable {
  /// When an address is put out of turn.
  struct Rules: Sendable, Equatable {
    /// So many failures in a row put it out of turn,
    let patience: Int
    /// for so many nanoseconds, and twice as long each further time, up to 64 times.
    let rest: Int64

    init(patience: Int, rest: Duration) {
      self.patience = patience
      self.rest = rest.nanoseconds
    }
  }

  /// One kind of failure.
  private struct Tally: Equatable {
    /// How many came in a row, and how often that put the address out of turn since it last did well.
    var failures = 0
    var ejections = 0
    /// Until when it is out of turn.
    var until = Int64.min

    mutating func failed(_ rules: Rules, now: Int64) {
      // What began before it was put out of turn says nothing new.
      guard until <= now else { return }
      failures += 1
      guard failures >= rules.patience else { return }
      // Behind its rest, one more failure is enough.
      failures = rules.patience - 1
      let (long, overflow) = rules.rest.multipliedReportingOverflow(by: 1 << min(ejections, 6))
      let (end, beyond) = now.addingReportingOverflow(overflow ? .max : long)
      until = beyond ? .max : end
      ejections += 1
    }
  }

  private var heads = Tally()
  private var bodies = Tally()
  /// Whether the last check found it wanting.
  private var isUnwell = false

  /// Until when it is out of turn; the largest number where only a check can tell.
  var outUntil: Int64 { isUnwell ? .max : max(heads.until, bodies.until) }

  /// Whether there is nothing that an answer, whole or not, could clear.
  var isSpotless: Bool { heads == Tally() && bodies == Tally() }

  /// It could not be reached, or broke off before it answered.
  mutating func failed(_ rules: Rules, now: Int64) { heads.failed(rules, now: now) }

  /// It answered: the head is here.
  mutating func answered() { heads = Tally() }

  /// It broke off within an answer's body.
  mutating func broke(_ rules: Rules, now: Int64) { bodies.failed(rules, now: now) }

  /// An answer came to its end.
  mutating func completed() { bodies = Tally() }

  /// A check ended.
  mutating func checked(isWell: Bool) {
    // While requests fail, a check that ends well says little: it ends what checks began.
    if isWell, isUnwell { (heads, bodies) = (Tally(), Tally()) }
    isUnwell = !isWell
  }
}
