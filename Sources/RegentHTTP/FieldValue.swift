// A field value that cannot split a message: the only kind that MessageWriter takes (TRUST A17).
// It holds a slice or a literal, never a copy.

/// Bytes that are proven free of CR, LF, NUL and other controls, without white space at their ends.
public struct FieldValue: Sendable, ExpressibleByStringLiteral {
  private enum Storage: Sendable {
    case literal(String)
    case bytes(ArraySlice<UInt8>)
  }

  private let storage: Storage

  /// The value, or nil where it holds a control character or begins or ends with white space.
  public init?(validating bytes: ArraySlice<UInt8>) {
    guard bytes.isFieldValue else { return nil }
    storage = .bytes(bytes)
  }

  /// The value, or nil where it holds a control character or begins or ends with white space.
  public init?(validating bytes: [UInt8]) { self.init(validating: bytes[...]) }

  /// The value, or nil where it holds a control character or begins or ends with white space.
  public init?(validating text: String) {
    guard Array(text.utf8)[...].isFieldValue else { return nil }
    storage = .literal(text)
  }

  /// A literal, which costs no allocation; one that holds a control character is a mistake in the program.
  public init(stringLiteral value: String) {
    let span = value.utf8.span
    precondition(
      span.firstControl(in: 0..<span.count) == span.count, "A literal field value holds a control character.")
    storage = .literal(value)
  }

  func append(to output: inout [UInt8]) {
    switch storage {
    case .literal(let text): Self.append(text.utf8.span, to: &output)
    case .bytes(let bytes): output.append(contentsOf: bytes)
    }
  }
}

extension FieldValue {
  private static func append(_ text: Span<UInt8>, to output: inout [UInt8]) {
    output.append(addingCapacity: text.count) { output in
      for index in text.indices { output.append(text[index]) }
    }
  }
}

extension ArraySlice<UInt8> {
  /// Whether these bytes may stand as a field value (RFC 9110 section 5.5).
  var isFieldValue: Bool {
    let span = span
    guard span.firstControl(in: 0..<span.count) == span.count else { return false }
    return isEmpty || !(span[0].isBlank || span[span.count - 1].isBlank)
  }

  /// Whether these bytes may stand as a field name (RFC 9110 section 5.1).
  var isFieldName: Bool {
    let span = span
    return span.isToken(0..<span.count)
  }
}
