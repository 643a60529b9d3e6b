// Parts of responses in the memory store (RFC 9111 sections 3.3 and 3.4). A record whose status is 206 holds parts: one
// Content-Range among its lines for each, and their bytes one behind the other. It never answers for the whole.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

extension MemoryProvider {
  /// Stored parts as they are found.
  private struct Stored {
    let candidate: Candidate
    let parts: Parts
    var metadata: StoredMetadata { candidate.metadata }
    var fields: Fields { candidate.fields }
    var validator: StrongValidator? { StrongValidator(fields, date: metadata.date) }

    func unhandled(_ gap: Parts.Gap) -> Unhandled {
      Unhandled(
        .partial, missing: MissingPart(stored: candidate, parts: parts, gap: gap), mark: candidate.mark)
    }
  }

  // MARK: Answering

  /// What parts can do for a GET that nothing whole is stored for: answer, or say which piece is missing.
  func answerFromParts(_ record: Record, _ head: RecordHead, _ request: Request) throws(Unhandled) -> Response
  {
    guard request.method == .get, let stored = stored(record, head, request) else {
      throw Unhandled(.uriMiss, mark: store.mark(request.key))
    }
    let answer = stored.parts.answer(
      request.head.fields, fields: stored.fields, date: stored.metadata.date)
    switch Reuse.decide(
      stored.metadata, request: request.directives, policy: request.domain.policy, now: request.wall)
    {
    case .serve(let age): return try use(stored, answer, request, age: age, detail: .none)
    case .serveStale(let age, let reason):
      var response = try use(stored, answer, request, age: age, detail: .stale(reason))
      if reason != .requestMaxStale { response.revalidation = stored.candidate }
      return response
    case .validate(let reason):
      switch answer {
      case .serve: throw Unhandled(because: reason, candidate: stored.candidate)
      // If-Range asks for the missing piece and validates those that are here (section 4.3).
      case .fetch(let gap) where stored.validator != nil: throw stored.unhandled(gap)
      case .fetch, .forward: throw Unhandled(because: reason, mark: stored.candidate.mark)
      }
    case .no(let reason): throw Unhandled(because: reason, mark: stored.candidate.mark)
    }
  }

  /// What a record that holds parts can do for a request, in a line; nil for one that is whole.
  func explainParts(_ record: Record, _ head: RecordHead, _ request: Request) -> (
    line: String, answers: Bool
  )? {
    guard head.metadata.status == 206, let stored = stored(record, head, request) else { return nil }
    switch stored.parts.answer(request.head.fields, fields: stored.fields, date: stored.metadata.date) {
    case .serve: return ("parts: all that is asked for is here (RFC 9111 section 3.3)", true)
    case .fetch(let gap):
      let range = String(decoding: gap.range, as: UTF8.self)
      return ("parts: \(range) is missing, and alone fetched (RFC 9111 section 3.4, fwd=partial)", false)
    case .forward: return ("parts: they do not answer this (RFC 9111 section 3.3, fwd=partial)", false)
    }
  }

  private func use(
    _ stored: Stored, _ answer: Parts.Answer, _ request: Request, age: Int32, detail: CacheDetail
  ) throws(Unhandled) -> Response {
    switch answer {
    case .serve:
      var response = Response(
        status: 206, fields: .parsed(stored.fields), body: stored.candidate.body,
        cacheStatus: CacheStatus(
          .hit, ttl: stored.metadata.remainingFreshness(policy: request.domain.policy, now: request.wall),
          detail: detail))
      response.metadata = stored.metadata
      response.age = age
      response.parts = stored.parts
      return response
    case .fetch(let gap):
      // Without a validator the piece could not be combined; but an origin may answer with the whole.
      let isForWhole = !request.head.fields.contains(.range)
      guard stored.validator != nil || isForWhole else {
        throw Unhandled(.partial, mark: stored.candidate.mark)
      }
      throw stored.unhandled(gap)
    case .forward: throw Unhandled(.partial, mark: stored.candidate.mark)
    }
  }

