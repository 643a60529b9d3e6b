// A body that is also written to the disk while it arrives: what lies there already need not stay in memory for slow readers,
// who read it from there. So the writer waits for the disk, and for no reader; and a reader who comes late finds the beginning.

import RegentLoop

/// What of a body is on the disk.
///
/// While it grows, whatever is not on the disk stays in memory, and of the rest as much as there is room for: a reader
/// who keeps up never touches the disk. So a body takes at most `window` and two slices of memory, and a note of each extent,
/// however long it is and however slow its readers are.
struct BodyExtents: Sendable {
  let core: DiskCore
  /// How many bytes may be in memory before those that are on the disk are dropped, and how many may wait for the disk.
  let window: Int
  /// The place among the readers of the one that brings the bytes there; nil once it has left.
  var reader: Int?
  /// Whether more is to come.
  var isOpen = true
  /// All but the last are equally long.
  private(set) var parts: [DiskPart] = []
  /// How far the writer was a while ago.
  var pace: Int?

  init(_ core: DiskCore, window: Int, reader: Int) {
    (self.core, self.window, self.reader) = (core, window, reader)
  }

  /// All bytes before it are on the disk.
  var end: Int { parts.last?.end ?? 0 }

  mutating func append(_ part: DiskPart) { parts.append(part) }

  /// The extent that has the byte.
  func part(at position: Int) -> DiskPart? {
    guard let first = parts.first, first.piece.count > 0 else { return nil }
    let index = position / first.piece.count
    return index < parts.count && position < parts[index].end ? parts[index] : nil
  }

  // MARK: Rules

  /// Once nothing more goes to the disk, the slowest reader of what is not there holds the writer back.
  func hasRoom(_ body: BodyState) -> Bool {
    isOpen ? body.chunks.end - end < window : body.chunks.end - max(body.read, end) < body.window
  }

  /// Whether something is to be dropped before more is appended.
  func isFull(_ body: BodyState) -> Bool { isOpen && body.chunks.end - body.chunks.start >= window }

  /// Where what must stay in memory begins, if all have read up to `read`.
  func needed(_ body: BodyState, read: Int) -> Int {
    guard isOpen else { return max(read, min(end, body.chunks.end - body.window)) }
    // Half of the window at once, so that a reader who is left behind reads from the disk for a while.
    return min(end, isFull(body) ? max(read, body.chunks.end - window / 2) : read)
  }
}

/// A stretch of a body that a reader finds on the disk.
struct BodyStretch: Sendable {
  let part: DiskPart
  /// Where it ends at the latest: from there on the bytes are in memory.
  let end: Int
  let core: DiskCore
}

extension BodyState {
  /// The body is to be written to the disk as well; the place of the reader that does so, nil when it is too late.
  mutating func spill(to core: DiskCore, window: Int) -> BodyStep<Int?> {
    guard extents == nil, end == .open || end == .finished, let reader = addReader() else {
      return BodyStep(nil)
    }
    extents = BodyExtents(core, window: max(self.window, window), reader: reader)
    return BodyStep(reader, dropRead())
  }

  /// More of it is on the disk.
  mutating func stored(_ part: DiskPart) -> Wakes {
    guard extents?.isOpen == true, part.start == extents?.end else { return Wakes() }
    self.extents?.append(part)
    return dropRead()
  }

  /// No more of it will be brought to the disk: all of it is there, or there is trouble. What is there can be read.
  mutating func spillEnded() -> Wakes {
    guard let extents, extents.isOpen else { return Wakes() }
    self.extents?.isOpen = false
    var wakes = Wakes()
    if let reader = extents.reader {
      // Who brought it there has nothing more to do, and must hold nobody back.
      readers.leaveBehind(reader)
      if let waiting = readers.cancel(reader) { wakes.wake(waiting) }
    }
    wakes.add(dropRead())
    return wakes
  }

  /// A while has passed. A disk that has not even come to where the writer was a while ago, while that waits for it, holds
  /// everybody up: the body goes on without it.
  mutating func diskPassed() -> Wakes {
    guard let extents, extents.isOpen, end == .open else { return Wakes() }
    self.extents?.pace = chunks.end
    guard !isKept, writer != nil, let pace = extents.pace, extents.end < pace else { return Wakes() }
    return spillEnded()
  }

  /// A reader got bytes from the disk.
  mutating func readStored(_ reader: Int, to position: Int) -> Wakes {
    guard !readers.isBehind(reader) else { return Wakes() }
    readers.move(reader, to: position)
    return dropRead()
  }

  /// What a reader finds who is before all that is in memory.
  func stored(at position: Int) -> Taken {
    // Nothing is dropped that a reader needs, unless it is there.
    guard let extents, let part = extents.part(at: position) else { return .failed(.aborted) }
    return .stored(BodyStretch(part: part, end: min(part.end, chunks.start), core: extents.core))
  }
}
