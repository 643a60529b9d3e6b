// One reader of a body. While the body grows it is listed with the body, so that nothing it needs is dropped; once the
// body is whole and kept it reads from a copy of the list of chunks, without the body's lock. What was dropped because it is
// on the disk is read from there, until the reader is back where memory begins.

public import RegentLoop

/// A reader of a body, from its first byte on. One task reads at a time.
public final class BodyReader: Sendable {
  enum Start {
    case live(Int)
    case settled(BodyChunks)
  }

  private struct Place: Sendable {
    var cursor = BodyCursor()
    var source: Source
    /// A reader of the extent that was read last.
    var disk: (part: DiskPart, reader: DiskBodyReader, position: Int)?
  }
  private enum Source: Sendable {
    case live(Int)
    case settled(BodyChunks)
    case left
  }

  /// The body that is read.
  public let stream: BodyStream
  // Guards the place; contended only if two tasks read at once, which they must not, or one leaves meanwhile.
  private let place: Lock<Place>

  init(_ stream: BodyStream, _ start: Start) {
    self.stream = stream
    switch start {
    case .live(let index): place = Lock(Place(source: .live(index)))
    case .settled(let chunks): place = Lock(Place(source: .settled(chunks)))
    }
  }

  deinit { leave() }

  /// The bytes read so far.
  public var position: Int { place.withLock { $0.cursor.position } }

  /// The next bytes, at least one and at most `bytes`, in at most `maxSlices` slices; nil at the proven end.
  ///
  /// Waits while there is nothing. Throws the writer's failure after all bytes before it were read, and
  /// `.cancelled` when the waiting task is cancelled.
  public func next(
    upTo bytes: Int = .max, maxSlices: Int = 16
  ) async throws(BodyFailure) -> [Slice]? {
    while true {
      switch look(bytes, maxSlices) {
      case .slices(let slices): return slices
      case .stored(let stretch): return [try await read(stretch, bytes)]
      case .end: return nil
      case .failed(let failure): throw failure
      case .none: guard await waitForBytes() else { throw .cancelled }
      }
    }
  }

  /// What can be had without waiting; nothing where it is on the disk.
  public func available(
    upTo bytes: Int = .max, maxSlices: Int = 16
  ) throws(BodyFailure) -> BodyBytes {
    switch look(bytes, maxSlices) {
    case .slices(let slices): return .slices(slices)
    case .end: return .end
    case .none, .stored: return .none
    case .failed(let failure): throw failure
    }
  }

  private func look(_ bytes: Int, _ maxSlices: Int) -> BodyState.Taken {
    let step = place.withLock { place in
      switch place.source {
      case .left: BodyStep<BodyState.Taken>(.failed(.cancelled))
      case .settled(let chunks): BodyStep(BodyReader.take(from: chunks, &place.cursor, bytes, maxSlices))
      case .live(let reader): takeLive(reader, &place, bytes, maxSlices)
      }
    }
    step.wakes.resume()
    return step.result
  }

  /// Ends the reading; the body no longer waits for this reader.
  public func leave() {
    let index = place.withLock { place -> Int? in
      defer { (place.source, place.disk) = (.left, nil) }
      if case .live(let index) = place.source { return index } else { return nil }
    }
    guard let index else { return }
    let (wakes, waiting) = stream.state.withLock { state in
      let waiting = state.readers.cancel(index)
      return (state.removeReader(index), waiting)
    }
    wakes.resume()
    waiting?.resume(false)
  }

  private static func take(
    from chunks: BodyChunks, _ cursor: inout BodyCursor, _ bytes: Int, _ maxSlices: Int
  ) -> BodyState.Taken {
    let slices = chunks.take(&cursor, upTo: bytes, maxSlices: maxSlices)
    return slices.isEmpty ? .end : .slices(slices)
  }

  private func takeLive(
    _ reader: Int, _ place: inout Place, _ bytes: Int, _ maxSlices: Int
  ) -> BodyStep<BodyState.Taken> {
    stream.state.withLock { state in
      guard state.isSettled else {
        return state.take(reader, &place.cursor, upTo: bytes, maxSlices: maxSlices)
      }
      place.source = .settled(state.chunks)
      let taken = BodyReader.take(from: state.chunks, &place.cursor, bytes, maxSlices)
      return BodyStep(taken, state.removeReader(reader))
    }
  }

  /// Reads from the disk, up to the end of a block: only whole blocks can be verified, and a reader holds one at a time.
  private func read(_ stretch: BodyStretch, _ limit: Int) async throws(BodyFailure) -> Slice {
    let (position, reader) = place.withLock { place in
      let position = place.cursor.position
      if let disk = place.disk, disk.position == position, position < disk.part.end {
        return (position, disk.reader)
      }
      let range = position..<stretch.part.end
      let reader = DiskBodyReader(.part(stretch.part, stretch.core), range)
      place.disk = (stretch.part, reader, position)
      return (position, reader)
    }
    let block = DiskFormat.block - (position - stretch.part.start) % DiskFormat.block
    guard let slice = try await reader.next(upTo: max(1, min(limit, block, stretch.end - position))) else {
      throw .aborted
    }
    try move(by: slice.count)
    return slice
  }

  private func move(by count: Int) throws(BodyFailure) {
    let wakes = place.withLock { place -> Wakes? in
      // It may have left meanwhile.
      guard case .live(let index) = place.source else { return nil }
      place.cursor.position += count
      place.disk?.position += count
      let position = place.cursor.position
      if let part = place.disk?.part, position >= part.end { place.disk = nil }
      return stream.state.withLock { $0.readStored(index, to: position) }
    }
    guard let wakes else { throw .cancelled }
    wakes.resume()
  }

  private func waitForBytes() async -> Bool {
    let (index, position) = place.withLock { place -> (Int?, Int) in
      if case .live(let index) = place.source { return (index, place.cursor.position) }
      return (nil, 0)
    }
    guard let index else { return true }
    return await stream.waitForBytes(index, at: position)
  }
}

/// The writing end of a body, for one task: dropping it before ``finish()`` fails the body.
public final class BodyWriter: Sendable {
  /// The body that is written.
  public let stream: BodyStream

  init(_ stream: BodyStream) { self.stream = stream }

  // Ending a body that has ended already does nothing.
  deinit { stream.fail(.aborted) }

  public func tryAppend(_ slice: Slice) -> AppendOutcome { stream.tryAppend(slice) }
  public func append(_ slice: Slice) async -> AppendOutcome { await stream.append(slice) }
  /// Whether somebody reads or keeps what is written, or may still come to do so.
  public var isWanted: Bool { stream.state.withLock { !$0.isAbandoned } }

  public func finish() { stream.finish() }
  public func refute() { stream.refute() }
  public func fail(_ failure: BodyFailure) { stream.fail(failure) }
}
