// RFC 9111 sections 3.3 and 3.4: which parts of a representation are stored, what they answer, and what is missing.
// A stored part never answers a request for the whole. Ranges are half-open; the stored body is the parts' bytes in order.

public import RegentHTTP

/// The stored parts of one representation: at least one, ascending, with gaps between them.
public struct Parts: Sendable, Equatable {
  /// More parts than this are not kept apart.
  public static let maximum = 16

  public let ranges: [Range<Int>]
  /// The length of the whole; nil where no origin has said it.
  public let complete: Int?

  /// Nil where the ranges are none, unsorted, touching, too many, or beyond the length.
  public init?(_ ranges: [Range<Int>], complete: Int?) {
    guard let first = ranges.first, let last = ranges.last, ranges.count <= Self.maximum else { return nil }
    guard first.lowerBound >= 0, last.upperBound <= complete ?? .max - 1 else { return nil }
    guard zip(ranges, ranges.dropFirst()).allSatisfy({ $0.upperBound < $1.lowerBound }),
      ranges.allSatisfy({ !$0.isEmpty })
    else { return nil }
    self.ranges = ranges
    self.complete = complete
  }

  /// The parts that stored fields name, one Content-Range for each; nil where they do not fit the body's length.
  public init?(stored fields: Fields, bodyCount: Int) {
    var ranges: [Range<Int>] = []
    var complete: Int?
    for value in fields.all(.contentRange) {
      guard case .part(let range, let length)? = ContentRange(value) else { return nil }
      ranges.append(range)
      complete = length
    }
    self.init(ranges, complete: complete)
    guard count == bodyCount else { return nil }
  }

  /// The one part that a 206 brought; nil where it is not to be stored.
  ///
  /// Where the content is shorter than its Content-Range says, though its own end is proven, its start and its length
  /// are believed: it can answer by itself, and its length as a whole agrees with no honest part.
  ///
  /// - Parameter isExact: Whether Content-Length delimited the content.
  public init?(received fields: Fields, bodyCount: Int, isExact: Bool) {
    guard case .part(let range, let complete)? = ContentRange(fields), bodyCount > 0,
      bodyCount == range.count || isExact && bodyCount < range.count
    else { return nil }
    guard bodyCount < range.count else {
      self.init([range], complete: complete)
      return
    }
    let end = range.lowerBound + bodyCount
    // What reached the end still does; but never may too short a content stand for the whole.
    let reachesEnd = range.lowerBound > 0 && complete == range.upperBound
    self.init([range.lowerBound..<end], complete: reachesEnd ? end : nil)
  }

  /// The bytes that are stored.
  public var count: Int { ranges.reduce(0) { $0 + $1.count } }
  /// Whether nothing is missing.
  public var isWhole: Bool { complete.map { ranges == [0..<$0] } ?? false }

  /// Where a stored range begins in the stored body; nil where not all of it is stored.
  public func offset(of range: Range<Int>) -> Int? {
    var before = 0
    for part in ranges {
      if part.lowerBound <= range.lowerBound, range.upperBound <= part.upperBound {
        return before + range.lowerBound - part.lowerBound
      }
      before += part.count
    }
    return nil
  }

  /// The fields' values that name these parts: what ``init(stored:bodyCount:)`` reads.
  public var contentRanges: [[UInt8]] { ranges.map { ContentRange.part($0, complete: complete).value } }

  /// The length to reckon with: an unknown one is longer than everything.
  var assumedLength: Int { complete ?? Self.endless }
  private static let endless = 1 << 60
}

// MARK: Answering

extension Parts {
  /// What stored parts can do for a request.
  public enum Answer: Sendable, Equatable {
    /// All that is asked for is stored, or the asked range lies outside.
    case serve
    /// One contiguous piece is missing.
    case fetch(Gap)
    /// They are of no use.
    case forward
  }

  /// A contiguous piece that is not stored, with stored bytes beside it.
  public struct Gap: Sendable, Equatable {
    public let first: Int
    /// The last offset; nil where everything from the first one on is missing.
    public let last: Int?

    public init(first: Int, last: Int?) {
      self.first = first
      self.last = last
    }

    /// The value of Range that asks for it.
    public var range: [UInt8] {
      var bytes = Array("bytes=".utf8)
      Decimal.append(first, to: &bytes)
      bytes.append(0x2D)
      if let last { Decimal.append(last, to: &bytes) }
      return bytes
    }
  }

  /// Decides about a GET. A request whose Range does not count asks for the whole.
  public func answer(_ requestFields: Fields, fields: Fields, date: Int64) -> Answer {
    let all = 0..<assumedLength
    guard let specs = RangeField.specs(requestFields),
      IfRange.holds(requestFields, for: fields, date: date)
    else { return gap(in: all) }
    if complete == nil, specs.contains(where: { if case .suffix = $0 { true } else { false } }) {
      return .forward
    }
    switch Ranges.select(specs, length: assumedLength) {
    case .whole: return gap(in: all)
    case .unsatisfiable: return complete == nil ? .forward : .serve
    case .part(let range): return offset(of: range) == nil ? gap(in: range) : .serve
    case .parts(let ranges): return ranges.allSatisfy { offset(of: $0) != nil } ? .serve : .forward
    }
  }

  /// What of a stored representation answers a request that ``answer(_:fields:date:)`` said can be served.
  public func select(_ requestFields: Fields) -> RangeAnswer {
    guard let specs = RangeField.specs(requestFields) else { return .whole }
    return Ranges.select(specs, length: assumedLength)
  }

  private func gap(in asked: Range<Int>) -> Answer {
    var missing: [Range<Int>] = []
    var position = asked.lowerBound
    for part in ranges where part.overlaps(asked) {
      if part.lowerBound > position { missing.append(position..<part.lowerBound) }
      position = part.upperBound
    }
    let someIsStored = ranges.contains { $0.overlaps(asked) }
    if position < asked.upperBound { missing.append(position..<asked.upperBound) }
    guard someIsStored, missing.count == 1, let gap = missing.first else { return .forward }
    return .fetch(
      Gap(first: gap.lowerBound, last: gap.upperBound == assumedLength ? nil : gap.upperBound - 1))
  }
}
