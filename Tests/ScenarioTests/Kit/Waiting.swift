// Waiting without sleeping for a guessed time: for a condition, for a gate, for threads. All of it ends at the
// kit's patience, so that a hang is a failed test and never a stuck run.

import Foundation

/// Waits until `condition` holds; false when the patience has run out.
func eventually(within seconds: Int = patience, _ condition: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + .seconds(seconds)
  let pause = DispatchSemaphore(value: 0)
  while ContinuousClock.now < end {
    if try condition() { return true }
    _ = pause.wait(timeout: .now() + .milliseconds(2))
  }
  return try condition()
}

/// A door that one thread opens and others wait at.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func open() { semaphore.signal() }

  /// Waits until it is open and leaves it open for the next one.
  func wait(seconds: Int = patience) throws {
    guard semaphore.wait(timeout: .now() + .seconds(seconds)) == .success else { throw SocketError.timeout }
    semaphore.signal()
  }
}

/// A value that several threads share.
// @unchecked: `guarded` is touched under `lock` alone. Not a Mutex: ThreadSanitizer does not see what it orders.
final class Shared<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var guarded: Value

  init(_ value: Value) { guarded = value }

  var value: Value { update { $0 } }

  @discardableResult
  func update<Result>(_ change: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try change(&guarded)
  }
}

extension Shared where Value == Int {
  @discardableResult
  func increment(by amount: Int = 1) -> Int {
    update {
      $0 += amount
      return $0
    }
  }
}

/// Starts a thread; `finish` waits for it and throws what it threw.
final class Worker: Sendable {
  private let done = Gate()
  private let failure = Shared<(any Error)?>(nil)

  init(_ body: @escaping @Sendable () throws -> Void) {
    let thread = Thread { [done, failure] in
      do { try body() } catch { failure.update { $0 = error } }
      done.open()
    }
    thread.stackSize = 1 << 20
    thread.start()
  }

  /// Waits for its end, longer than for a single step.
  func finish() throws {
    try done.wait(seconds: 6 * patience)
    if let error = failure.value { throw error }
  }
}

/// Runs `body` on so many threads at once and throws the first error of any.
func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
  let workers = (0..<count).map { index in Worker { try body(index) } }
  var first: (any Error)?
  for worker in workers {
    do { try worker.finish() } catch { first = first ?? error }
  }
  if let first { throw first }
}
