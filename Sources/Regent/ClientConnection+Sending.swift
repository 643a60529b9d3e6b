// Sending what the buffer holds, and the bodies that do not go through it: from memory, as they arrive, put together from
// others, or from the disk. What the kernel takes at once costs no suspension.

import RegentConfig
import RegentHTTP
import RegentLoop
import RegentStorage

extension ClientConnection {
  /// How many slices a write takes.
  private static let mostSlices = 60
  /// How much of a file is sent before other connections have their turn.
  private static let turn = 4 << 20

  /// What is still to be sent of a response whose head is in the buffer.
  enum Rest {
    case nothing
    case slice(Slice)
    /// Nil where the beginning of a body that arrives was dropped already.
    case stream(BodyReader?, chunked: Bool)
    case pieces(OpenPieces?)
    /// On the disk, but for what was sent already.
    case file(DiskRecord, sent: Int)
    case tunnel(Tunnel)
  }

  /// Sends what lies ready in the page cache, behind what is written, without waiting: nearly always the kernel takes all of
  /// it. What is left to send, if anything is.
  func sendAtOnce(
    _ rest: Rest, of request: Request, _ writer: inout MessageWriter, _ timing: inout Timing
  ) -> Rest? {
    switch rest {
    case .nothing: return nil
    case .slice, .stream, .pieces, .tunnel: return rest
    case .file(let record, _):
      guard stream.sendsFiles, record.bodyCount < Transfer.large, let part = record.wholeFile else {
        return rest
      }
      if let head = sendAtOnce(&writer, &timing, isFollowed: true) {
        writer.bytes.removeFirst(head)
        return rest
      }
      // None where it was looked at too long ago: then it is looked at again.
      let sent = stream.writeAtOnce(part)
      countSent(sent, timing)
      record.sent(sent)
      if sent == part.count { return nil }
      timing.transfer = Transfer(.download, request, total: record.bodyCount, on: loop)
      timing.transfer?.moved(sent)
      return .file(record, sent: sent)
    }
  }

