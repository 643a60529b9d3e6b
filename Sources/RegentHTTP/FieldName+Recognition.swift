// Finds a known name by its length and its first and last letter: a perfect hash and one comparison, eight
// bytes at a time. A test proves that it is perfect; a new name that collides asks for other factors.

extension FieldName {
  /// The known name that these bytes spell in any case, or ``other``.
  public init(_ bytes: ArraySlice<UInt8>) {
    let span = bytes.span
    self = span.isToken(0..<span.count) ? FieldName.recognize(span, 0..<span.count) : .other
  }

  /// The known name that the bytes of the range spell in any case, or ``other``.
  ///
  /// The bytes must be text: setting bit 0x20 makes letters small, and of all text it makes nothing else
  /// equal to a letter or a hyphen.
  static func recognize(_ input: Span<UInt8>, _ range: Range<Int>) -> FieldName {
    guard range.count >= 2, range.count <= longest else { return .other }
    let first = input[range.lowerBound] | 0x20
    let last = input[range.upperBound &- 1] | 0x20
    let at = slot(length: range.count, first: first, last: last) &* stride
    let table = table
    let meta = table[at]
    guard meta & 0xFF == UInt64(range.count) else { return .other }
    var known = at &+ 1
    var index = range.lowerBound
    while range.upperBound &- index > 8 {
      guard input.word(at: index) | blanks == table[known] else { return .other }
      index &+= 8
      known &+= 1
    }
    guard lastWord(input, index..<range.upperBound) == table[known] else { return .other }
    return FieldName(rawValue: UInt8(truncatingIfNeeded: meta &>> 8)) ?? .other
  }

  /// One to eight bytes as a word, small, with blanks where there are none.
  private static func lastWord(_ input: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
    if input.count &- range.lowerBound >= 8 {
      let missing = UInt64(truncatingIfNeeded: (8 &- range.count) &* 8)
      return input.word(at: range.lowerBound) & (.max &>> missing) | blanks
    }
    var word: UInt64 = 0
    for index in range.reversed() { word = word &<< 8 | UInt64(input[index]) }
    return word | blanks
  }

  static func slot(length: Int, first: UInt8, last: UInt8) -> Int {
    (length &* 95 &+ Int(first) &* 163 &+ Int(last)) & 255
  }

  private static var blanks: UInt64 { 0x2020_2020_2020_2020 }
  private static var longest: Int { 32 }
  private static var stride: Int { 5 }

  /// For each slot its name's length and raw value, then its letters in four words.
  private static let table: [UInt64] = {
    var table = [UInt64](repeating: 0, count: 256 * stride)
    for name in FieldName.allCases {
      let letters = FieldName.bytes(of: name).map { $0 | 0x20 }
      guard let first = letters.first, let last = letters.last else { continue }
      let at = slot(length: letters.count, first: first, last: last) * stride
      table[at] = UInt64(letters.count) | UInt64(name.rawValue) << 8
      for word in 0..<4 {
        table[at + 1 + word] =
          letters.dropFirst(word * 8).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } | blanks
      }
    }
    return table
  }()
}
