// Which responses are worth writing to the disk: all, or those whose key was asked for before. What came by is remembered
// in two filters of fixed size (Bloom, CACM 1970), of which the older is forgotten when the newer is full.

import RegentLoop

/// The decision which keys' responses are stored.
public final class Admission: Sendable {
  fileprivate struct Filter: Sendable {
    var bits = [UInt64](repeating: 0, count: Admission.bits / 64)
    var count = 0
  }
  private struct Seen: Sendable {
    var newer = Filter()
    var older = Filter()

    func contains(_ hash: UInt64) -> Bool { newer.contains(hash) || older.contains(hash) }
  }
  /// The bits of a filter, 128 KiB; with so many keys in it about one in thirty is taken for known that is not.
  static let bits = 1 << 20
  static let keys = 1 << 17

  /// What came by; nil where everything is admitted.
  private let seen: Lock<Seen?>

  private init(_ seen: Seen?) { self.seen = Lock(seen) }

  /// Everything is stored.
  public static var always: Admission { Admission(nil) }
  /// What is asked for a second time is stored, as long as the first time is remembered.
  public static var secondHit: Admission { Admission(Seen()) }

  /// Whether the key came by before.
  func isKnown(_ hash: UInt64) -> Bool {
    seen.withLock { $0?.contains(hash) ?? true }
  }

  /// Whether the key's response is to be stored; it has come by now.
  func admits(_ hash: UInt64) -> Bool {
    seen.withLock { seen in
      guard let isKnown = seen?.contains(hash) else { return true }
      seen?.newer.add(hash)
      if let full = seen?.newer, full.count >= Self.keys { seen = Seen(newer: Filter(), older: full) }
      return isKnown
    }
  }
}

extension Admission.Filter {
  /// Four places of a key, by double hashing (Kirsch and Mitzenmacher, 2006).
  private static func place(_ number: UInt64, _ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: (hash &+ number &* (hash >> 32 | 1)) & UInt64(Admission.bits - 1))
  }

  fileprivate func contains(_ hash: UInt64) -> Bool {
    (0..<4).allSatisfy { number in
      let place = Self.place(UInt64(number), hash)
      return bits[place / 64] >> UInt64(place % 64) & 1 == 1
    }
  }

  fileprivate mutating func add(_ hash: UInt64) {
    guard !contains(hash) else { return }
    for number in 0..<4 {
      let place = Self.place(UInt64(number), hash)
      bits[place / 64] |= 1 << UInt64(place % 64)
    }
    count += 1
  }
}