  /// Sends what is left of a response, waiting for the client where it takes its time.
  func send(
    _ rest: Rest, of request: Request, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws {
    switch rest {
    case .nothing, .tunnel: return
    case .slice(let slice) where slice.count < Transfer.large:
      countSent(slice.count, timing)
      try await flush(&writer, &timing, [slice])
    case .slice(let slice):
      timing.transfer = Transfer(.download, request, total: slice.count, on: loop)
      try await send(slice, &writer, &timing)
    case .stream(let reader, let chunked):
      timing.transfer = Transfer(.download, request, total: reader?.stream.expected, on: loop)
      try await send(reader, chunked, &writer, &timing)
    case .pieces(let pieces):
      timing.transfer = Transfer(.download, request, total: pieces?.count, on: loop)
      try await send(pieces, &writer, &timing)
    case .file(let record, let sent):
      let total = record.bodyCount
      if total >= Transfer.large { timing.transfer = Transfer(.download, request, total: total, on: loop) }
      try await send(record.makeReader(from: sent), of: request, total: total, &writer, &timing)
    }
    timing.transfer?.end()
    timing.transfer = nil
  }

  /// Sends a large slice in steps, so that somebody can see how far it is.
  private func send(_ slice: Slice, _ writer: inout MessageWriter, _ timing: inout Timing) async throws {
    for start in stride(from: slice.range.lowerBound, to: slice.range.upperBound, by: Transfer.large) {
      let end = min(start + Transfer.large, slice.range.upperBound)
      countSent(end - start, timing)
      try await flush(&writer, &timing, [Slice(slice.block, start..<end)])
    }
  }

  /// Sends a body as it arrives. An early end throws, so that the connection breaks instead of ending cleanly.
  private func send(
    _ reader: BodyReader?, _ chunked: Bool, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws {
    guard let reader else { throw BodyFailure.aborted }
    defer { reader.leave() }
    while let slices = try await nextSlices(reader, &writer, &timing) {
      let count = slices.reduce(0) { $0 + $1.count }
      countSent(count, timing)
      if chunked {
        writer.chunkHeader(count)
        try await flush(&writer, &timing, slices)
        writer.chunkEnd()
      } else {
        try await flush(&writer, &timing, slices)
      }
    }
    if chunked { writer.lastChunk() }
  }

  /// The next bytes of a body; what is written already leaves before there is a wait.
  private func nextSlices(
    _ reader: BodyReader, upTo limit: Int = 4 << 20, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws -> [Slice]? {
    switch try reader.available(upTo: limit, maxSlices: Self.mostSlices) {
    case .slices(let slices): return slices
    case .end: return nil
    case .none:
      try await flush(&writer, &timing)
      timing.transfer?.waits()
      return try await reader.next(upTo: limit, maxSlices: Self.mostSlices)
    }
  }

  /// Sends a body that is put together from others.
  private func send(
    _ body: OpenPieces?, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws {
    guard let body else { throw BodyFailure.aborted }
    var slices: [Slice] = []
    for piece in body.pieces {
      switch piece {
      case .slice(let slice): slices.append(slice)
      case .file(let reader):
        try await send(slices, &writer, &timing)
        slices = []
        try await send(reader, &writer, &timing)
      case .reader(let reader, let range):
        try await send(slices, &writer, &timing)
        slices = []
        try await send(range, of: reader, &writer, &timing)
      }
      guard slices.count == Self.mostSlices else { continue }
      try await send(slices, &writer, &timing)
      slices = []
    }
    try await send(slices, &writer, &timing)
  }

  /// Sends some offsets of a body; what lies before them is passed over as it arrives.
  private func send(
    _ range: Range<Int>, of reader: BodyReader, _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws {
    while reader.position < range.upperBound {
      let isWanted = reader.position >= range.lowerBound
      let left = (isWanted ? range.upperBound : range.lowerBound) - reader.position
      guard let slices = try await nextSlices(reader, upTo: min(left, 4 << 20), &writer, &timing) else {
        throw BodyFailure.aborted
      }
      if isWanted { try await send(slices, &writer, &timing) }
    }
  }

  /// Sends what a reader has of a body on the disk. A short one that comes with its request is listed as a transfer once it waits.
  private func send(
    _ reader: DiskBodyReader, of request: Request? = nil, total: Int? = nil, _ writer: inout MessageWriter,
    _ timing: inout Timing
  ) async throws {
    var turn = 0
    while let bytes = try await stream.sendsFiles ? reader.nextOrFile() : reader.next().map(DiskBytes.slice) {
      switch bytes {
      case .slice(let slice):
        // It was read, or is encrypted: that is slow enough.
        timing.transfer = timing.transfer ?? request.map { Transfer(.download, $0, total: total, on: loop) }
        countSent(slice.count, timing)
        try await flush(&writer, &timing, [slice])
      case .file(let part):
        try await flush(&writer, &timing, isFollowed: true)
        // What was looked at too long ago is looked at again, and read by the pool if it would have to be waited for.
        var sent = stream.writeAtOnce(part)
        if sent < part.count {
          timing.transfer = timing.transfer ?? request.map { Transfer(.download, $0, total: total, on: loop) }
          timing.transfer?.waits()
          sent = try await stream.write(part, from: sent, stall: server.timeouts.writeStall)
        }
        countSent(sent, timing)
        timing.transfer?.moved(sent)
        reader.sent(sent, of: part)
        turn += sent
      }
      guard turn >= Self.turn else { continue }
      turn = 0
      await loop.yieldTurn()
    }
  }

  /// Sends slices behind what is written already; short ones are written too, and leave with what follows.
  private func send(
    _ slices: [Slice], _ writer: inout MessageWriter, _ timing: inout Timing
  ) async throws {
    let count = slices.reduce(0) { $0 + $1.count }
    guard count > 0 else { return }
    countSent(count, timing)
    guard writer.bytes.count + count > Self.copiedBody else {
      for slice in slices { slice.copy(onto: &writer.bytes) }
      return
    }
    try await flush(&writer, &timing, slices)
  }

  /// Sends what is written, without waiting: nearly always the kernel takes everything. Nil where it did, else how much.
  func sendAtOnce(
    _ writer: inout MessageWriter, _ timing: inout Timing, isFollowed: Bool = false
  ) -> Int? {
    if !writer.bytes.isEmpty {
      var done = 0
      if case .bytes(let count) = stream.send(writer.bytes, then: [], skipping: 0, isFollowed: isFollowed) {
        done = count
      }
      if done < writer.bytes.count { return done }
      writer.bytes.removeAll(keepingCapacity: true)
    }
    record(&timing)
    return nil
  }

  func flush(
    _ writer: inout MessageWriter, _ timing: inout Timing, _ slices: [Slice] = [], from sent: Int? = nil,
    isFollowed: Bool = false
  ) async throws {
    if !writer.bytes.isEmpty || !slices.isEmpty {
      let total = slices.reduce(writer.bytes.count) { $0 + $1.count }
      var done = sent ?? 0
      if sent == nil,
        case .bytes(let count) = stream.send(writer.bytes, then: slices, skipping: 0, isFollowed: isFollowed)
      {
        done = count
      }
      if done < total {
        timing.transfer?.waits()
        try await stream.write(writer.bytes, then: slices, from: done, stall: server.timeouts.writeStall)
      }
      writer.bytes.removeAll(keepingCapacity: true)
      timing.transfer?.moved(slices.reduce(0) { $0 + $1.count })
    }
    record(&timing)
  }

  private func record(_ timing: inout Timing) {
    guard !timing.isEmpty else { return }
    loop.refreshClock()
    timing.record(server.meters, now: loop.clock.now)
  }
}
