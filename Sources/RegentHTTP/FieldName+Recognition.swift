// Finds a known name by its length and its first and last letter: a perfect hash, one comparison.
// A test proves that it is perfect; a new name that collides asks for other factors.

extension FieldName {
  /// The known name that these bytes spell in any case, or ``other``.
  public init(_ bytes: ArraySlice<UInt8>) {
    let span = bytes.span
    self = FieldName.recognize(span, 0..<span.count)
  }

  /// The known name that the bytes of the range spell in any case, or ``other``.
  static func recognize(_ input: Span<UInt8>, _ range: Range<Int>) -> FieldName {
    guard range.count >= 2, range.count <= stride else { return .other }
    let first = input[range.lowerBound] | 0x20
    let last = input[range.upperBound &- 1] | 0x20
    let directory = directory
    let candidate = directory.slots[slot(length: range.count, first: first, last: last)]
    guard candidate != 0, range.count == Int(directory.lengths[Int(candidate)]) else { return .other }
    var known = Int(candidate) &* stride
    for index in range {
      guard input[index].asciiLowercased == directory.letters[known] else { return .other }
      known &+= 1
    }
    return FieldName(rawValue: candidate) ?? .other
  }

  static func slot(length: Int, first: UInt8, last: UInt8) -> Int {
    (length &* 95 &+ Int(first) &* 163 &+ Int(last)) & 255
  }

  private static let stride = 32

  private struct Directory: Sendable {
    var slots = [UInt8](repeating: 0, count: 256)
    var lengths = [UInt8]()
    var letters = [UInt8]()
  }

  private static let directory: Directory = {
    var directory = Directory()
    for name in FieldName.allCases {
      let letters = FieldName.bytes(of: name).map(\.asciiLowercased)
      directory.lengths.append(UInt8(letters.count))
      directory.letters += letters + [UInt8](repeating: 0, count: stride - letters.count)
      guard let first = letters.first, let last = letters.last else { continue }
      directory.slots[slot(length: letters.count, first: first, last: last)] = name.rawValue
    }
    return directory
  }()
}
