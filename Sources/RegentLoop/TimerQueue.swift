// A loop's timers: a binary heap of deadlines, of which libevent is told the earliest only.
// A stream's entry is looked at when it is due and put back if the stream's deadline has moved since; so a busy
// connection that pushes its deadline back with every request costs the heap nothing.

/// Who is told when a deadline has come: a sleeping task, or a stream by its slot.
enum TimerTarget: Equatable {
  case sleeper(UInt64)
  case stream(SlotID)
}

struct TimerQueue {
  struct Entry {
    let deadline: Int64
    // A sleeper's number, or a slot with the highest bit set.
    fileprivate let name: UInt64

    var target: TimerTarget {
      let isStream = name & Self.streamBit != 0
      return isStream ? .stream(SlotID(bits: UInt(name & ~Self.streamBit))) : .sleeper(name)
    }

    fileprivate static let streamBit: UInt64 = 1 << 63
  }

  private var heap: [Entry] = []

  /// The earliest deadline, in nanoseconds of the loop's clock.
  var next: Int64? { heap.first?.deadline }
  var count: Int { heap.count }

  mutating func add(_ deadline: Int64, _ target: TimerTarget) {
    let name =
      switch target {
      case .sleeper(let number): number & ~Entry.streamBit
      case .stream(let slot): UInt64(slot.bits) | Entry.streamBit
      }
    heap.append(Entry(deadline: deadline, name: name))
    siftUp(heap.count - 1)
  }

  /// Takes out the earliest entry whose deadline has come.
  mutating func popDue(_ now: Int64) -> Entry? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    remove(at: 0)
    return first
  }

  /// Takes out a sleeper before its time. Linear: cancelled sleeps are rare.
  mutating func remove(sleeper: UInt64) {
    if let index = heap.firstIndex(where: { $0.name == sleeper }) { remove(at: index) }
  }

  private mutating func remove(at index: Int) {
    heap.swapAt(index, heap.count - 1)
    heap.removeLast()
    guard index < heap.count else { return }
    siftDown(index)
    siftUp(index)
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
      var child = 2 * parent + 1
      guard child < heap.count else { return }
      if child + 1 < heap.count, heap[child + 1].deadline < heap[child].deadline { child += 1 }
      guard heap[child].deadline < heap[parent].deadline else { return }
      heap.swapAt(parent, child)
      parent = child
    }
  }
}
