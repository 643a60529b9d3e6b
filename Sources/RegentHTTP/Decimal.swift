// Numbers as HTTP writes them: digits alone, checked. `Int("+5")` is what this must never be.

/// Decimal numbers of 1*DIGIT.
public enum Decimal {
  /// The number that these bytes spell; nil where one is no digit, there is none, or Int overflows.
  public static func parse(_ bytes: ArraySlice<UInt8>) -> Int? {
    let span = bytes.span
    return parse(span, 0..<span.count)
  }

  /// The same for a range of a span.
  public static func parse(_ input: Span<UInt8>, _ range: Range<Int>) -> Int? {
    guard !range.isEmpty else { return nil }
    var value = 0
    for index in range {
      let digit = input[index] &- 0x30
      guard digit < 10 else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int(digit))
      guard !overflow, !carry else { return nil }
      value = sum
    }
    return value
  }

  /// Writes the number's digits, with a minus sign before a negative one.
  public static func append(_ value: Int, to bytes: inout [UInt8]) {
    if value < 0 { bytes.append(0x2D) }
    append(value.magnitude, to: &bytes)
  }

  private static func append(_ value: UInt, to bytes: inout [UInt8]) {
    var scale: UInt = 1
    while value / scale >= 10 { scale &*= 10 }
    while scale > 0 {
      bytes.append(UInt8(truncatingIfNeeded: value / scale % 10) &+ 0x30)
      scale /= 10
    }
  }
}
