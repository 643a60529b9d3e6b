// One thread for work that may block and must stay in order: the disk store's writer.

import CLibevent
import Glibc
import Synchronization

/// A thread that works whenever it is woken, and at the times that it asks for.
// @unchecked: the flags are guarded by `mutex`; the pointers never change.
@safe public final class WorkerThread: @unchecked Sendable {
  // Unsafe: made in init and freed in deinit, which comes after the thread's end.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var isWoken = true
  private var isStopping = false
  private var thread: pthread_t?

  /// Starts the thread. `work` gets the clocks, and returns the monotonic time in nanoseconds at which it wants to
  /// be called again at the latest.
  public init(name: String, work: @escaping @Sendable (LoopClock) -> Int64) throws(SystemError) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    // Unsafe: initialises locals and what this object owns.
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    thread = try startThread(name: name) {
      var deadline = Int64.max
      while self.wait(until: deadline) { deadline = work(.read()) }
    }
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe mutex.deallocate()
    unsafe condition.deallocate()
  }

  /// Has the work done soon.
  public func wake() {
    unsafe pthread_mutex_lock(mutex)
    let first = !isWoken
    isWoken = true
    unsafe pthread_mutex_unlock(mutex)
    if first { unsafe pthread_cond_signal(condition) }
  }

  /// Ends the thread after the work that it does now, and waits for that.
  public func stop() {
    unsafe pthread_mutex_lock(mutex)
    isStopping = true
    let ending = thread
    thread = nil
    unsafe pthread_mutex_unlock(mutex)
    unsafe pthread_cond_signal(condition)
    if let ending { pthread_join(ending, nil) }
  }

  /// Waits to be woken, or for the time; false when it is to end.
  private func wait(until deadline: Int64) -> Bool {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
    while !isWoken && !isStopping {
      // Unsafe: waits with the mutex held, as it must be.
      if unsafe pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { break }
    }
    isWoken = false
    return !isStopping
  }
}
