// The disk cache as a provider: the rules are RegentCaching's, the keeping is the store's. A record's head is laid out as
// in memory, but holds all of the response's lines; its variant is a checksum of the selecting values.

public import RegentCaching
import RegentHTTP
import RegentLoop
public import RegentStorage

/// Answers from the disk, and keeps what it may of what passes by. Trouble with the disk is no answer, and no error.
public final class DiskProvider: ResponseHandler {
  public let name = "disk"
  public let store: DiskStore
  let admission: Admission

  /// - Parameter admission: Which of the responses that may be stored are.
  public init(store: DiskStore, admission: Admission = .always) {
    self.store = store
    self.admission = admission
  }

  // MARK: Answering

  public func performAtOnce(_ request: Request) throws(Unhandled) -> Response? {
    let (key, mark) = try look(for: request)
    let record: DiskRecord?
    do throws(DiskBlocked) {
      let routed = request.routed
      record = try store.lookupAtOnce(
        key, now: request.now, copying: Self.copying(for: request),
        where: { RecordHead.selects($0, routed.head.fields) },
        preferring: { RecordHead.isPreferred($0, to: $1) })
    } catch {
      return nil
    }
    guard let record else {
      // What is stored for others is told of, and that may have to be read.
      guard !store.holds(key) else { return nil }
      store.count(nil, for: key)
      throw Unhandled(.uriMiss, mark: mark)
    }
    let response = try answer(request, record, key, mark)
    guard !Self.isOpened(request) || record.openAtOnce() else { return nil }
    store.count(record, for: key)
    return response
  }

  public func perform(_ request: Request) async throws -> Response {
    let (key, mark) = try look(for: request)
    guard let record = await find(key, request) else {
      store.count(nil, for: key)
      throw await unselected(key, mark, request)
    }
    let response = try answer(request, record, key, mark)
    // A damaged beginning is a miss; further on the connection could only be cut.
    var isThere = true
    if Self.isOpened(request) { isThere = await record.open() }
    store.count(isThere ? record : nil, for: key)
    guard isThere else { throw Unhandled(.miss, mark: mark) }
    return response
  }

  /// The key under which a request may find something, and what was removed before it looks.
  private func look(for request: Request) throws(Unhandled) -> (RecordKey, RemovalMark) {
    let key = store.key(request.key.bytes)
    let mark = store.mark(key)
    guard request.method == .get || request.method == .head else { throw Unhandled(.method, mark: mark) }
    guard mayKeep(request) else { throw Unhandled(.bypass) }
    return (key, mark)
  }

  /// The answer that a record is, not counted yet. One that is none was found all the same.
  private func answer(
    _ request: Request, _ record: DiskRecord, _ key: RecordKey, _ mark: RemovalMark
  ) throws(Unhandled) -> Response {
    do throws(Unhandled) {
      return try answer(request, record, mark)
    } catch {
      store.count(record, for: key)
      throw error
    }
  }

  private func answer(
    _ request: Request, _ record: DiskRecord, _ mark: RemovalMark
  ) throws(Unhandled) -> Response {
    guard let head = RecordHead(record.head) else { throw Unhandled(.miss, mark: mark) }
    let stored = StoredResponse(
      metadata: head.metadata, fields: .stored(shared: nil, own: head.lines), body: record.responseBody,
      mark: mark, detail: .disk, source: record)
    // RFC 9111 section 4.2.3 trusts the clock; one that went back a day behind what was written knows no ages.
    guard store.mayTrust(wall: request.wall) else {
      throw Unhandled(because: .clockWentBack, candidate: stored.candidate)
    }
    var response = try stored.answer(to: request)
    // The caches before this one may keep what this one had: so the rules said when it came here.
    response.storability = .store
    return response
  }

  /// Whether the answer is the whole stored response, and its body to be sent.
  private static func isOpened(_ request: Request) -> Bool {
    request.method == .get && isWhole(request)
  }

  /// Whether the answer is the whole stored response.
  private static func isWhole(_ request: Request) -> Bool {
    !request.routed.isConditional && !request.fields.contains(.range)
  }

