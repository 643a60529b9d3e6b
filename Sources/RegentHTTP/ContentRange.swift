// The Content-Range field (RFC 9110 section 14.4): what part of a representation a 206 encloses, or how long the one
// is of which a 416 says that the asked range lies outside. An invalid value is nil: nothing may be combined by it.

/// A valid Content-Range in bytes.
public enum ContentRange: Sendable, Equatable {
  /// `bytes first-last/complete`: the offsets, and the length of the whole; nil where it is `*`.
  case part(Range<Int>, complete: Int?)
  /// `bytes */complete`.
  case unsatisfied(complete: Int)

  /// The only Content-Range of a response; nil where there is none, or more than one, or an invalid one.
  public init?(_ fields: borrowing Fields) {
    guard fields.contains(.contentRange) else { return nil }
    let values = fields.all(.contentRange)
    guard values.count == 1 else { return nil }
    self.init(values[0])
  }

  /// Reads a value; nil for another unit, for numbers that overflow, and where last < first or complete <= last.
  public init?(_ value: ArraySlice<UInt8>) {
    let input = value.span
    let space = input.first(0x20, in: 0..<input.count)
    let slash = input.first(0x2F, in: 0..<input.count)
    guard space < slash, slash < input.count,
      input.equalsIgnoringCase(0..<space, lowercased: "bytes".utf8)
    else { return nil }
    let range = space + 1..<slash
    let length = slash + 1..<input.count
    let isUnknown = input.equals(length, [0x2A])
    let complete = Decimal.parse(input, length)
    guard isUnknown || complete != nil else { return nil }
    if input.equals(range, [0x2A]) {
      guard let complete else { return nil }
      self = .unsatisfied(complete: complete)
      return
    }
    let dash = input.first(0x2D, in: range)
    guard dash < range.upperBound, let first = Decimal.parse(input, range.lowerBound..<dash),
      let last = Decimal.parse(input, dash + 1..<range.upperBound), first <= last, last < .max,
      complete.map({ last < $0 }) ?? true
    else { return nil }
    self = .part(first..<(last + 1), complete: complete)
  }

  /// The field's value.
  public var value: [UInt8] {
    var bytes = Array("bytes ".utf8)
    switch self {
    case .part(let range, let complete):
      Decimal.append(range.lowerBound, to: &bytes)
      bytes.append(0x2D)
      Decimal.append(max(range.lowerBound, range.upperBound - 1), to: &bytes)
      bytes.append(0x2F)
      if let complete { Decimal.append(complete, to: &bytes) } else { bytes.append(0x2A) }
    case .unsatisfied(let complete):
      bytes.append(contentsOf: "*/".utf8)
      Decimal.append(complete, to: &bytes)
    }
    return bytes
  }
}