  private func parts(for request: Request) -> Stored? {
    let record = store.lookup(request.key, now: request.now) { record in
      RecordHead.isPart(record.head) && RecordHead.selects(record.head, request.head.fields)
    }
    guard let record, let head = RecordHead(record.head) else { return nil }
    return stored(record, head, request)
  }

  private func stored(_ record: Record, _ head: RecordHead, _ request: Request) -> Stored? {
    let whole = candidate(record, head, request)
    guard let parts = Parts(stored: whole.fields, bodyCount: record.bodyCount) else { return nil }
    let fields = whole.fields.without(FieldNameSet([.contentRange]))
    return Stored(
      candidate: Candidate(
        metadata: head.metadata, fields: .parsed(fields), body: whole.body, parts: parts, mark: whole.mark),
      parts: parts)
  }

  // MARK: Keeping

  /// Keeps a part, together with those of the same representation that are here.
  func keepPart(_ response: Response, _ metadata: StoredMetadata, _ request: Request) {
    let fields = response.fields.parsed
    if let parts = response.parts, let pieces = BodyPieces(response.body) {
      return keep(pieces) { self.insert($0, fields, parts, metadata, request) }
    }
    // Where its length is announced it is kept in mind here, for a finished body does not say how it was framed.
    let announced = response.body.count
    let store: @Sendable ([Slice]) -> Void = { slices in
      let count = slices.reduce(0) { $0 + $1.count }
      let part = Parts(received: fields, bodyCount: count, isExact: announced == count)
      if let part { self.combine(slices, fields, part, metadata, request) }
    }
    if let pieces = BodyPieces(response.body) {
      keep(pieces, store)
    } else if case .stream(let stream) = response.body {
      keep(stream) { store(stream.wholeSlices) }
    }
  }

  /// Hands on the bytes of pieces once all of them are here; what still arrives is kept meanwhile.
  func keep(_ body: BodyPieces, _ store: @escaping @Sendable ([Slice]) -> Void) {
    guard body.count <= self.store.maxObject else { return }
    guard let arriving = body.streams.first(where: { !$0.isWhole }) else {
      return body.presentSlices.map(store) ?? ()
    }
    keep(arriving) { body.presentSlices.map(store) }
  }

  private func keep(_ stream: BodyStream, _ finished: @escaping @Sendable () -> Void) {
    guard let loop = EventLoop.current, stream.keep(limit: store.maxObject, account: store.budget) else {
      return
    }
    Task(executorPreference: loop) {
      if case .finished = await stream.completion() { finished() } else { stream.stopKeeping() }
    }
  }

  /// RFC 9111 section 3.3: what came of a response before it broke off is a part.
  func keep(
    _ remains: Remains, after failure: BodyFailure, _ response: Response, _ metadata: StoredMetadata,
    _ request: Request
  ) {
    guard failure == .originClosedEarly || failure == .originTimedOut else { return }
    let slices = remains.slices
    let count = slices.reduce(0) { $0 + $1.count }
    guard count > 0, let part = Parts([0..<count], complete: remains.complete) else { return }
    insert(slices, response.fields.parsed, part, metadata, request)
  }

  /// RFC 9111 section 3.4: parts with the same strong validator become one record, in the end a whole response; others
  /// give way to what came last.
  private func combine(
    _ slices: [Slice], _ fields: Fields, _ part: Parts, _ metadata: StoredMetadata, _ request: Request
  ) {
    guard let stored = parts(for: request), let validator = stored.validator,
      validator == StrongValidator(fields, date: metadata.date), let range = part.ranges.first,
      let (parts, stretches) = stored.parts.combined(with: range, complete: part.complete),
      let joined = Validation.freshened(stored: stored.fields, by: fields), mayShare(stored, joined, request),
      let old = BodyPieces(stored.candidate.body)
    else { return insert(slices, fields, part, metadata, request) }
    var metadata = metadata
    metadata.flags.formUnion(stored.metadata.flags.intersection(.authorized))
    var new = BodyPieces()
    for slice in slices { new.append(.slice(slice)) }
    let pieces = BodyPieces(stretches, of: old, stored.parts, and: new, from: range.lowerBound)
    insert(pieces.slices, joined, parts, metadata, request)
  }

