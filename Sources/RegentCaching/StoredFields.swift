// RFC 9111 section 3.1: which of a response's fields are stored, as lines that can be sent as they are. They
// come in two blocks: one that tends to be the same across a site's responses, so that a store can keep it
// once, and one of the response's own.

public import RegentHTTP

/// The field lines of a stored response.
public enum StoredFields {
  /// Appends the lines to be stored, each as `Name: value CRLF`.
  ///
  /// All lines with one name go to the same block, in order. Date and Age are kept in ``StoredMetadata``,
  /// Content-Length follows from the content.
  public static func split(_ fields: Fields, shared: inout [UInt8], own: inout [UInt8]) {
    let exclusions = Exclusions(fields)
    shared.reserveCapacity(shared.count + fields.bytes.count)
    own.reserveCapacity(own.count + fields.bytes.count)
    for line in fields.lines where !exclusions.contain(line, fields) {
      if OwnFields.contain(line, fields) {
        fields.append(line, onto: &own)
      } else {
        fields.append(line, onto: &shared)
      }
    }
  }

  /// Adds the lines of a block to some fields: the way back. Damaged lines are left out.
  public static func append(linesOf block: Span<UInt8>, to fields: inout Fields) {
    var walk = BlockLines(end: block.count)
    while let line = walk.next(block) {
      fields.append(named: copy(block, line.name), copy(block, line.value))
    }
  }

  /// The place of the value of the first line with this name in a block; nil where there is none.
  public static func value(of name: FieldName, in block: Span<UInt8>) -> Range<Int>? {
    let wanted = FieldName.bytes(of: name)
    var walk = BlockLines(end: block.count)
    while let line = walk.next(block) {
      guard line.name.count == wanted.count else { continue }
      var offset = 0
      while offset < wanted.count, block[line.name.lowerBound + offset] == wanted[offset] { offset += 1 }
      if offset == wanted.count { return line.value }
    }
    return nil
  }

  private static func copy(_ block: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    for index in range { bytes.append(block[index]) }
    return bytes
  }
}

/// Walks the lines that ``StoredFields`` wrote.
private struct BlockLines {
  private var position = 0
  private let end: Int

  init(end: Int) { self.end = end }

  mutating func next(_ block: Span<UInt8>) -> (name: Range<Int>, value: Range<Int>)? {
    while position < end {
      let start = position
      while position < end, block[position] != 0x0A { position += 1 }
      let lineEnd = position > start && block[position - 1] == 0x0D ? position - 1 : position
      position += 1
      var colon = start
      while colon < lineEnd, block[colon] != 0x3A { colon += 1 }
      guard colon > start, colon < lineEnd else { continue }
      let value = colon + 1 < lineEnd && block[colon + 1] == 0x20 ? colon + 2 : colon + 1
      return (start..<colon, value..<lineEnd)
    }
    return nil
  }
}
