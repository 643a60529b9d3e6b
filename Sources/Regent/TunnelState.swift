// What is left of a tunnel: two directions, each open until its sender ends or something breaks. A pure machine: one
// method for each event, and what is to be done about it. It knows no bytes.

struct TunnelState: Equatable {
  /// The two that talk.
  enum Side: CaseIterable {
    case client, origin

    var other: Side { self == .client ? .origin : .client }
  }

  enum Action: Equatable {
    /// Nothing is left to say to this side: its end is passed on.
    case endSending(to: Side)
    /// Both have said all: an orderly end.
    case close
    /// An end that neither side must take for an orderly one.
    case abort
  }

  private(set) var hasClientEnded = false
  private(set) var hasOriginEnded = false
  private(set) var isOver = false

  func hasEnded(_ side: Side) -> Bool { side == .client ? hasClientEnded : hasOriginEnded }

  /// A side has ended its sending, and all that it sent was passed on. Half of the tunnel goes on.
  mutating func ended(_ side: Side) -> [Action] {
    guard !isOver, !hasEnded(side) else { return [] }
    if side == .client { hasClientEnded = true } else { hasOriginEnded = true }
    guard hasEnded(side.other) else { return [.endSending(to: side.other)] }
    isOver = true
    return [.endSending(to: side.other), .close]
  }

  /// A side was reset, or cannot be written to.
  mutating func failed() -> [Action] { cut() }

  /// Neither side has sent or taken a byte for as long as that is borne.
  mutating func fellSilent() -> [Action] { cut() }

  private mutating func cut() -> [Action] {
    guard !isOver else { return [] }
    isOver = true
    return [.abort]
  }
}
