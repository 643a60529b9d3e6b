// Happy Eyeballs (RFC 8305): which of a name's addresses is tried when, and which connection is kept. A pure machine: one
// method for each event, which returns what is to be done. It knows addresses by their places in the list alone.

/// A race among the addresses of one name.
struct ConnectionRace {
  enum Action: Equatable {
    /// Begin to connect to this address.
    case attempt(Int)
    /// Let the timer for the next address run anew.
    case arm
    /// This attempt is the connection; the timer is of no more use.
    case win(Int)
    /// End this attempt, whatever came of it.
    case abandon(Int)
    /// All addresses failed.
    case fail
  }

  /// How long an attempt has the field to itself (RFC 8305 section 5, "Connection Attempt Delay").
  static let headStart = Duration.milliseconds(250)

  private let count: Int
  private var next = 0
  private var running: Set<Int> = []
  private(set) var isOver = false

  /// A race among `count` addresses, at least one.
  init(count: Int) {
    precondition(count > 0, "a name without an address cannot be connected to")
    self.count = count
  }

  mutating func started() -> [Action] { attemptNext() }

  /// The head start of the last attempt ended.
  mutating func timerFired() -> [Action] { isOver ? [] : attemptNext() }

  /// An attempt failed: the next address need not wait (section 5).
  mutating func attemptFailed(_ index: Int) -> [Action] {
    guard running.remove(index) != nil, !isOver else { return [] }
    let actions = attemptNext()
    guard actions.isEmpty, running.isEmpty else { return actions }
    isOver = true
    return [.fail]
  }

  /// An attempt connected: the first one is kept.
  mutating func attemptSucceeded(_ index: Int) -> [Action] {
    guard running.remove(index) != nil, !isOver else { return [.abandon(index)] }
    isOver = true
    let losers = running.sorted()
    running = []
    return [.win(index)] + losers.map(Action.abandon)
  }

  private mutating func attemptNext() -> [Action] {
    guard next < count else { return [] }
    running.insert(next)
    next += 1
    return [.attempt(next - 1)] + (next < count ? [.arm] : [])
  }

  /// The order in which addresses are tried: the families take turns, beginning with the first one's (section 4).
  static func order<Address>(_ addresses: [Address], family: (Address) -> Int32) -> [Address] {
    guard let first = addresses.first.map(family) else { return [] }
    var own = addresses.filter { family($0) == first }[...]
    var others = addresses.filter { family($0) != first }[...]
    var order: [Address] = []
    while !own.isEmpty || !others.isEmpty {
      if let address = own.popFirst() { order.append(address) }
      if let address = others.popFirst() { order.append(address) }
    }
    return order
  }
}
