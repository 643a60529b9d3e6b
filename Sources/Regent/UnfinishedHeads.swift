// The heads of one loop that are partly here: what they hold in memory all together, and who has to go when that is
// too much. Twenty thousand clients that each send half a head must not cost twenty thousand heads.

/// The connections that wait for the rest of a head, and the bytes that they hold.
final class UnfinishedHeads {
  private struct Holder {
    let connection: ClientConnection
    let since: UInt64
    var bytes: Int
  }

  private var holders: [ObjectIdentifier: Holder] = [:]
  private var total = 0
  private var arrivals: UInt64 = 0

  /// The most bytes that all of them may hold on one loop.
  private let bound: Int
  /// What a parser keeps for an unfinished head, about.
  static let overhead = 512

  init(bound: Int) { self.bound = bound }

  /// A connection holds so many bytes now. The connections that are returned, the oldest of all, have to go.
  func hold(_ bytes: Int, _ connection: ClientConnection) -> [ClientConnection] {
    let id = ObjectIdentifier(connection)
    let bytes = bytes + Self.overhead
    if let known = holders[id] { total -= known.bytes }
    total += bytes
    holders[id, default: newHolder(connection)].bytes = bytes
    return total > bound ? oldest() : []
  }

  /// A connection holds nothing any more.
  func release(_ connection: ClientConnection) {
    guard let holder = holders.removeValue(forKey: ObjectIdentifier(connection)) else { return }
    total -= holder.bytes
  }

  private func newHolder(_ connection: ClientConnection) -> Holder {
    arrivals += 1
    return Holder(connection: connection, since: arrivals, bytes: 0)
  }

  /// Those whose going leaves half of the bound: so many at once that looking for them costs little for each.
  private func oldest() -> [ClientConnection] {
    var left = total
    var going: [ClientConnection] = []
    for holder in holders.values.sorted(by: { $0.since < $1.since }) {
      guard left > bound / 2 else { break }
      left -= holder.bytes
      going.append(holder.connection)
    }
    return going
  }
}
