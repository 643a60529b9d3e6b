// A body on its way to the disk: gathered into pieces of at most 1 MiB, each written as soon as it is full, so that a body
// of any length needs a fixed amount of memory. What is written may be read already; it can be found when it is whole.

public import RegentLoop
import Synchronization

/// The storing of one response while its body arrives. One task writes. Dropping it before ``commit(head:)`` abandons it.
public final class DiskFill: Sendable {
  fileprivate enum End: Sendable { case whole, failed }
  fileprivate struct State: Sendable {
    var gathered: [Slice] = []
    var gatheredBytes = 0
    var total = 0
    /// What was given a place, in order, by the writer.
    var pieces: [DiskPiece] = []
    /// How many bytes of it may be read.
    var written = 0
    var end: End?
    /// The body that is told what may be read.
    weak var stream: BodyStream?
  }
  let core: DiskCore
  private let key: RecordKey
  private let variant: UInt32
  private let mark: RemovalMark
  private let state = Lock<State>(State())

  init(_ core: DiskCore, _ key: RecordKey, variant: UInt32, mark: RemovalMark) {
    (self.core, self.key, self.variant, self.mark) = (core, key, variant, mark)
    core.fills.add(1, ordering: .relaxed)
  }

  deinit { fail() }

  // MARK: Writing

  /// Takes bytes if there is room for them now; after `.abandoned` the response will not be stored.
  public func tryAppend(_ slice: Slice) -> AppendOutcome {
    let (full, outcome) = state.withLock { state -> ([Slice]?, AppendOutcome) in
      guard state.end == nil, state.total + slice.count <= core.options.maxObject else {
        return (nil, .abandoned)
      }
      guard state.gatheredBytes + slice.count > core.options.extentSize else {
        state.gather(slice)
        return (nil, .accepted)
      }
      return (state.gathered, .accepted)
    }
    if outcome == .abandoned { fail() }
    guard let full else { return outcome }
    return send(full, then: slice)
  }

  /// Takes bytes; waits while too much waits to be written.
  public func append(_ slice: Slice) async -> AppendOutcome {
    while true {
      let outcome = tryAppend(slice)
      guard outcome == .full else { return outcome }
      guard await core.queue.room() else {
        fail()
        return .abandoned
      }
    }
  }

  /// Hands over what is gathered, filled up from the slice, and gathers the rest of that.
  private func send(_ gathered: [Slice], then slice: Slice) -> AppendOutcome {
    guard core.isWriting else {
      fail()
      return .abandoned
    }
    var (pieces, rest) = (gathered, slice)
    var room = core.options.extentSize - gathered.reduce(0) { $0 + $1.count }
    while rest.count > room {
      if room > 0 { pieces.append(rest.first(room)) }
      guard offer(pieces) else {
        // Nothing of the slice is taken while nothing was handed over.
        if rest.range == slice.range { return .full }
        fail()
        return .abandoned
      }
      rest = rest.dropping(room)
      (pieces, room) = ([], core.options.extentSize)
      state.withLock { state in (state.gathered, state.gatheredBytes) = ([], 0) }
    }
    let left = rest
    state.withLock { state in
      state.total += slice.count - left.count
      state.gather(left)
    }
    return .accepted
  }

  private func offer(_ slices: [Slice]) -> Bool {
    core.isWriting && core.queue.offer(.extent(self, slices), cost: slices.reduce(256) { $0 + $1.count })
  }

  /// Ends the body, which is whole, and has the response stored; false where it will not be. `done` is told whether it
  /// can be found, once that is so.
  public func commit(head: [UInt8], done: (@Sendable (Bool) -> Void)? = nil) -> Bool {
    let (gathered, isShort) = state.withLock { state -> ([Slice]?, Bool) in
      (state.end == nil ? state.gathered : nil, state.total == state.gatheredBytes)
    }
    guard let gathered, head.count <= DiskFormat.headLimit else {
      fail()
      return false
    }
    var offer = DiskOffer(
      key: key, content: DiskContent(variant: variant, key: key.bytes, head: head), mark: mark, done: done)
    if isShort { offer.content.body = gathered } else { offer.fill = self }
    let isSent = isShort || gathered.isEmpty || self.offer(gathered)
    guard isSent, core.isWriting, core.queue.offer(.store(offer), cost: offer.cost) else {
      core.figures.withLock { $0.refusals += 1 }
      fail()
      return false
    }
    if isShort { end(.whole) }
    return true
  }

  /// Gives the response up; the body that it comes from is told.
  public func fail() { end(.failed) }

  private func end(_ end: End) {
    let (stream, isFirst) = state.withLock { state in
      let isFirst = state.end == nil
      if isFirst { state.end = end }
      return (state.stream, isFirst)
    }
    if isFirst {
      core.fills.subtract(1, ordering: .relaxed)
      if end == .failed { core.figures.withLock { $0.fillsGivenUp += 1 } }
    }
    stream?.spillEnded()
  }

  /// Tells a body from now on how much of it may be read here.
  func follow(_ stream: BodyStream) { state.withLock { $0.stream = stream } }

  /// The length in bytes of what is written at once.
  var extentSize: Int { core.options.extentSize }

  // MARK: The writer's side

  var isFailed: Bool { state.withLock { $0.end == .failed } }
  /// The pieces that were given a place.
  var pieces: [DiskPiece] { state.withLock { $0.pieces } }
  func placed(_ piece: DiskPiece) { state.withLock { $0.pieces.append(piece) } }

  func written(_ piece: DiskPiece, _ segment: DiskSegment) {
    let (part, stream) = state.withLock { state in
      let part = DiskPart(segment: segment, piece: piece, start: state.written)
      state.written = part.end
      return (part, state.stream)
    }
    stream?.stored(part)
  }

  func finished() { end(.whole) }
}

extension DiskFill.State {
  fileprivate mutating func gather(_ slice: Slice) {
    guard slice.count > 0 else { return }
    // A short slice would keep all of its block.
    gathered.append(slice.count < slice.block.capacity / 4 ? Slice(slice.bytes) : slice)
    gatheredBytes += slice.count
    total += slice.count
  }
}

extension Slice {
  func first(_ count: Int) -> Slice { Slice(block, range.lowerBound..<range.lowerBound + count) }
  func dropping(_ count: Int) -> Slice { Slice(block, range.lowerBound + count..<range.upperBound) }
}

extension DiskOffer {
  /// The bytes of memory that it holds on to while it waits.
  var cost: Int {
    512 + key.bytes.count + content.head.count + content.body.reduce(0) { $0 + $1.count }
  }
}
