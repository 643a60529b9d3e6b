// What a head asks for, whoever sends it and whenever: parsed, routed and named. It never changes, so a head that
// comes again byte for byte, as those of polling clients and build machines do, need not be understood again.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

/// A parsed head and where it leads.
final class RoutedHead: Sendable {
  let head: RequestHead
  let domain: Domain
  /// Where path and query lie in the head's bytes, without a domain's path prefix.
  let path: Range<Int>
  let query: Range<Int>?
  let key: RecordKey
  let directives: RequestDirectives
  /// Whether the client's conditions may turn an answer into a 304, or its Range into a part.
  let isConditional: Bool
  /// Why no provider is asked at all.
  let refusal: Failure?

  init(
    head: consuming RequestHead, domain: Domain, path: Range<Int>, query: Range<Int>?,
    key: consuming RecordKey, directives: RequestDirectives, refusal: Failure? = nil
  ) {
    isConditional = !head.fields.present.isDisjoint(with: Self.conditions)
    self.head = head
    self.domain = domain
    self.path = path
    self.query = query
    self.key = key
    self.directives = directives
    self.refusal = refusal
  }

  private static let conditions = FieldNameSet([.ifNoneMatch, .ifModifiedSince, .range])
}

/// The heads that a loop understood last, found by their bytes; bounded, and never wrong: all bytes are compared.
struct RecentHeads {
  static let places = 256
  /// Longer heads are understood anew: they would not pay for the memory.
  static let longest = 1024

  private var heads: [RoutedHead?] = Array(repeating: nil, count: places)

  /// The head that is exactly what was received, if it is among the last ones.
  func find(_ received: ScratchBuffer) -> RoutedHead? {
    guard received.count <= Self.longest, let place = received.withBytes({ Self.place($0) }),
      let found = heads[place], received.holdsExactly(found.head.fields.bytes)
    else { return nil }
    return found
  }

  /// Remembers a head without content.
  mutating func note(_ routed: RoutedHead) {
    let bytes = routed.head.fields.bytes
    guard routed.refusal == nil, routed.head.framing == .none, bytes.count <= Self.longest else { return }
    if let place = Self.place(bytes.span) { heads[place] = routed }
  }

  /// Where a head is kept: by its length and a few of its bytes, most of them where the target is.
  private static func place(_ bytes: Span<UInt8>) -> Int? {
    guard bytes.count >= 24 else { return nil }
    var mix = UInt32(truncatingIfNeeded: bytes.count)
    for offset in stride(from: 5, to: 21, by: 2) {
      mix = (mix &* 31) &+ UInt32(bytes[offset])
    }
    mix = (mix &* 31) &+ UInt32(bytes[bytes.count / 2])
    return Int((mix &* 0x9E37_79B1) >> 24)
  }
}
