// A loop's timers: a binary heap of deadlines, of which libevent is told the earliest only.
// A stream's entry is looked at when it is due and put back if the stream's deadline has moved since; so a busy
// connection that pushes its deadline back with every request costs the heap nothing.

import Synchronization

/// The name of one sleep.
struct TimerID: Hashable, Sendable {
  private static let last = Atomic<UInt64>(0)
  private let number = TimerID.last.wrappingAdd(1, ordering: .relaxed).newValue
}

@safe enum TimerTarget {
  // Unsafe continuation: whoever takes the entry out of the queue resumes it, once.
  case sleeper(TimerID, UnsafeContinuation<Void, Never>)
  case stream(SlotID)
}

struct TimerQueue {
  struct Entry {
    let deadline: Int64
    let target: TimerTarget
  }

  private var heap: [Entry] = []

  /// The earliest deadline, in nanoseconds of the loop's clock.
  var next: Int64? { heap.first?.deadline }
  var count: Int { heap.count }

  mutating func add(_ deadline: Int64, _ target: TimerTarget) {
    heap.append(Entry(deadline: deadline, target: target))
    siftUp(heap.count - 1)
  }

  /// Takes out the earliest entry whose deadline has come.
  mutating func popDue(_ now: Int64) -> Entry? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    remove(at: 0)
    return first
  }

  /// Takes out a sleeper before its time. Linear: cancelled sleeps are rare.
  mutating func takeSleeper(_ id: TimerID) -> UnsafeContinuation<Void, Never>? {
    for index in heap.indices {
      if case .sleeper(id, let continuation) = heap[index].target {
        remove(at: index)
        // Unsafe continuation: it has left the heap, so that the caller alone resumes it.
        return unsafe continuation
      }
    }
    return nil
  }

  private mutating func remove(at index: Int) {
    heap.swapAt(index, heap.count - 1)
    heap.removeLast()
    if index < heap.count {
      siftDown(index)
      siftUp(index)
    }
  }

  private mutating func siftUp(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].deadline < heap[parent].deadline else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func siftDown(_ start: Int) {
    var parent = start
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if heap[child].deadline < heap[least].deadline { least = child }
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
