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
  /// The protocols that it offers and its domain lets through, as a field value: what answers that is nothing to store.
  let upgrade: [UInt8]?
  /// Whether there are any.
  let offersUpgrade: Bool
  /// Why no provider is asked at all.
  let refusal: Failure?

  init(
    head: consuming RequestHead, domain: Domain, path: Range<Int>, query: Range<Int>?,
    key: consuming RecordKey, directives: RequestDirectives, refusal: Failure? = nil
  ) {
    let offered = head.upgrades ? Upgrade.offered(head, permitted: domain.upgrades) : nil
    upgrade = offered
    offersUpgrade = offered != nil
    isConditional = !head.fields.present.isDisjoint(with: Self.conditions)
    self.head = head
    self.domain = domain
    self.path = path
    self.query = query
    self.key = key
    self.directives = directives
    self.refusal = refusal
  }

  /// Appends what the key was made of, for people to read: domain, path and query. Credentials never are among it.
  func appendKey(onto text: inout [UInt8]) {
    let bytes = head.fields.bytes
    text.append(contentsOf: domain.nameBytes)
    text.append(0x20)
    if path.isEmpty { text.append(0x2F) } else { text.append(contentsOf: bytes[path]) }
    guard let query else { return }
    text.append(0x3F)
    text.append(contentsOf: bytes[query])
  }

  private static let conditions = FieldNameSet([.ifNoneMatch, .ifModifiedSince, .range])
}

/// The heads that a loop understood last, found by their bytes; bounded, and never wrong: all bytes are compared.
struct RecentHeads {
  static let places = 2048
  /// Longer heads are understood anew: they would not pay for the memory.
  static let longest = 1024

  private var heads: [RoutedHead?] = Array(repeating: nil, count: places)
  /// Which head was understood last at each place; a number that another one may share, which costs memory only.
  private var tags: [UInt32] = Array(repeating: 0, count: places)

  /// The head that is exactly what was received, if it is among the last ones.
  func find(_ received: ScratchBuffer) -> RoutedHead? {
    guard received.count <= Self.longest, let tag = received.withBytes({ Self.tag($0) }),
      let found = heads[Self.place(tag)], received.holdsExactly(found.head.fields.bytes)
    else { return nil }
    return found
  }

  /// Remembers a head without content that came twice in a row at its place: to keep each of many would not pay.
  mutating func note(_ routed: RoutedHead) {
    let bytes = routed.head.fields.bytes
    guard routed.head.framing == .none, bytes.count <= Self.longest, let tag = Self.tag(bytes.span) else {
      return
    }
    let place = Self.place(tag)
    if tags[place] != tag {
      tags[place] = tag
    } else if routed.refusal == nil {
      heads[place] = routed
    }
  }

  /// A number by a head's length and some of its bytes: the first ones of a target, and those around its end.
  private static func tag(_ bytes: Span<UInt8>) -> UInt32? {
    guard bytes.count >= 32 else { return nil }
    let near = bytes.word(at: 5) ^ (bytes.word(at: 13) &* 0x9E37_79B9_7F4A_7C15)
    let far = bytes.word(at: bytes.count / 2 &- 4)
    let mixed = (near ^ (far &<< 7) ^ UInt64(bytes.count)) &* 0xD6E8_FEB8_6659_FD93
    return UInt32(truncatingIfNeeded: mixed &>> 32)
  }

  private static func place(_ tag: UInt32) -> Int { Int(tag &>> 21) }
}
