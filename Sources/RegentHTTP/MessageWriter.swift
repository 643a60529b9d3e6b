// Writes message heads and chunk lines into an array that its owner reuses.
// It cannot write a CR, LF or NUL inside a field: values are `FieldValue`s, numbers, dates or parsed lines.

/// A writer of HTTP/1.1 messages (RFC 9112).
public struct MessageWriter: Sendable {
  /// What was written; its owner takes it or empties it with `removeAll(keepingCapacity: true)`.
  public var bytes: [UInt8] = []

  public init() {}

  /// Writes into an array that has its capacity already.
  public init(reusing bytes: consuming [UInt8]) { self.bytes = bytes }

  /// `HTTP/1.1 200 OK` and its line end; an unregistered status has an empty reason.
  public mutating func statusLine(_ status: Int) {
    bytes.append(contentsOf: StatusLines.line(status))
  }

  /// The request line; a target that holds anything but target characters is written as "/".
  public mutating func requestLine(_ method: Method, target: some Collection<UInt8>) {
    bytes.append(contentsOf: Method.bytes(of: method))
    bytes.append(0x20)
    if !target.isEmpty, target.allSatisfy(\.isTargetCharacter) {
      bytes.append(contentsOf: target)
    } else {
      bytes.append(0x2F)
    }
    bytes.append(contentsOf: " HTTP/1.1\r\n".utf8)
  }

  public mutating func field(_ name: FieldName, _ value: FieldValue) {
    begin(name)
    value.append(to: &bytes)
    endLine()
  }

  public mutating func field(_ name: FieldName, decimal value: Int) {
    begin(name)
    Decimal.append(value, to: &bytes)
    endLine()
  }

  /// A date in seconds since 1970.
  public mutating func field(_ name: FieldName, date seconds: Int64) {
    begin(name)
    HTTPDate.append(seconds, to: &bytes)
    endLine()
  }

  /// A line as it was parsed, written anew: name, colon, space, value. One that is no valid field line,
  /// which the parser cannot have made, is left out.
  public mutating func line(_ line: FieldLine, of fields: Fields) {
    let name = fields.name(of: line)
    let value = fields.value(of: line)
    guard name.isFieldName, value.isFieldValue else { return }
    bytes.append(contentsOf: name)
    bytes.append(0x3A)
    bytes.append(0x20)
    bytes.append(contentsOf: value)
    endLine()
  }

  /// The empty line that ends a head.
  public mutating func endHead() { endLine() }

  /// The line before a chunk of so many bytes; 0 would be the last chunk and is not written.
  public mutating func chunkHeader(_ size: Int) {
    guard size > 0 else { return }
    var shift = (Int.bitWidth - 1 - size.leadingZeroBitCount) / 4 * 4
    while shift >= 0 {
      let digit = UInt8(truncatingIfNeeded: size >> shift & 15)
      bytes.append(digit < 10 ? 0x30 &+ digit : 0x57 &+ digit)
      shift -= 4
    }
    endLine()
  }

  /// The line end behind a chunk's data.
  public mutating func chunkEnd() { endLine() }

  /// The last chunk, without trailers: the end of a chunked body.
  public mutating func lastChunk() { bytes.append(contentsOf: "0\r\n\r\n".utf8) }

  private mutating func begin(_ name: FieldName) {
    bytes.append(contentsOf: FieldName.bytes(of: name))
    bytes.append(0x3A)
    bytes.append(0x20)
  }

  private mutating func endLine() {
    bytes.append(0x0D)
    bytes.append(0x0A)
  }
}
