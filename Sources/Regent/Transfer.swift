// The transfers that are under way: contents that prove large or slow, with how far they are. What is small and fast is
// never listed. Written by the loop of the transfer, read by whoever asks for /stats.

import RegentHTTP
import RegentLoop

/// A message's content on its way to a client or an origin.
final class Transfer: Sendable {
  enum Direction: String, Sendable { case download, upload }

  private enum Listing: Int { case none, listed, refused }

  let direction: Direction
  /// The length in bytes, where it is known.
  let total: Int?
  /// Monotonic nanoseconds.
  let started: Int64
  private let routed: RoutedHead
  private let list: Transfers
  private let loop: EventLoop
  private let bytes = Counter()
  private let listing = Counter()
  // The last full second: where it began, how much had moved then, and what moved in it.
  private let markTime = Counter()
  private let markBytes = Counter()
  private let lastRate = Counter()

  /// Smaller ones are listed only once they wait.
  static let large = 1 << 20

  init(_ direction: Direction, _ request: Request, total: Int?, on loop: EventLoop) {
    self.direction = direction
    self.total = total
    self.loop = loop
    routed = request.routed
    list = request.meters.transfers
    started = loop.clock.now
    markTime.set(Int(started))
  }

  /// So many more bytes were handed on.
  func moved(_ count: Int) {
    bytes.add(count)
    if listing.count == Listing.none.rawValue, bytes.count >= Self.large { enlist() }
    let passed = Int(loop.clock.now) - markTime.count
    guard passed >= 1_000_000_000 else { return }
    lastRate.set(Int(Double(bytes.count - markBytes.count) * 1e9 / Double(passed)))
    markBytes.set(bytes.count)
    markTime.add(passed)
  }

  /// It cannot go on now: nobody knows for how long.
  func waits() {
    if listing.count == Listing.none.rawValue { enlist() }
  }

  func end() {
    guard listing.count == Listing.listed.rawValue else { return }
    listing.set(Listing.none.rawValue)
    list.remove(self)
  }

  private func enlist() {
    listing.set(list.add(self) ? Listing.listed.rawValue : Listing.refused.rawValue)
  }

  /// What there is to say of it; nil while it is neither large nor old.
  func progress(now: Int64) -> Progress? {
    let age = now - started
    let moved = bytes.count
    guard moved >= Self.large || age >= 1_000_000_000 else { return nil }
    // A transfer that stands still has moved nothing since its last full second began.
    let sinceMark = now - Int64(markTime.count)
    let recent = Int(Double(moved - markBytes.count) * 1e9 / Double(max(1, sinceMark)))
    let path = routed.head.fields.bytes[routed.path]
    return Progress(
      domain: routed.domain.name, path: path.isEmpty ? "/" : String(decoding: path, as: UTF8.self),
      direction: direction, bytes: moved, total: total,
      rate: sinceMark >= 1_000_000_000 || lastRate.count == 0 ? recent : lastRate.count, age: age)
  }

  /// How far a transfer is.
  struct Progress: Equatable {
    let domain: String
    /// Without the query, in which secrets are often written.
    let path: String
    let direction: Direction
    let bytes: Int
    let total: Int?
    /// Bytes in a second, of late.
    let rate: Int
    /// Nanoseconds.
    let age: Int64

    /// The part that is done, in thousandths; nil where the whole is not known.
    var thousandths: Int? {
      total.map { $0 > 0 ? min(1000, Int(Double(bytes) / Double($0) * 1000)) : 1000 }
    }
  }
}

/// The transfers of one loop that are listed: a bounded number.
final class Transfers: Sendable {
  /// How many are listed at most; the others go on all the same.
  private let bound: Int

  /// How many found no place in the list.
  let unlisted = Counter()
  // Guards the list: loops change it, whoever asks for /stats reads it. Held for one step each time.
  private let listed = Lock<[ObjectIdentifier: Transfer]>([:])

  init(bound: Int) { self.bound = bound }

  func add(_ transfer: Transfer) -> Bool {
    let isListed = listed.withLock { listed in
      guard listed.count < bound else { return false }
      listed[ObjectIdentifier(transfer)] = transfer
      return true
    }
    if !isListed { unlisted.add(1) }
    return isListed
  }

  func remove(_ transfer: Transfer) {
    listed.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(transfer)) }
  }

  /// What there is to say of those that are large or old, the oldest first.
  func progress(now: Int64) -> [Transfer.Progress] {
    listed.withLock { Array($0.values) }.compactMap { $0.progress(now: now) }.sorted { $0.age > $1.age }
  }
}
