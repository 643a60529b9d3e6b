// Threads for work that may block: name resolution, files. The loops hand work over and go on.

import Glibc
import Synchronization

/// A fixed number of threads that run blocking work, oldest first.
// @unchecked: the queue is guarded by `mutex`; the pointers never change.
@safe public final class BlockingPool: @unchecked Sendable {
  // Unsafe: made in init; the threads live as long as the process, and so does the pool.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var queue: [@Sendable () -> Void] = []
  private let bound: Int
  public let threads: Int

  /// `threads` threads; at most `bound` pieces of work may wait.
  public init(name: String, threads: Int, bound: Int = 10_000) throws(SystemError) {
    (self.bound, self.threads) = (bound, threads)
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(condition, nil)
    for number in 0..<threads {
      let thread = try startThread(name: "\(name)-\(number)") { self.work() }
      pthread_detach(thread)
    }
  }

  /// Runs `work` on one of the threads; nil when too much waits already.
  public func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result? {
    // Unsafe continuation: resumed once, by the thread that ran the work or by the refusal.
    await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Result?, Never>) in
      let accepted = submit { unsafe continuation.resume(returning: work()) }
      if !accepted { unsafe continuation.resume(returning: nil) }
    }
  }

  /// Has `work` run on one of the threads; false, and it is not run, when too much waits already.
  public func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    guard queue.count < bound else { return false }
    queue.append(work)
    unsafe pthread_cond_signal(condition)
    return true
  }

  private func work() {
    while true {
      unsafe pthread_mutex_lock(mutex)
      while queue.isEmpty { unsafe pthread_cond_wait(condition, mutex) }
      let next = queue.removeFirst()
      unsafe pthread_mutex_unlock(mutex)
      next()
    }
  }
}
