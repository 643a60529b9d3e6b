// A response cut to the ranges that its client asks for, as it leaves (RFC 9110 section 14): from a store, confirmed,
// or still arriving. What is stored is never cut. The rules are RegentCaching's.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

extension Response {
  /// The response that the request's Range makes of this one: 206, 416, or the same.
  func cut(for request: Request, _ boundaries: inout Boundaries) -> Response {
    guard request.head.fields.contains(.range), request.method == .get,
      status == 200 || status == 206 && parts != nil,
      let whole = BodyPieces(body)
    else { return self }
    let fields = fields.parsed
    switch answer(request, fields, length: whole.count) {
    case .whole: return self
    case .unsatisfiable: return unsatisfiable(length: complete(whole) ?? 0)
    case .part(let range):
      return partial(whole, [range], fields, .part(range, complete: complete(whole)))
    case .parts(let ranges):
      let ranges = whole.isArriving ? ranges.sorted { $0.lowerBound < $1.lowerBound } : ranges
      let framing = MultipartRanges(
        boundary: boundaries.next(), type: fields.first(.contentType) ?? [], complete: complete(whole))
      return several(whole, ranges, fields, framing)
    }
  }

  private func answer(_ request: Request, _ fields: Fields, length: Int) -> RangeAnswer {
    if let parts { return parts.select(request.head.fields) }
    let now = metadata?.date ?? request.wall
    let date = metadata?.date ?? fields.first(.date).flatMap { HTTPDate.parse($0, now: now) } ?? now
    return Ranges.decide(
      method: request.method, requestFields: request.head.fields, status: status, fields: fields, date: date,
      length: length)
  }

  /// The length of the representation; nil where only parts of it are known.
  private func complete(_ whole: BodyPieces) -> Int? { parts.map { $0.complete } ?? whole.count }

  private func append(_ range: Range<Int>, of whole: BodyPieces, to pieces: inout BodyPieces) {
    let start = parts.map { $0.offset(of: range) ?? 0 } ?? range.lowerBound
    pieces.append(start..<start + range.count, of: whole)
  }

  private func partial(
    _ whole: BodyPieces, _ ranges: [Range<Int>], _ fields: Fields, _ contentRange: ContentRange
  ) -> Response {
    var pieces = BodyPieces()
    for range in ranges { append(range, of: whole, to: &pieces) }
    // What is cut has other content than the one that Content-Digest speaks of (RFC 9530 section 2).
    var own = fields.without(FieldNameSet([.contentRange, .contentDigest]))
    own.append(.contentRange, contentRange.value)
    return sending(pieces, own, of: whole)
  }

  private func several(
    _ whole: BodyPieces, _ ranges: [Range<Int>], _ fields: Fields, _ framing: MultipartRanges
  ) -> Response {
    var pieces = BodyPieces()
    for (place, range) in ranges.enumerated() {
      pieces.append(.slice(Slice(framing.opening(of: range, isFirst: place == 0))))
      append(range, of: whole, to: &pieces)
    }
    pieces.append(.slice(Slice(framing.closing)))
    // Each part says its own type and place (RFC 9110 section 15.3.7.2).
    var own = fields.without(FieldNameSet([.contentRange, .contentType, .contentDigest]))
    own.append(.contentType, framing.contentType)
    return sending(pieces, own, of: whole)
  }

  private func sending(_ pieces: BodyPieces, _ fields: Fields, of whole: BodyPieces) -> Response {
    let read = pieces.streams
    for stream in whole.streams where !read.contains(where: { $0 === stream }) {
      ResponseBody.stream(stream).leaveUnread()
    }
    var answer = self
    answer.become(206)
    answer.fields = .parsed(fields)
    answer.body = pieces.body
    return answer
  }

  /// RFC 9110 section 15.5.17.
  private func unsatisfiable(length: Int) -> Response {
    body.leaveUnread()
    let value = String(decoding: ContentRange.unsatisfied(complete: length).value, as: UTF8.self)
    var answer = Response(
      status: status, text: "The range lies outside of the \(length) bytes that there are.\n",
      fields: [(.contentRange, value)])
    answer.cacheStatus = cacheStatus
    answer.become(416)
    return answer
  }
}