  /// The longest record that is read into memory. A cache before this one is given what is short enough to be kept there;
  /// and an answer of which it is not sure that it begins where the body does, has a short body verified before anything
  /// is promised.
  private static func copying(for request: Request) -> Int {
    request.marks.nearest != nil || !isWhole(request)
      ? DiskStore.copiedForKeeping : DiskStore.copiedForSending
  }

  /// The stored response that a request selects.
  private func find(_ key: RecordKey, _ request: Request) async -> DiskRecord? {
    let routed = request.routed
    return await store.lookup(
      key, now: request.now, copying: Self.copying(for: request),
      where: { RecordHead.selects($0, routed.head.fields) },
      preferring: { RecordHead.isPreferred($0, to: $1) })
  }

  /// Whether this cache has anything to do with a request. What is one client's own stays in memory.
  func mayKeep(_ request: Request) -> Bool {
    request.domain.policy.kind != .networkOnly && !request.hasBody && !request.routed.offersUpgrade
      && !request.domain.policy.isPrivate(for: request.fields.present)
  }

  /// What is said of a request that selects nothing: the tags of what is stored for others go along.
  private func unselected(_ key: RecordKey, _ mark: RemovalMark, _ request: Request) async -> Unhandled {
    guard store.holds(key) else { return Unhandled(.uriMiss, mark: mark) }
    let others = await store.records(key, now: request.now, limit: MemoryProvider.offeredVariants)
    guard !others.isEmpty else { return Unhandled(.uriMiss, mark: mark) }
    guard request.method == .get else { return Unhandled(.varyMiss, mark: mark) }
    let variants = others.compactMap { record -> Candidate? in
      guard let head = RecordHead(record.head), head.metadata.status == 200,
        head.metadata.flags.contains(.hasETag)
      else { return nil }
      let candidate = Candidate(
        metadata: head.metadata, fields: .stored(shared: nil, own: head.lines), body: record.responseBody,
        mark: mark, source: record)
      return Validation.isDecodable(candidate.fields, by: request.head.fields) ? candidate : nil
    }
    return Unhandled(.varyMiss, variants: variants, mark: mark)
  }

  // MARK: Keeping

  public func handle(_ response: Response, for request: Request) async {
    if Invalidation.applies(method: request.method, status: UInt16(clamping: response.status)) {
      return await invalidate(response, request)
    }
    guard mayKeep(request) else { return }
    if response.cacheStatus.fwdStatus == 304, await confirm(response, request) { return }
    keep(response, request, since: store.mark(among: request.marks))
  }

  public func refusal(of response: Response, for request: Request) -> RefusalReason? {
    if !mayKeep(request) { return .private }
    if response.status == 206 { return .partial }
    if response.body.count ?? 0 > store.maxObject { return .tooLarge }
    let key = store.key(request.key.bytes)
    if let mark = store.mark(among: request.marks), mark != store.mark(key) { return .invalidated }
    return admission.isKnown(key.hash) || store.holds(key) ? nil : .firstRequest
  }

  private func keep(_ response: Response, _ request: Request, since mark: RemovalMark?) {
    let key = store.key(request.key.bytes)
    guard response.storability.keeps, let metadata = response.metadata else {
      return forget(response, request, key)
    }
    guard response.status != 206, admission.admits(key.hash) || store.holds(key),
      let (head, variant) = Self.head(of: response, metadata, request)
    else { return }
    switch response.body {
    case .empty: _ = store.insert(key, variant: variant, head: head, body: [], since: mark)
    case .whole(let slice): _ = store.insert(key, variant: variant, head: head, body: [slice], since: mark)
    case .stream(let stream) where stream.isWhole:
      _ = store.insert(key, variant: variant, head: head, body: stream.wholeSlices, since: mark)
    case .stream(let stream): keep(stream, key, variant, head, since: mark)
    case .composed(let pieces):
      // Pieces of a file are on the disk already, under another response.
      guard let slices = pieces.presentSlices else { return }
      keep(slices, response.fields.parsed, request) {
        _ = self.store.insert(key, variant: variant, head: head, body: slices, since: mark)
      }
    case .file: break
    }
  }

  /// Stores what parts have become, if it is what the origin said it would be (RFC 9530 section 3).
  private func keep(
    _ slices: [Slice], _ fields: Fields, _ request: Request, _ insert: @escaping @Sendable () -> Void
  ) {
    guard fields.contains(.reprDigest), let loop = EventLoop.current else { return insert() }
    Task(executorPreference: loop) {
      if await DigestCheck.admits(whole: slices, fields, request, on: loop) { insert() }
    }
  }

