// RFC 9110 section 14.2: what of a representation answers a request with Range. The conditions that come before it
// (section 13.2.2: If-None-Match, If-Modified-Since) are the caller's to have tested; If-Range is tested here.

public import RegentHTTP

/// What answers a request for ranges.
public enum RangeAnswer: Sendable, Equatable {
  /// All of it, with its own status: the request asks for no range, or its Range does not count.
  case whole
  /// 206 with one part.
  case part(Range<Int>)
  /// 206 in multipart/byteranges: at least two parts that neither overlap nor touch, in the order of the request.
  case parts([Range<Int>])
  /// 416 with `Content-Range: bytes */length`.
  case unsatisfiable
}

/// The decision about ranges.
public enum Ranges {
  /// The most parts in one answer; a request that comes to more gets the whole (TRUST B10).
  public static let maximumParts = 16

  /// Decides for a representation of known length.
  ///
  /// - Parameters:
  ///   - status: The status that answers the request without its Range; only of a 200 there are parts.
  ///   - fields: The representation's fields, for If-Range.
  ///   - date: Its Date, in seconds since 1970.
  public static func decide(
    method: Method, requestFields: Fields, status: Int, fields: Fields, date: Int64, length: Int
  ) -> RangeAnswer {
    guard method == .get, status == 200, let specs = RangeField.specs(requestFields),
      IfRange.holds(requestFields, for: fields, date: date)
    else { return .whole }
    return select(specs, length: length)
  }

  /// What these ranges come to in a representation of this length.
  public static func select(_ specs: [RangeSpec], length: Int) -> RangeAnswer {
    let ranges = coalesced(specs.compactMap { $0.resolved(length: length) })
    guard let first = ranges.first else {
      // The last bytes of nothing are satisfiable (section 14.1.2), but no Content-Range can name them.
      let isEmpty = length == 0 && specs.contains { if case .suffix(1...) = $0 { true } else { false } }
      return isEmpty ? .whole : .unsatisfiable
    }
    if ranges.count == 1 { return .part(first) }
    return ranges.count <= maximumParts ? .parts(ranges) : .whole
  }

  /// The ranges with those joined that overlap or touch; each stands where its first member stood.
  static func coalesced(_ ranges: [Range<Int>]) -> [Range<Int>] {
    guard ranges.count > 1 else { return ranges }
    var joined: [(range: Range<Int>, place: Int)] = []
    for (place, range) in ranges.enumerated().sorted(by: { $0.element.lowerBound < $1.element.lowerBound }) {
      if let last = joined.last, range.lowerBound <= last.range.upperBound {
        let end = max(last.range.upperBound, range.upperBound)
        joined[joined.count - 1] = (last.range.lowerBound..<end, min(last.place, place))
      } else {
        joined.append((range, place))
      }
    }
    return joined.sorted { $0.place < $1.place }.map(\.range)
  }
}