  func holdsWhole(_ request: Request) -> Bool {
    let whole = store.lookup(request.key, now: request.now) { record in
      !RecordHead.isPart(record.head) && RecordHead.selects(record.head, request.head.fields)
    }
    return whole != nil
  }

  /// What was once fetched with credentials stays theirs, unless the fields that remain permit to share it (section 3.5).
  private func mayShare(_ stored: Stored, _ fields: Fields, _ request: Request) -> Bool {
    guard stored.metadata.flags.contains(.authorized) else { return true }
    var asked = request.head.fields
    asked.append(.authorization, [0x2A])
    return Storability.decide(
      method: .get, requestFields: asked, requestDirectives: .none, status: 200, responseFields: fields,
      policy: request.domain.policy
    ).keeps
  }

  private func insert(
    _ slices: [Slice], _ fields: Fields, _ parts: Parts, _ metadata: StoredMetadata, _ request: Request
  ) {
    // What is stored whole is worth more, and must not be hidden behind a newer part.
    guard parts.isWhole || !holdsWhole(request) else { return }
    var metadata = metadata
    metadata.status = parts.isWhole ? 200 : 206
    // Content-Digest spoke of one message's content (RFC 9530 section 2), which this is not any more.
    var fields = fields.without(FieldNameSet([.contentRange, .contentDigest]))
    guard parts.isWhole else {
      for value in parts.contentRanges { fields.append(.contentRange, value) }
      return insert(.slices(slices), fields, metadata, request, store.mark(among: request.marks))
    }
    insert(whole: slices, fields, metadata, request)
  }

  /// Stores what parts have become, if it is what the origin said it would be (RFC 9530 section 3).
  func insert(
    whole slices: [Slice], _ fields: Fields, _ metadata: StoredMetadata, _ request: Request
  ) {
    guard fields.contains(.reprDigest), let loop = EventLoop.current else {
      return insert(.slices(slices), fields, metadata, request, store.mark(among: request.marks))
    }
    Task(executorPreference: loop) { [self] in
      guard await DigestCheck.admits(whole: slices, fields, request, on: loop) else {
        // One of the parts is not what it should be; which one, nobody can say.
        _ = store.remove(request.key) {
          RecordHead.isPart($0.head) && RecordHead.selects($0.head, request.head.fields)
        }
        return
      }
      insert(.slices(slices), fields, metadata, request, store.mark(among: request.marks))
    }
  }
}

/// The beginning of a response that may break off: held on to where it could be completed later.
struct Remains: Sendable {
  /// At the first byte, which is not dropped as long as it is there.
  let reader: BodyReader
  let complete: Int

  /// Nil where the length or a strong validator is lacking.
  init?(of stream: BodyStream, _ response: Response) {
    guard response.status == 200, let complete = stream.expected, let metadata = response.metadata,
      StrongValidator(response.fields.parsed, date: metadata.date) != nil, let reader = stream.makeReader()
    else { return nil }
    self.reader = reader
    self.complete = complete
  }

  /// The bytes that arrived.
  var slices: [Slice] {
    var all: [Slice] = []
    // A body that broke off throws behind its last byte: that is its end here.
    while case .slices(let slices)? = try? reader.available() { all += slices }
    return all
  }
}

extension BodyPieces {
  /// The bytes of pieces that are all here.
  var slices: [Slice] {
    var found: [Slice] = []
    for piece in pieces {
      switch piece {
      case .slice(let slice): found.append(slice)
      case .stream(let stream, let range): found.append(contentsOf: stream.slices(range))
      // Whoever asks has made sure that there is none.
      case .file: break
      }
    }
    return found
  }
}

extension BodyStream {
  /// Some offsets of a whole body.
  fileprivate func slices(_ range: Range<Int>) -> [Slice] {
    var pieces = BodyPieces()
    var whole = BodyPieces()
    for slice in wholeSlices { whole.append(.slice(slice)) }
    pieces.append(range, of: whole)
    return pieces.slices
  }
}
