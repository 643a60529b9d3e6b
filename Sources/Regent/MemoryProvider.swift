// The memory cache as a provider: the rules are RegentCaching's, the keeping is the store's. A record's own head is
// [metadata | length of the selecting values | selecting values | the response's own lines].

public import RegentCaching
import RegentHTTP
import RegentLoop
public import RegentStorage

/// Answers from memory, and keeps what it may of what passes by.
public final class MemoryProvider: ResponseHandler {
  public let name = "memory"
  public let store: MemoryStore

  public init(store: MemoryStore) { self.store = store }

  // MARK: Answering

  public func perform(_ request: Request) async throws -> Response { try answer(to: request) }
  public func performAtOnce(_ request: Request) throws(Unhandled) -> Response? { try answer(to: request) }

  private func answer(to request: Request) throws(Unhandled) -> Response {
    guard request.method == .get || request.method == .head else {
      throw Unhandled(.method, mark: store.mark(request.key))
    }
    // Content is no part of the key, and an origin may answer by it.
    guard request.domain.policy.kind != .networkOnly, !request.hasBody, !request.routed.offersUpgrade
    else {
      throw Unhandled(.bypass)
    }
    let record = try find(request)
    guard let head = RecordHead(record.head) else { throw Unhandled(.miss, mark: store.mark(request.key)) }
    if head.metadata.status == 206 { return try answerFromParts(record, head, request) }
    // Most hits are fresh: nothing of them is needed but the answer.
    if case .serve(let age) = Reuse.decide(
      head.metadata, request: request.directives, policy: request.domain.policy, now: request.wall)
    {
      return StoredResponse.answer(
        head.metadata, .stored(shared: record.sharedHead, own: head.lines), record.responseBody, age: age,
        .none,
        to: request)
    }
    return try stored(record, head, request).answer(to: request)
  }

  private func stored(_ record: Record, _ head: RecordHead, _ request: Request) -> StoredResponse {
    StoredResponse(
      metadata: head.metadata, fields: .stored(shared: record.sharedHead, own: head.lines),
      body: record.responseBody, mark: store.mark(request.key))
  }

  private func find(_ request: Request) throws(Unhandled) -> Record {
    let routed = request.routed
    var hasVariants = false
    let record = store.lookup(
      routed.key, now: request.now,
      where: { record in
        if RecordHead.selects(record.head, routed.head.fields) { return true }
        hasVariants = true
        return false
      }, preferring: { RecordHead.isPreferred($0.head, to: $1.head) })
    if let record { return record }
    throw hasVariants ? varyMiss(request) : Unhandled(.uriMiss, mark: store.mark(request.key))
  }

  func candidate(_ record: Record, _ head: RecordHead, _ request: Request) -> Candidate {
    stored(record, head, request).candidate
  }

  // MARK: Keeping

  public func handle(_ response: Response, for request: Request) async { see(response, request) }
  public func handleAtOnce(_ response: Response, for request: Request) -> Bool {
    see(response, request)
    return true
  }

  private func see(_ response: Response, _ request: Request) {
    if Invalidation.applies(method: request.method, status: UInt16(clamping: response.status)) {
      return invalidate(response, request)
    }
    keep(response, request, since: store.mark(among: request.marks))
  }

  public func refusal(of response: Response, for request: Request) -> RefusalReason? {
    if response.body.count ?? 0 > store.maxObject { return .tooLarge }
    if let mark = store.mark(among: request.marks), mark != store.mark(request.key) { return .invalidated }
    return response.status == 206 && holdsWhole(request) ? .partial : nil
  }

  /// Keeps what may be kept, unless the key was invalidated since the mark was made.
  private func keep(_ response: Response, _ request: Request, since mark: RemovalMark?) {
    guard response.storability.keeps, let metadata = response.metadata else {
      return forget(response, request)
    }
    if response.status == 206 { return keepPart(response, metadata, request) }
    switch response.body {
    case .empty: insert(.bytes([]), response, metadata, request, mark)
    case .whole(let slice): insert(.slice(slice), response, metadata, request, mark)
    // A stored body that a 304 confirmed: nothing is to be waited for.
    case .stream(let stream) where stream.isWhole: insert(.stream(stream), response, metadata, request, mark)
    case .stream(let stream): keep(stream, response, metadata, request, mark)
    // It is on the disk, and too long to be worth the memory that it would take.
    case .file: break
    case .composed(let pieces):
      keep(pieces) { self.insert(whole: $0, response.fields.parsed, metadata, request) }
    }
  }

  /// What was stored and asked about is no answer any more when the origin gave one that must not be stored.
  private func forget(_ response: Response, _ request: Request) {
    guard request.asksToConfirm, response.denies(request) else { return }
    if response.cacheStatus.fwdStatus == 304 { forgetTwins(of: response.fields.parsed, request) }
    _ = store.remove(request.key) { RecordHead.selects($0.head, request.head.fields) }
  }

  /// Keeps a body that still arrives; it is stored when its end is proven.
  private func keep(
    _ stream: BodyStream, _ response: Response, _ metadata: StoredMetadata, _ request: Request,
    _ mark: RemovalMark?
  ) {
    guard let loop = EventLoop.current, stream.keep(limit: store.maxObject, account: store.budget) else {
      return
    }
    let remains = Remains(of: stream, response)
    Task(executorPreference: loop) {
      switch await stream.completion() {
      case .finished: self.insert(.stream(stream), response, metadata, request, mark)
      case .failed(let failure):
        if let remains { self.keep(remains, after: failure, response, metadata, request) }
        stream.stopKeeping()
      case .refuted, .tooLarge: stream.stopKeeping()
      }
      remains?.reader.leave()
    }
  }

  private func insert(
    _ body: OfferedBody, _ response: Response, _ metadata: StoredMetadata, _ request: Request,
    _ mark: RemovalMark?
  ) {
    let isConfirmed = response.cacheStatus.fwdStatus == 304
    insert(body, response.fields.parsed, metadata, request, mark, isConfirmed: isConfirmed)
  }

  func insert(
    _ body: OfferedBody, _ fields: Fields, _ metadata: StoredMetadata, _ request: Request,
    _ mark: RemovalMark?, isConfirmed: Bool = false
  ) {
    var shared: [UInt8] = []
    var own: [UInt8] = []
    own.reserveCapacity(RecordHead.varyStart + fields.bytes.count)
    guard RecordHead.append(metadata, fields, request.fields, onto: &own) else { return }
    let linesStart = own.count
    StoredFields.split(fields, shared: &shared, own: &own)
    if isConfirmed, fields.contains(.etag) {
      refreshTwins(of: fields, metadata, shared, lines: own[linesStart...], request, mark)
    }
    _ = store.insert(request.key, head: own, sharedHead: shared, body: body, now: request.now, since: mark) {
      RecordHead.selects($0.head, request.fields)
    }
  }

  /// RFC 9111 section 4.4: a successful unsafe request makes what is stored for its target unusable, and for those
  /// that its response names. What a POST brought itself may take the target's place (RFC 9110 section 9.3.3).
  private func invalidate(_ response: Response, _ request: Request) {
    let mark = store.invalidate(request.key)
    if response.storability == .store, let before = store.mark(among: request.marks),
      mark.isNext(after: before)
    {
      keep(response, request, since: mark)
    }
    for key in request.keysInvalidated(by: response) { store.invalidate(key) }
  }
}

extension Record {
  /// The stored body as a response's.
  var responseBody: ResponseBody {
    switch body {
    case .packed(let slice): slice.count == 0 ? .empty : .whole(slice)
    case .stream(let stream): .stream(stream)
    }
  }
}
