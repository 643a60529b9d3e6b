// Which fields go on to the next hop (RFC 9110 section 7.6.1), and their writing.

extension FieldName {
  /// The fields that belong to one connection and are never forwarded.
  ///
  /// TE, Trailer, Transfer-Encoding and Upgrade always belong to the connection here, named or not.
  /// Proxy-Authorization and Proxy-Authenticate are meant for the next proxy, which Regent is: they end
  /// here (RFC 9110 sections 11.7.1 and 11.7.2), and so does Proxy-Authentication-Info.
  public static let hopByHop = FieldNameSet([
    .connection, .keepAlive, .proxyConnection, .te, .trailer, .transferEncoding, .upgrade,
    .proxyAuthenticate, .proxyAuthorization, .proxyAuthenticationInfo,
  ])
}

extension Fields {
  /// Whether a Connection field of this section names the line.
  public func connectionNames(_ line: FieldLine) -> Bool {
    guard contains(.connection) else { return false }
    let span = bytes.span
    for connection in lines where connection.name == .connection {
      var rest = connection.valueRange
      while let option = span.nextElement(&rest) {
        if span.equalsIgnoringCase(option, line.nameRange) { return true }
      }
    }
    return false
  }
}

extension MessageWriter {
  /// Every line but the hop-by-hop ones, those that Connection names, and `except`.
  ///
  /// Content-Length is written as the number that was understood. A protected field stays even where
  /// Connection names it, which the parser refuses anyway. Lines that stand side by side as they are written, which
  /// most do, are copied together.
  public mutating func forwarded(_ fields: Fields, except: FieldNameSet = FieldNameSet()) {
    let named = fields.connectionNamesMore
    let dropped = FieldName.hopByHop.union(except)
    let lines = fields.lines.span
    var run = 0..<0
    for index in lines.indices {
      let line = lines[index]
      if dropped.contains(line.name) { continue }
      if named, !line.name.isProtected(request: true), fields.connectionNames(line) { continue }
      let whole = line.name == .contentLength ? nil : line.whole
      if let whole, whole.lowerBound == run.upperBound {
        run = run.lowerBound..<whole.upperBound
        continue
      }
      if !run.isEmpty { bytes.append(contentsOf: fields.bytes[run]) }
      run = whole ?? 0..<0
      if whole == nil { writeAnew(line, of: fields) }
    }
    if !run.isEmpty { bytes.append(contentsOf: fields.bytes[run]) }
  }

  private mutating func writeAnew(_ line: FieldLine, of fields: Fields) {
    guard line.name == .contentLength else { return self.line(line, of: fields) }
    if let length = Decimal.parse(fields.value(of: line)) { field(.contentLength, decimal: length) }
  }
}

extension Span<UInt8> {
  /// Whether two ranges are the same but for the case of ASCII letters.
  func equalsIgnoringCase(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
    guard one.count == other.count else { return false }
    for step in 0..<one.count
    where self[one.lowerBound &+ step].asciiLowercased != self[other.lowerBound &+ step].asciiLowercased {
      return false
    }
    return true
  }
}
