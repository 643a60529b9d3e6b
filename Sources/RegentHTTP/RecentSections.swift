// The field sections that a receiver understood last. A client sends the same fields with every request and changes
// the target alone, so what follows its request line need not be understood again: all bytes are compared.

/// Understood field sections by their place in the head and their bytes; bounded, and never wrong.
public struct RecentSections: Sendable {
  private struct Known {
    let start: Int
    let version: HTTPVersion
    let bytes: [UInt8]
    /// The section as it was when its last line was read.
    let section: HeadSection
  }

  private static let places = 16
  /// Longer sections are understood anew: they would not pay for the memory.
  private static let longest = 2048

  private var sections: [Known?] = Array(repeating: nil, count: places)
  /// Which section came last at each place; a number that another one may share, which costs a copy only.
  private var tags: [UInt64] = Array(repeating: 0, count: places)

  public init() {}

  /// The section that begins at `start` and is the rest of the input.
  func find(_ input: Span<UInt8>, from start: Int, _ version: HTTPVersion) -> HeadSection? {
    guard let known = sections[Self.place(input, start)], known.start == start, known.version == version,
      known.bytes.count == input.count &- start, input.equals(start..<input.count, known.bytes.span, from: 0)
    else { return nil }
    return known.section
  }

  /// Remembers a section that came twice in a row at its place, if it is the rest of the input.
  mutating func note(_ section: HeadSection, _ input: Span<UInt8>, from start: Int, _ version: HTTPVersion) {
    let count = input.count &- start
    guard section.lineStart == input.count, count <= Self.longest, let tag = Self.tag(input, start) else {
      return
    }
    let place = Self.place(input, start)
    guard tags[place] == tag else {
      tags[place] = tag
      return
    }
    let bytes = Array(copying: input.extracting(start..<input.count), through: count)
    sections[place] = Known(start: start, version: version, bytes: bytes, section: section)
  }

  private static func place(_ input: Span<UInt8>, _ start: Int) -> Int {
    (input.count &* 5 &+ start) & (places &- 1)
  }

  private static func tag(_ input: Span<UInt8>, _ start: Int) -> UInt64? {
    guard input.count &- start >= 16 else { return nil }
    let middle = start &+ (input.count &- start) / 2 &- 4
    return input.word(at: start &+ 6) ^ (input.word(at: middle) &* 0x9E37_79B9_7F4A_7C15) ^ UInt64(start)
  }
}
