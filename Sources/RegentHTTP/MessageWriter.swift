// Writes message heads and chunk lines into an array that its owner reuses.
// It cannot write a CR, LF or NUL inside a field: values are `FieldValue`s, numbers, dates or parsed lines.

/// A writer of HTTP/1.1 messages (RFC 9112).
public struct MessageWriter: Sendable {
  /// What was written; its owner takes it or empties it with `removeAll(keepingCapacity: true)`.
  public var bytes: [UInt8] = []

  public init() {}

  /// Writes into an array that has its capacity already.
  public init(reusing bytes: consuming [UInt8]) { self.bytes = bytes }

  /// Takes what was written out of the writer, which is empty then and holds no other reference to it.
  public mutating func takeBytes() -> [UInt8] {
    var taken: [UInt8] = []
    swap(&taken, &bytes)
    return taken
  }

  /// `HTTP/1.1 200 OK` and its line end; an unregistered status has an empty reason.
  public mutating func statusLine(_ status: Int) {
    bytes.append(contentsOf: StatusLines.line(status))
  }

  /// The request line; a target that holds anything but target characters is written as "/".
  public mutating func requestLine(_ method: Method, target: ArraySlice<UInt8>) {
    bytes.append(contentsOf: Method.bytes(of: method))
    bytes.append(0x20)
    if !target.isEmpty, target.span.isTarget(0..<target.count) {
      bytes.append(contentsOf: target)
    } else {
      bytes.append(0x2F)
    }
    Self.append(" HTTP/1.1\r\n".utf8.span, to: &bytes)
  }

  /// The request line for a target in its parts; one that holds anything but target characters is written as "/".
  public mutating func requestLine(
    _ method: Method, base: [UInt8], path: ArraySlice<UInt8>, query: ArraySlice<UInt8>?
  ) {
    guard base.span.isTarget(0..<base.count), path.span.isTarget(0..<path.count),
      !base.isEmpty || !path.isEmpty,
      query.map({ $0.span.isTarget(0..<$0.count) }) ?? true
    else { return requestLine(method, target: []) }
    bytes.append(contentsOf: Method.bytes(of: method))
    bytes.append(0x20)
    if !base.isEmpty { bytes.append(contentsOf: base) }
    bytes.append(contentsOf: path)
    if let query {
      bytes.append(0x3F)
      bytes.append(contentsOf: query)
    }
    Self.append(" HTTP/1.1\r\n".utf8.span, to: &bytes)
  }

  private static func append(_ text: Span<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(addingCapacity: text.count) { output in
      for index in text.indices { output.append(text[index]) }
    }
  }

  /// The request line that asks a proxy for a tunnel to `destination`, a host and a port (RFC 9112 section 3.2.3).
  public mutating func connectRequest(to destination: [UInt8]) {
    requestLine(.connect, target: destination[...])
  }

  /// A line under a known name; ``FieldName/other`` has no spelling and is not written.
  public mutating func field(_ name: FieldName, _ value: FieldValue) {
    guard name != .other else { return }
    begin(name)
    value.append(to: &bytes)
    endLine()
  }

  /// A line that was put together before.
  public mutating func line(_ line: PreparedLine) { bytes.append(contentsOf: line.bytes) }

  /// A number of digits alone, with a minus sign where it is negative.
  public mutating func field(_ name: FieldName, decimal value: Int) {
    guard name != .other else { return }
    begin(name)
    Decimal.append(value, to: &bytes)
    endLine()
  }

  /// A date in seconds since 1970.
  public mutating func field(_ name: FieldName, date seconds: Int64) {
    guard name != .other else { return }
    begin(name)
    HTTPDate.append(seconds, to: &bytes)
    endLine()
  }

  /// A line as it was parsed, written anew: name, colon, space, value. One that is no valid field line,
  /// which the parser cannot have made, is left out.
  public mutating func line(_ line: FieldLine, of fields: Fields) {
    let span = fields.bytes.span
    guard span.isFieldLine(line) else { return }
    append(span.extracting(line.nameRange), span.extracting(line.valueRange))
  }

  /// A line under a name that is not in the table; a name that is no token is not written.
  public mutating func field(named name: ArraySlice<UInt8>, _ value: FieldValue) {
    guard name.isFieldName else { return }
    bytes.append(contentsOf: name)
    bytes.append(0x3A)
    bytes.append(0x20)
    value.append(to: &bytes)
    endLine()
  }

  private mutating func append(_ name: Span<UInt8>, _ value: Span<UInt8>) {
    bytes.append(addingCapacity: name.count + value.count + 4) { output in
      for index in name.indices { output.append(name[index]) }
      output.append(0x3A)
      output.append(0x20)
      for index in value.indices { output.append(value[index]) }
      output.append(0x0D)
      output.append(0x0A)
    }
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
    bytes.append(contentsOf: FieldName.prefixes[Int(name.rawValue)])
  }

  public mutating func endLine() {
    bytes.append(0x0D)
    bytes.append(0x0A)
  }
}

extension Span<UInt8> {
  /// Whether name and value of the line may stand in a message.
  fileprivate func isFieldLine(_ line: FieldLine) -> Bool {
    let value = line.valueRange
    guard firstControl(in: value) == value.upperBound else { return false }
    guard value.isEmpty || !(self[value.lowerBound].isBlank || self[value.upperBound - 1].isBlank) else {
      return false
    }
    // A name that spells a known one in text is a token; only of others each byte must be looked at.
    let name = line.nameRange
    let known = line.name != .other && firstControl(in: name) == name.upperBound
    return (known && FieldName.recognize(self, name) == line.name) || isToken(name)
  }
}

extension FieldLine {
  /// The line with its CRLF, where it stands in the bytes just as it is written. A parser saw then that nothing is in it
  /// that could not stand in a message; every other line is looked at anew.
  @inline(__always)
  var whole: Range<Int>? {
    form == .unknown ? nil : Int(nameStart)..<(Int(valueEnd) &+ 2)
  }
}

extension FieldName {
  /// Each name as it begins a line, with its colon and space.
  fileprivate static let prefixes: [[UInt8]] = allCases.map { bytes(of: $0) + [0x3A, 0x20] }
}