  /// Has a body that still arrives written as it does.
  private func keep(
    _ stream: BodyStream, _ key: RecordKey, _ variant: UInt32, _ head: [UInt8], since mark: RemovalMark?
  ) {
    guard let loop = EventLoop.current, !stream.isRefuted, stream.expected ?? 0 <= store.maxObject,
      let fill = store.fill(key, variant: variant, since: mark), let spill = stream.spill(to: fill)
    else { return }
    Task(executorPreference: loop) {
      if await spill.run(patience: Self.patience, on: loop) { _ = fill.commit(head: head) }
    }
  }

  /// How long the disk may take for four extents of a body that waits for it.
  private static let patience = Duration.seconds(5)

  /// A stored response with what a 304 said of it: its head is written anew, and its body stays where it is. False
  /// where it is not this one that was confirmed.
  private func confirm(_ response: Response, _ request: Request) async -> Bool {
    guard response.storability.keeps, let metadata = response.metadata else { return false }
    let key = store.key(request.key.bytes)
    // Where it is the one that went along as a candidate, it need not be read again.
    var confirmed = request.candidate(confirmedBy: response.fields.parsed)?.source
    if confirmed == nil { confirmed = await find(key, request) }
    guard let record = confirmed, let old = RecordHead(record.head),
      record.bodyCount == response.body.count,
      Self.isSame(.stored(shared: nil, own: old.lines), response.fields),
      let (head, variant) = Self.head(of: response, metadata, request), variant == record.variant
    else { return false }
    return store.update(record, head: head, since: store.mark(among: request.marks))
  }

  /// Whether two heads are of the same representation, by the validators that they have.
  private static func isSame(_ one: ResponseFields, _ other: ResponseFields) -> Bool {
    let (one, other) = (one.parsed, other.parsed)
    guard one.first(.etag) == other.first(.etag) else { return false }
    return one.first(.etag) != nil
      || one.first(.lastModified) != nil && one.first(.lastModified) == other.first(.lastModified)
  }

  /// What was stored and asked about is no answer any more when the origin gave one that must not be stored.
  private func forget(_ response: Response, _ request: Request, _ key: RecordKey) {
    guard request.asksToConfirm, response.denies(request), store.mayHold(key) else { return }
    store.invalidate(key)
  }

  /// RFC 9111 section 4.4. It is on the disk before the client hears of it, so that a restart does not bring back what
  /// the client changed.
  private func invalidate(_ response: Response, _ request: Request) async {
    let key = store.key(request.key.bytes)
    let mark = store.invalidate(key)
    if response.storability == .store, let before = store.mark(among: request.marks),
      mark.isNext(after: before)
    {
      keep(response, request, since: mark)
    }
    for key in request.keysInvalidated(by: response) { store.invalidate(store.key(key.bytes)) }
    if let generations = request.domain.generations {
      // The first thing that the store does is to look for them.
      if !generations.restore(from: store), await store.durable() { _ = generations.restore(from: store) }
      generations.keep(in: store)
    }
    if store.owesRemovals { _ = await store.durable() }
  }
}

// MARK: Records

extension DiskProvider {
  /// The head of a record, and the checksum of what selects it; nil where the response's Vary cannot be kept.
  private static func head(
    of response: Response, _ metadata: StoredMetadata, _ request: Request
  ) -> (head: [UInt8], variant: UInt32)? {
    let fields = response.fields.parsed
    var head: [UInt8] = []
    guard RecordHead.append(metadata, fields, request.head.fields, onto: &head) else { return nil }
    let selecting = RecordHead.varyStart..<head.count
    let variant = selecting.isEmpty ? 0 : CRC32C.of(head.span.extracting(selecting))
    var own: [UInt8] = []
    StoredFields.split(fields, shared: &head, own: &own)
    return (head + own, variant)
  }
}

extension DiskRecord {
  /// The stored body as a response's.
  fileprivate var responseBody: ResponseBody {
    guard let body else { return .file(self) }
    return body.count == 0 ? .empty : .whole(body)
  }
}
