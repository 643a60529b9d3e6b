// The Range field of a request (RFC 9110 section 14.2) and what each of its ranges means for a length.
// A field that is malformed, repeated, of another unit or too long asks for nothing: it is ignored, never an error.

/// One range of a Range field, before the representation's length is known (RFC 9110 section 14.1.2).
public enum RangeSpec: Sendable, Equatable {
  /// From an offset through another one; `Int.max` where the range is open or its end beyond all lengths.
  case from(Int, through: Int)
  /// So many last bytes.
  case suffix(Int)

  /// The offsets that it selects in a representation of this length; nil where it is not satisfiable.
  public func resolved(length: Int) -> Range<Int>? {
    switch self {
    case .from(let first, let last):
      guard first < length, first <= last else { return nil }
      return first..<(min(last, length - 1) + 1)
    case .suffix(let count):
      guard count > 0, length > 0 else { return nil }
      return max(0, length - count)..<length
    }
  }
}

/// The reading of Range.
public enum RangeField {
  /// More ranges than this ask for nothing: no honest client sends them (TRUST B10).
  public static let maximumSpecs = 200

  /// The ranges that a request asks for, in its order; nil where it asks for none, or not properly.
  public static func specs(_ fields: Fields) -> [RangeSpec]? {
    guard fields.contains(.range) else { return nil }
    let values = fields.all(.range)
    return values.count == 1 ? parse(values[0]) : nil
  }

  /// The ranges of a value; nil where the unit is not bytes, where anything is malformed, or where there are too many.
  public static func parse(_ value: ArraySlice<UInt8>) -> [RangeSpec]? {
    let input = value.span
    let equals = input.first(0x3D, in: 0..<input.count)
    guard equals < input.count, input.equalsIgnoringCase(0..<equals, lowercased: "bytes".utf8) else {
      return nil
    }
    var specs: [RangeSpec] = []
    var rest = equals + 1..<input.count
    while let element = input.nextElement(&rest) {
      // RFC 9110 section 5.6.1.2: empty elements of a list do not count.
      if element.isEmpty { continue }
      guard let spec = spec(input, element), specs.count < maximumSpecs else { return nil }
      specs.append(spec)
    }
    return specs.isEmpty ? nil : specs
  }

  private static func spec(_ input: Span<UInt8>, _ element: Range<Int>) -> RangeSpec? {
    let dash = input.first(0x2D, in: element)
    guard dash < element.upperBound else { return nil }
    let (before, after) = (element.lowerBound..<dash, dash + 1..<element.upperBound)
    if before.isEmpty { return number(input, after).map { .suffix($0) } }
    guard let first = number(input, before) else { return nil }
    if after.isEmpty { return .from(first, through: .max) }
    guard let last = number(input, after), last >= first else { return nil }
    return .from(first, through: last)
  }

  /// The number of 1*DIGIT; one that no length can reach is `Int.max`.
  private static func number(_ input: Span<UInt8>, _ digits: Range<Int>) -> Int? {
    guard !digits.isEmpty else { return nil }
    var value = 0
    for index in digits {
      guard input[index].isDigit else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int(input[index] &- 0x30))
      value = overflow || carry ? .max : sum
    }
    return value
  }
}
