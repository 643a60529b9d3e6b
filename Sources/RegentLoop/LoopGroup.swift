// The daemon's loops, each on a thread of its own, and values that belong to one loop each.

import CLibevent
import Glibc
import Synchronization

/// A number of event loops and their threads.
public final class LoopGroup: Sendable {
  public let loops: [EventLoop]
  private let threads = Lock<[pthread_t]>([])
  private static let mostRounds = 64

  /// Makes `count` loops (1 to 1024) and starts their threads.
  public init(count: Int) throws(SystemError) {
    precondition((1...1024).contains(count), "a group has 1 to 1024 loops")
    var loops: [EventLoop] = []
    for index in 0..<count { loops.append(try EventLoop(index: index)) }
    self.loops = loops
    for loop in loops { try start("regent-loop-\(loop.index)") { loop.run() } }
  }

  private func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    let thread = try startThread(name: name, body)
    threads.withLock { $0.append(thread) }
  }

  /// Stops the loops and waits for their threads.
  public func stop() {
    let ending = threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
    // What is handed to a loop that has ended stays there for ever, and keeps the loop.
    guard !ending.isEmpty else { return }
    for loop in loops { loop.stop() }
    for thread in ending { pthread_join(thread, nil) }
    // One's end may be what another one waits for. Bounded, because a task may begin something new each time.
    var rounds = 0
    while rounds < Self.mostRounds, loops.map({ $0.finish() }).contains(true) { rounds += 1 }
  }

  /// How many cores this process may use.
  public static var availableCores: Int {
    max(1, Int(regent_available_cores()))
  }
}

/// Starts a thread that runs `body` to its end.
func startThread(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) -> pthread_t {
  final class Box {
    let name: String
    let body: @Sendable () -> Void
    init(_ name: String, _ body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
  }
  // Unsafe: the box is retained for the thread, which takes it over first of all.
  let box = unsafe Unmanaged.passRetained(Box(name, body))
  var thread = pthread_t()
  let code = unsafe pthread_create(
    &thread, nil,
    { context in
      guard let context = unsafe context else { return nil }
      let box = unsafe Unmanaged<Box>.fromOpaque(context).takeRetainedValue()
      unsafe regent_name_thread(String(box.name.prefix(15)))
      box.body()
      return nil
    }, box.toOpaque())
  guard code == 0 else {
    // Unsafe: no thread came to be that would release it.
    unsafe box.release()
    throw SystemError(call: "pthread_create", code: code)
  }
  return thread
}

/// A value that each loop of a group has one of, reachable from that loop's thread only.
// @unchecked: `value` hands a loop's own value to code on that loop, and to nobody else.
public struct LoopLocal<Value>: @unchecked Sendable {
  @usableFromInline let values: [Value]

  public init(_ group: LoopGroup, _ make: (EventLoop) throws -> Value) rethrows {
    values = try group.loops.map(make)
  }

  /// The value of the loop that runs this.
  @inlinable public var value: Value {
    guard let loop = EventLoop.current else {
      preconditionFailure("a loop's own value was asked for off the loops")
    }
    return values[loop.index]
  }
}

/// A value of a loop's own that a task on that loop may carry.
// @unchecked: whoever unwraps it is on the loop, which is checked.
public struct LoopBound<Value>: @unchecked Sendable {
  @usableFromInline let wrapped: Value
  @usableFromInline let loop: EventLoop

  @inlinable public init(_ value: Value, _ loop: EventLoop) {
    wrapped = value
    self.loop = loop
  }

  @inlinable public var value: Value {
    precondition(loop.isCurrent, "a loop's own value was touched on another thread")
    return wrapped
  }
}
