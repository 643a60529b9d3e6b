// A field line that is written into many messages: checked and put together once.

/// A field line as it is written.
public struct PreparedLine: Sendable {
  let bytes: [UInt8]

  /// The line; nothing at all where the value holds a control character, or begins or ends with white space.
  public init(_ name: FieldName, _ value: [UInt8]) {
    var writer = MessageWriter()
    if let value = FieldValue(validating: value) { writer.field(name, value) }
    bytes = writer.takeBytes()
  }
}
