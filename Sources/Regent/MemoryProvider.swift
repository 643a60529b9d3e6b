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

  public func perform(_ request: Request) async throws -> Response {
    guard request.method == .get || request.method == .head else {
      throw Unhandled(.method, mark: store.mark(request.key))
    }
    // Content is no part of the key, and an origin may answer by it.
    guard request.domain.policy.kind != .networkOnly, request.body == nil, !request.routed.offersUpgrade
    else {
      throw Unhandled(.bypass)
    }
    let record = try find(request)
    guard let head = RecordHead(record.head) else { throw Unhandled(.miss, mark: store.mark(request.key)) }
    if head.metadata.status == 206 { return try answerFromParts(record, head, request) }
    let policy = request.domain.policy
    switch Reuse.decide(head.metadata, request: request.directives, policy: policy, now: request.wall) {
    case .serve(let age):
      return answer(record, head, age: age, detail: .none, request)
    case .serveStale(let age, let reason):
      var response = answer(record, head, age: age, detail: .stale(reason), request)
      if reason != .requestMaxStale { response.revalidation = candidate(record, head, request) }
      return response
    case .validate(let reason):
      throw Unhandled(because: reason, candidate: candidate(record, head, request))
    case .no(let reason):
      throw Unhandled(because: reason)
    }
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

  private func answer(
    _ record: Record, _ head: RecordHead, age: Int32, detail: CacheDetail, _ request: Request
  ) -> Response {
    let status = CacheStatus(
      .hit, ttl: head.metadata.remainingFreshness(policy: request.domain.policy, now: request.wall),
      detail: detail)
    var response = Response(
      status: Int(head.metadata.status), fields: .stored(shared: record.sharedHead, own: head.lines),
      body: record.responseBody, cacheStatus: status)
    response.metadata = head.metadata
    response.age = age
    return response
  }

  func candidate(_ record: Record, _ head: RecordHead, _ request: Request) -> Candidate {
    Candidate(
      metadata: head.metadata, fields: .stored(shared: record.sharedHead, own: head.lines),
      body: record.responseBody, mark: store.mark(request.key))
  }

  // MARK: Keeping

  public func handle(_ response: Response, for request: Request) async {
    if Invalidation.applies(method: request.method, status: UInt16(clamping: response.status)) {
      return invalidate(response, request)
    }
    keep(response, request, since: request.mark)
  }

  public func refusal(of response: Response, for request: Request) -> RefusalReason? {
    if response.body.count ?? 0 > store.maxObject { return .tooLarge }
    if let mark = request.mark, mark != store.mark(request.key) { return .invalidated }
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
    case .whole(let slice): insert(.slices([slice]), response, metadata, request, mark)
    // A stored body that a 304 confirmed: nothing is to be waited for.
    case .stream(let stream) where stream.isWhole: insert(.stream(stream), response, metadata, request, mark)
    case .stream(let stream): keep(stream, response, metadata, request, mark)
    case .composed(let pieces):
      keep(pieces) { self.insert(.slices($0), response, metadata, request, mark) }
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
      case .tooLarge: stream.stopKeeping()
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
    guard RecordHead.append(metadata, fields, request.head.fields, onto: &own) else { return }
    let linesStart = own.count
    StoredFields.split(fields, shared: &shared, own: &own)
    if isConfirmed, fields.contains(.etag) {
      refreshTwins(of: fields, metadata, shared, lines: own[linesStart...], request, mark)
    }
    _ = store.insert(request.key, head: own, sharedHead: shared, body: body, now: request.now, since: mark) {
      RecordHead.selects($0.head, request.head.fields)
    }
  }

  /// RFC 9111 section 4.4: a successful unsafe request makes what is stored for its target unusable, and for those
  /// that its response names. What a POST brought itself may take the target's place (RFC 9110 section 9.3.3).
  private func invalidate(_ response: Response, _ request: Request) {
    let mark = store.invalidate(request.key)
    if request.domain.generations != nil {
      invalidate(request, path: request.pathBytes, query: request.queryBytes)
    }
    if response.storability == .store, let before = request.mark, mark.isNext(after: before) {
      keep(response, request, since: mark)
    }
    let fields = response.fields.parsed
    for reference in fields.all(.location) + fields.all(.contentLocation) {
      for target in request.targets(namedBy: reference) where request.key(of: target) != request.key {
        invalidate(request, path: target.path[...], query: target.query.map { $0[...] })
      }
    }
  }
}

extension Response {
  /// Whether this answer, which is not stored, says that what was stored is none any more.
  fileprivate func denies(_ request: Request) -> Bool {
    // A 304 speaks of what is stored, be it an error. What the client forbade to keep is not kept, but what was kept
    // before stays as true as it was; as does what was confirmed for this once.
    if cacheStatus.fwdStatus == 304 {
      return storability != .refuse(.requestNoStore) && storability != .refuse(.weaklyConfirmed)
    }
    // An answer that only who asked for it forbids to store says nothing of it.
    if case .refuse(let reason) = storability, reason.concernsRequestOnly { return false }
    // An origin in trouble says nothing of what is stored.
    switch status {
    case 408, 425, 429, 500...: return false
    default: break
    }
    // A HEAD that is answered otherwise than the stored GET was makes it stale (RFC 9111 section 4.3.5).
    return request.method == .get || status == 200 || status == 404 || status == 410
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

/// The layout of a record's own head.
struct RecordHead {
  let metadata: StoredMetadata
  let lines: Slice

  static let varyStart = StoredMetadata.encodedCount + 2

  /// Takes a head apart; nil for one that is damaged.
  init?(_ head: Slice) {
    let parts = head.withBytes { bytes -> (StoredMetadata, Int)? in
      guard let metadata = StoredMetadata.decode(bytes), let vary = Self.varyCount(bytes) else { return nil }
      return (metadata, Self.varyStart + vary)
    }
    guard let (metadata, start) = parts else { return nil }
    self.metadata = metadata
    let lower = head.range.lowerBound + start
    lines = Slice(head.block, lower..<head.range.upperBound)
  }

  /// Whether the stored response's Vary selects it for a request with these fields (RFC 9111 section 4.1).
  static func selects(_ head: Slice, _ requestFields: Fields) -> Bool {
    head.withBytes { bytes in
      guard let count = varyCount(bytes) else { return false }
      return count == 0
        || Vary.matches(bytes.extracting(varyStart..<varyStart + count), requestFields: requestFields)
    }
  }

  /// Whether it is parts of a response that are stored, and not a whole one: then its status is 206.
  static func isPart(_ head: Slice) -> Bool {
    head.withBytes { $0.count >= 2 && $0[0] == 206 && $0[1] == 0 }
  }

  /// Appends everything but the lines; false where the response's Vary cannot be kept.
  static func append(
    _ metadata: StoredMetadata, _ responseFields: Fields, _ requestFields: Fields, onto head: inout [UInt8]
  ) -> Bool {
    metadata.encode(onto: &head)
    var vary: [UInt8] = []
    guard Vary.encode(responseFields: responseFields, requestFields: requestFields, onto: &vary) else {
      return false
    }
    head.append(UInt8(truncatingIfNeeded: vary.count))
    head.append(UInt8(truncatingIfNeeded: vary.count >> 8))
    head.append(contentsOf: vary)
    return true
  }

  static func varyCount(_ bytes: Span<UInt8>) -> Int? {
    guard bytes.count >= varyStart else { return nil }
    let count = Int(bytes[varyStart - 2]) | Int(bytes[varyStart - 1]) << 8
    return varyStart + count <= bytes.count ? count : nil
  }
}
