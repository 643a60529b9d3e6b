// RFC 9110 section 8.8.3: entity tags and their two comparisons, over bytes in place. A list that is malformed
// matches up to its first fault and no further.

/// One entity tag inside some bytes.
struct EntityTag {
  var isWeak: Bool
  /// The opaque tag with its quotes.
  var opaque: Range<Int>

  /// Reads the tag that begins at the offset; nil where none does.
  init?(_ bytes: Span<UInt8>, at start: Int, end: Int) {
    var position = start
    isWeak = end - start >= 2 && bytes[start] == 0x57 && bytes[start + 1] == 0x2F
    if isWeak { position += 2 }
    guard position < end, bytes[position] == .quote else { return nil }
    var close = position + 1
    while close < end, bytes[close] != .quote { close += 1 }
    guard close < end else { return nil }
    opaque = position..<(close + 1)
  }

  /// The tag that is the whole of the bytes, blanks aside; nil where they are no tag.
  init?(_ bytes: Span<UInt8>) {
    var start = 0
    var end = bytes.count
    while start < end, bytes[start].isBlank { start += 1 }
    while start < end, bytes[end - 1].isBlank { end -= 1 }
    self.init(bytes, at: start, end: end)
    guard opaque.upperBound == end else { return nil }
  }

  /// The weak comparison: same opaque tags, weak or not.
  static func sameOpaque(_ a: Span<UInt8>, _ left: EntityTag, _ b: Span<UInt8>, _ right: EntityTag) -> Bool {
    guard left.opaque.count == right.opaque.count else { return false }
    for offset in 0..<left.opaque.count
    where a[left.opaque.lowerBound + offset] != b[right.opaque.lowerBound + offset] {
      return false
    }
    return true
  }

  /// Whether a list of tags contains this one by the weak comparison, or is `*`.
  static func list(_ list: Span<UInt8>, _ range: Range<Int>, contains bytes: Span<UInt8>) -> Bool {
    let tag = EntityTag(bytes)
    var position = range.lowerBound
    let end = range.upperBound
    while true {
      while position < end, list[position] == .comma || list[position].isBlank { position += 1 }
      guard position < end else { return false }
      if list[position] == 0x2A { return range.count == 1 }
      guard let member = EntityTag(list, at: position, end: end) else { return false }
      if let tag, sameOpaque(list, member, bytes, tag) { return true }
      position = member.opaque.upperBound
      while position < end, list[position].isBlank { position += 1 }
      guard position == end || list[position] == .comma else { return false }
    }
  }
}
