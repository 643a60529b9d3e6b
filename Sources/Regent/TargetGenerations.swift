// How often targets were invalidated, for keys that hold more than the target: an unsafe request does not know all of
// those, so it makes them all unfindable instead (RFC 9111 section 4.4). With a disk cache the counts outlast restarts,
// or else what was invalidated would be found again.

import RegentLoop
import RegentStorage

/// A count for each target, of all domains; several targets may share one: then one loses what is stored for it with the
/// other.
final class TargetGenerations: Sendable {
  private struct State: Sendable {
    /// Begins at random: keys of an earlier start are not found unless its counts are taken over.
    var counts: [UInt32]
    var isRestored = false
    /// What was invalidated before they were.
    var early: [Int] = []
  }
  private static let places = 1024
  static let memo = "generations"
  private let state: Lock<State>

  init() {
    let base = UInt32.random(in: .min ... .max)
    state = Lock(State(counts: Array(repeating: base, count: Self.places)))
  }

  /// Those that a directory keeps; nil for bytes that are none.
  init?(kept bytes: [UInt8]) {
    guard let counts = Self.counts(bytes) else { return nil }
    state = Lock(State(counts: counts, isRestored: true))
  }

  /// What tells the target's keys from those before its last invalidation.
  func current(of target: [UInt8]) -> [UInt8] {
    let count = state.withLock { $0.counts[Self.place(target)] }
    return Self.bytes(count)
  }

  func invalidate(_ target: [UInt8]) {
    let place = Self.place(target)
    state.withLock { state in
      state.counts[place] &+= 1
      guard !state.isRestored else { return }
      // So many that what an earlier start left may as well be forgotten.
      if state.early.count < Self.places { state.early.append(place) } else { state.isRestored = true }
    }
  }

  // MARK: On the disk

  /// Takes over what an earlier start left, once the store knows it; and leaves what counts from now on. True when that
  /// is done.
  func restore(from store: DiskStore) -> Bool {
    if state.withLock({ $0.isRestored }) { return true }
    guard store.isOpen else { return false }
    let kept = store.memo(Self.memo).flatMap { Self.counts($0) }
    let isFirst = state.withLock { state in
      defer { state.isRestored = true }
      guard !state.isRestored else { return false }
      if let kept {
        state.counts = kept
        for place in state.early { state.counts[place] &+= 1 }
      }
      state.early = []
      return true
    }
    if isFirst { keep(in: store) }
    return true
  }

  /// Has the counts kept; durable when the store's removals are. What is not restored yet is nowhere on the disk.
  func keep(in store: DiskStore) {
    let counts = state.withLock { $0.isRestored ? $0.counts : nil }
    if let counts { store.setMemo(Self.memo, counts.flatMap(Self.bytes)) }
  }

  private static func bytes(_ count: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * UInt32($0))) }
  }

  private static func counts(_ bytes: [UInt8]) -> [UInt32]? {
    guard bytes.count == 4 * places else { return nil }
    return (0..<places).map { place in
      (0..<4).reduce(0) { $0 | UInt32(bytes[4 * place + $1]) << (8 * UInt32($1)) }
    }
  }

  /// The place must be the same at the next start, so it is not by the process's own hash.
  private static func place(_ target: [UInt8]) -> Int { Int(CRC32C.of(target.span)) & (places - 1) }
}
