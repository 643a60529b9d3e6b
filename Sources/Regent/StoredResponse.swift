// What all caches have in common: how a stored response is laid out, whether it answers, and when what is stored is
// denied by a response that is not. The rules are RegentCaching's.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

/// A response as a cache has it.
struct StoredResponse {
  let metadata: StoredMetadata
  let fields: ResponseFields
  let body: ResponseBody
  /// What the cache had removed when it found it.
  let mark: RemovalMark
  /// What a hit is to say of itself.
  var detail = CacheDetail.none
  var source: DiskRecord?

  /// The response as the answer to a request; or the word that it is none, or none yet.
  func answer(to request: Request) throws(Unhandled) -> Response {
    let policy = request.domain.policy
    switch Reuse.decide(metadata, request: request.directives, policy: policy, now: request.wall) {
    case .serve(let age): return response(to: request, age: age, detail)
    case .serveStale(let age, let reason):
      var response = response(to: request, age: age, .stale(reason))
      if reason != .requestMaxStale { response.revalidation = candidate }
      return response
    case .validate(let reason): throw Unhandled(because: reason, candidate: candidate)
    case .no(let reason): throw Unhandled(because: reason, mark: mark)
    }
  }

  private func response(to request: Request, age: Int32, _ detail: CacheDetail) -> Response {
    Self.answer(metadata, fields, body, age: age, detail, to: request)
  }

  /// A stored response as an answer.
  static func answer(
    _ metadata: StoredMetadata, _ fields: consuming ResponseFields, _ body: consuming ResponseBody,
    age: Int32,
    _ detail: CacheDetail, to request: Request
  ) -> Response {
    let status = CacheStatus(
      .hit, ttl: metadata.remainingFreshness(policy: request.domain.policy, now: request.wall),
      detail: detail)
    var response = Response(
      status: Int(metadata.status), fields: fields, body: body, cacheStatus: status)
    response.metadata = metadata
    response.age = age
    return response
  }

  /// The response as one that may answer once it is validated.
  var candidate: Candidate {
    Candidate(metadata: metadata, fields: fields, body: body, mark: mark, source: source)
  }
}

extension Response {
  /// Whether this answer, which is not stored, says that what was stored is none any more.
  func denies(_ request: Request) -> Bool {
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

  /// Whether the stored response's Vary selects it for a request with these fields (RFC 9111 section 4.1). Most have none:
  /// then they are not looked at.
  static func selects(_ head: Slice, _ requestFields: @autoclosure () -> Fields) -> Bool {
    head.withBytes { bytes in
      guard let count = varyCount(bytes) else { return false }
      return count == 0
        || Vary.matches(bytes.extracting(varyStart..<varyStart + count), requestFields: requestFields())
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
    if !vary.isEmpty { head.append(contentsOf: vary) }
    return true
  }

  static func varyCount(_ bytes: Span<UInt8>) -> Int? {
    guard bytes.count >= varyStart else { return nil }
    let count = Int(bytes[varyStart - 2]) | Int(bytes[varyStart - 1]) << 8
    return varyStart + count <= bytes.count ? count : nil
  }
}
