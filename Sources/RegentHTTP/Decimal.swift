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
      // Up to 18 digits fit whatever they are.
      if range.count <= 18 {
        value = value &* 10 &+ Int(digit)
        continue
      }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int(digit))
      guard !overflow, !carry else { return nil }
      value = sum
    }
    return value
  }

  /// Writes the number's digits, with a minus sign before a negative one.
  public static func append(_ value: Int, to bytes: inout [UInt8]) {
    // One digit, as most ages are; then the general case.
    if value >= 0, value < 10 { return bytes.append(0x30 &+ UInt8(truncatingIfNeeded: value)) }
    if value < 0 { bytes.append(0x2D) }
    append(value.magnitude, to: &bytes)
  }

  private static func append(_ value: UInt, to bytes: inout [UInt8]) {
    // The last digit first, from the end of a buffer that holds the longest number.
    var digits = InlineArray<20, UInt8>(repeating: 0x30)
    var start = 20
    var rest = value
    repeat {
      start -= 1
      digits[start] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    } while rest > 0 && start > 0
    bytes.append(addingCapacity: 20 - start) { output in
      for index in start..<20 { output.append(digits[index]) }
    }
  }
}
