// A field section kept flat: the bytes as they came, and where each line's name and value lie in them.
// Order and repeats are kept (RFC 9110 section 5.3); nothing is folded into a dictionary.

/// The place of one field line in the bytes of its section.
public struct FieldLine: Sendable, Equatable {
  /// The known name, or ``FieldName/other``.
  public let name: FieldName
  let form: Form
  let nameStart: UInt32
  let nameEnd: UInt32
  let valueStart: UInt32
  let valueEnd: UInt32

  /// The offsets of the name in ``Fields/bytes``.
  public var nameRange: Range<Int> { Int(nameStart)..<Int(nameEnd) }
  /// The offsets of the value, without white space around it, in ``Fields/bytes``.
  public var valueRange: Range<Int> { Int(valueStart)..<Int(valueEnd) }

  /// What a parser saw of how it stands in its bytes.
  enum Form: UInt8, Sendable {
    case unknown
    /// Name, colon, one space, value, CRLF.
    case verbatim
    /// The same, and a known name is spelled as Regent writes it.
    case written
  }

  public init(name: FieldName, nameRange: Range<Int>, valueRange: Range<Int>) {
    self.init(name: name, nameRange: nameRange, valueRange: valueRange, form: .unknown)
  }

  /// The same line as it stands where its name begins elsewhere.
  @inline(__always)
  func moved(to start: Int) -> FieldLine {
    let distance = UInt32(truncatingIfNeeded: start) &- nameStart
    return FieldLine(self, movedBy: distance)
  }

  private init(_ line: FieldLine, movedBy distance: UInt32) {
    name = line.name
    form = line.form
    nameStart = line.nameStart &+ distance
    nameEnd = line.nameEnd &+ distance
    valueStart = line.valueStart &+ distance
    valueEnd = line.valueEnd &+ distance
  }

  init(name: FieldName, nameRange: Range<Int>, valueRange: Range<Int>, form: Form) {
    self.name = name
    self.form = form
    nameStart = UInt32(nameRange.lowerBound)
    nameEnd = UInt32(nameRange.upperBound)
    valueStart = UInt32(valueRange.lowerBound)
    valueEnd = UInt32(valueRange.upperBound)
  }
}

/// A field section (RFC 9110 section 5): its lines in order, repeats included, over the bytes they came in.
public struct Fields: Sendable {
  /// The bytes that the lines point into; they may hold more than the section, such as a request line.
  public private(set) var bytes: [UInt8]
  /// The lines, in the order of their arrival.
  public private(set) var lines: [FieldLine]
  /// Which known names occur: answers "is it there?" without a walk.
  public private(set) var present: FieldNameSet
  /// Whether Connection has an option besides close and keep-alive, which name no line that is forwarded.
  public private(set) var connectionNamesMore = false

  public init(bytes: [UInt8] = [], lines: [FieldLine] = []) {
    self.bytes = bytes
    self.lines = lines
    present = FieldNameSet()
    for line in lines { note(line) }
  }

  init(bytes: [UInt8], lines: [FieldLine], _ facts: HeadFacts) {
    self.bytes = bytes
    self.lines = lines
    present = facts.present
    connectionNamesMore = facts.connectionNamesMore
  }

  /// The fields of a trailer section (RFC 9110 section 6.5) that a decoder found well-formed: its field lines as they came.
  ///
  /// None of them may be merged into the head's: what frames, routes or controls has no meaning there.
  public init(trailers bytes: [UInt8]) throws(ParseError) {
    self.init(bytes: bytes, lines: try HeadSection.trailerLines(bytes.span))
  }

  private mutating func note(_ line: FieldLine) {
    present.insert(line.name)
    guard line.name == .connection else { return }
    let isKeepAlive = FieldName.recognize(bytes.span, line.valueRange) == .keepAlive
    if isKeepAlive || value(of: line).equalsIgnoringCase("close".utf8) { return }
    connectionNamesMore = true
  }

  /// Adds a line at the end; false, and nothing added, where the value could not stand in a message.
  @discardableResult
  public mutating func append(_ name: FieldName, _ value: some Sequence<UInt8>) -> Bool {
    append(name, named: FieldName.bytes(of: name), value)
  }

