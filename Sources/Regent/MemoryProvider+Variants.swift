// Several stored responses under one key (RFC 9111 sections 4.1 and 4.3.1): which of two that match is the answer, and
// what the origin is told of those that do not.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

extension MemoryProvider {
  /// The most variants of which the origin is told.
  static let offeredVariants = 8

  /// What is said of a request that selects nothing of what is stored for its target: the stored responses that have an
  /// entity tag and could be its answer go along, for the origin to choose from.
  func varyMiss(_ request: Request) -> Unhandled {
    let mark = store.mark(request.key)
    guard request.method == .get else { return Unhandled(.varyMiss, mark: mark) }
    let variants = store.records(request.key).compactMap { variant($0, request) }
    return Unhandled(.varyMiss, variants: Array(variants.prefix(Self.offeredVariants)), mark: mark)
  }

  private func variant(_ record: Record, _ request: Request) -> Candidate? {
    guard let head = RecordHead(record.head), head.metadata.status == 200,
      head.metadata.flags.contains(.hasETag)
    else { return nil }
    let candidate = candidate(record, head, request)
    return Validation.isDecodable(candidate.fields, by: request.head.fields) ? candidate : nil
  }

  /// RFC 9111 section 4.3.4: what a 304 says is true of every stored response that has its strong tag, and of the one
  /// that it chose, also where the request does not select them. One that cannot follow goes.
  func refreshTwins(
    of fields: Fields, _ metadata: StoredMetadata, _ shared: [UInt8], lines: ArraySlice<UInt8>,
    _ request: Request, _ mark: RemovalMark?
  ) {
    for record in twins(of: fields, request) {
      let selecting = RecordHead.selectingValues(record.head)
      guard follows(record, fields, metadata, request) else {
        _ = store.remove(request.key, isInvalidation: false) {
          RecordHead.selectingValues($0.head) == selecting
        }
        continue
      }
      var own: [UInt8] = []
      metadata.encode(onto: &own)
      own += selecting
      own += lines
      _ = store.insert(
        request.key, head: own, sharedHead: shared, body: record.offeredBody, now: request.now,
        since: mark
      ) { RecordHead.selectingValues($0.head) == selecting }
    }
  }

  /// What a 304 forbids to keep goes, also where the request does not select it.
  func forgetTwins(of fields: Fields, _ request: Request) {
    for record in twins(of: fields, request) {
      let selecting = RecordHead.selectingValues(record.head)
      _ = store.remove(request.key) { RecordHead.selectingValues($0.head) == selecting }
    }
  }

  /// The stored responses that a 304 identifies and the request does not select.
  private func twins(of fields: Fields, _ request: Request) -> [Record] {
    guard let tag = fields.first(.etag) else { return [] }
    if tag.first == 0x22 { return others(tagged: tag, request) }
    // A weak tag identifies the most recent one alone, which is the request's own unless it chose another.
    guard request.candidate == nil, let chosen = request.candidate(confirmedBy: fields)?.fields.first(.etag)
    else {
      return []
    }
    return Array(others(tagged: chosen, request).prefix(1))
  }

  private func others(tagged tag: ArraySlice<UInt8>, _ request: Request) -> [Record] {
    store.records(request.key).filter { record in
      guard !RecordHead.selects(record.head, request.head.fields), let head = RecordHead(record.head) else {
        return false
      }
      return head.lines.withBytes { lines in
        StoredFields.value(of: .etag, in: lines).map { $0.map { lines[$0] }.elementsEqual(tag) } ?? false
      }
    }
  }

  /// Whether a stored response can take over what a 304 made of another one: both were stored alike, and fetched with
  /// credentials or not (section 3.5). What the 304 itself said is not known any more.
  private func follows(_ record: Record, _ fields: Fields, _ metadata: StoredMetadata, _ request: Request)
    -> Bool
  {
    guard let head = RecordHead(record.head), let confirmed = request.candidate(confirmedBy: fields) else {
      return false
    }
    let old = candidate(record, head, request).fields
    // The lines of parts say which parts they are: they fit no other body.
    return head.metadata.status == metadata.status && metadata.status != 206
      && head.metadata.flags.contains(.authorized) == metadata.flags.contains(.authorized)
      && old.all(.vary) == fields.all(.vary) && old.isSame(as: confirmed.fields)
  }
}

extension Record {
  /// The stored body, to be stored again.
  fileprivate var offeredBody: OfferedBody {
    switch body {
    case .packed(let slice): .slice(slice)
    case .stream(let stream): .stream(stream)
    }
  }
}

extension RecordHead {
  /// The selecting values of a record's head with their length, as they stand; empty for a damaged one.
  static func selectingValues(_ head: Slice) -> [UInt8] {
    head.withBytes { bytes in
      guard let count = varyCount(bytes) else { return [] }
      return ((varyStart - 2)..<(varyStart + count)).map { bytes[$0] }
    }
  }

  /// Whether the first of two stored responses that match a request is preferred to the second, which was stored later:
  /// one with Vary to one that forgot it, else the one with the later Date (RFC 9111 section 4.1).
  static func isPreferred(_ head: Slice, to later: Slice) -> Bool {
    guard let one = Recency(head), let other = Recency(later) else { return false }
    return one.varies != other.varies ? one.varies : one.date > other.date
  }

  private struct Recency {
    let varies: Bool
    let date: Int64

    init?(_ head: Slice) {
      let parts = head.withBytes { bytes -> (Bool, Int64)? in
        guard let count = RecordHead.varyCount(bytes), let metadata = StoredMetadata.decode(bytes) else {
          return nil
        }
        return (count > 0, metadata.date)
      }
      guard let parts else { return nil }
      (varies, date) = parts
    }
  }
}

extension Request {
  /// Whether the request to the origin carries Regent's own condition.
  var asksToConfirm: Bool { candidate != nil || !variants.isEmpty }

  /// Adds Regent's own conditions: the candidate's validators, or the tags of what could be the answer.
  func addConditions(to fields: inout Fields) {
    if let candidate {
      _ = Validation.addConditions(from: candidate.fields, to: &fields)
    } else {
      _ = Validation.addSelection(among: variants.lazy.map(\.fields), to: &fields)
    }
  }

  /// The stored response that a 304 with these fields is about; nil where it is none that was asked about.
  func candidate(confirmedBy notModified: Fields) -> Candidate? {
    if let candidate { return candidate }
    return Validation.selected(among: variants.map(\.fields), by: notModified).map { variants[$0] }
  }
}

extension Fields {
  /// Whether both have the same lines in the same order.
  fileprivate func isSame(as other: Fields) -> Bool {
    lines.count == other.lines.count
      && zip(lines, other.lines).allSatisfy {
        name(of: $0).equalsIgnoringCase(other.name(of: $1)) && value(of: $0) == other.value(of: $1)
      }
  }
}
