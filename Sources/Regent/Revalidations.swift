// Which keys are being revalidated behind a stale answer: at most one revalidation for each, over all loops.

import RegentStorage
import Synchronization

/// The keys whose revalidation is in the air, bounded.
final class Revalidations: Sendable {
  static let bound = 1024
  private let keys = Mutex<Set<RecordKey>>([])

  /// Whether the caller is to revalidate the key; then it owes an ``end(_:)``.
  func begin(_ key: RecordKey) -> Bool {
    keys.withLock { $0.count < Self.bound && $0.insert(key).inserted }
  }

  func end(_ key: RecordKey) {
    _ = keys.withLock { $0.remove(key) }
  }
}