  /// Adds a line under any name; false, and nothing added, where name or value could not stand in a message.
  @discardableResult
  public mutating func append(named name: some Sequence<UInt8>, _ value: some Sequence<UInt8>) -> Bool {
    append(nil, named: name, value)
  }

  private mutating func append(
    _ known: FieldName?, named name: some Sequence<UInt8>, _ value: some Sequence<UInt8>
  ) -> Bool {
    let nameStart = bytes.count
    bytes.append(contentsOf: name)
    let valueStart = bytes.count
    bytes.append(contentsOf: value)
    let spelled = bytes[nameStart..<valueStart]
    guard spelled.isFieldName, bytes[valueStart...].isFieldValue else {
      bytes.removeSubrange(nameStart...)
      return false
    }
    let known = known ?? FieldName(spelled)
    let line = FieldLine(
      name: known, nameRange: nameStart..<valueStart, valueRange: valueStart..<bytes.count)
    lines.append(line)
    note(line)
    return true
  }

  @inlinable @inline(__always) public func contains(_ name: FieldName) -> Bool { present.contains(name) }

  /// The value of a line.
  public func value(of line: FieldLine) -> ArraySlice<UInt8> { bytes[line.valueRange] }
  /// The name of a line, as it came.
  public func name(of line: FieldLine) -> ArraySlice<UInt8> { bytes[line.nameRange] }

  /// Appends a line as it is written: a known name as Regent spells it, colon, space, value, CRLF.
  public func append(_ line: FieldLine, onto block: inout [UInt8]) {
    if line.form == .written, let whole = line.whole { return block.append(contentsOf: bytes[whole]) }
    block.append(contentsOf: line.name == .other ? name(of: line) : FieldName.bytes(of: line.name)[...])
    block.append(0x3A)
    block.append(0x20)
    block.append(contentsOf: value(of: line))
    block.append(0x0D)
    block.append(0x0A)
  }

  /// The value of the first line with this name; nil where there is none.
  public func first(_ name: FieldName) -> ArraySlice<UInt8>? {
    guard contains(name) else { return nil }
    for line in lines where line.name == name { return value(of: line) }
    return nil
  }

  /// The values of all lines with this name, in order.
  public func all(_ name: FieldName) -> [ArraySlice<UInt8>] {
    guard contains(name) else { return [] }
    return lines.filter { $0.name == name }.map(value(of:))
  }

  /// The values of all lines whose name has these bytes, whatever their case.
  public func all(named name: some Collection<UInt8>) -> [ArraySlice<UInt8>] {
    lines.filter { self.name(of: $0).equalsIgnoringCase(name) }.map(value(of:))
  }
}

/// A set of known field names.
public struct FieldNameSet: Sendable, Equatable {
  @usableFromInline var low: UInt64 = 0
  @usableFromInline var high: UInt64 = 0

  public init() {}

  public init(_ names: [FieldName]) {
    for name in names { insert(name) }
  }

  @inlinable public mutating func insert(_ name: FieldName) {
    if name.rawValue < 64 {
      low |= 1 << UInt64(name.rawValue)
    } else {
      high |= 1 << UInt64(name.rawValue - 64)
    }
  }

  @inlinable @inline(__always) public func contains(_ name: FieldName) -> Bool {
    (name.rawValue < 64 ? low : high) &>> UInt64(name.rawValue) & 1 == 1
  }

  /// The names that are in either set.
  public func union(_ other: FieldNameSet) -> FieldNameSet {
    var both = self
    both.low |= other.low
    both.high |= other.high
    return both
  }

  public func isDisjoint(with other: FieldNameSet) -> Bool { low & other.low == 0 && high & other.high == 0 }
}

extension FieldName {
  /// The name's bytes as Regent writes them.
  public static func bytes(of name: FieldName) -> [UInt8] { table[Int(name.rawValue)] }

  private static let table: [[UInt8]] = allCases.map { Array($0.text.description.utf8) }
}

extension Collection where Element == UInt8 {
  /// Whether both are the same but for the case of ASCII letters.
  public func equalsIgnoringCase(_ other: some Collection<UInt8>) -> Bool {
    count == other.count && zip(self, other).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
  }
}

extension UInt8 {
  /// The byte with an ASCII capital letter made small.
  public var asciiLowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}
