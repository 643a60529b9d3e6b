// What was seen of the long bodies of a segment, where they lie in the page cache: so that of many readers of one body in a
// moment one works out its checksums, and the others send what that one saw.

import RegentLoop

/// The blocks of a segment's long bodies that were found good, and when they were looked at.
///
/// With `verify` always it knows of the bodies that were looked at lately; with once of all that were since the start, which
/// take some 60 bytes each and are longer than 16 KiB.
struct DiskLooks: Sendable {
  private struct Body: Sendable {
    /// Where in the file the body begins.
    let start: Int
    /// The blocks that were found good since the start.
    var good: UInt16 = 0
    /// Those of them that were looked at since `looked`, in monotonic nanoseconds.
    var seen: UInt16 = 0
    var looked: Int64
    /// The lead of one that was looked at lately, where it is a response's and short.
    var lead: DiskReadLead?

    // Another loop's clock may be ahead.
    func isFresh(_ now: Int64) -> Bool { now &- looked < DiskLooks.shared }
  }

  /// What is known of some blocks of a body that begins at `start` in its file.
  enum Known: Sendable, Equatable {
    /// At `looked` they were in the page cache, and good there.
    case seen(start: Int, looked: Int64)
    /// They were good at some time since the start, and with `verify` once that is enough.
    case good(start: Int)
  }

  private var bodies: [DiskPosition: Body] = [:]
  private var leadCount = 0
  /// How many bodies, or with `verify` once leads, there may be before those go that nobody looked at lately.
  private var limit = Self.fewest
  private static let fewest = 16
  /// The longest lead, in bytes, that is kept.
  private static let leadLimit = 2048
  /// For so many nanoseconds others may send what one has seen: that leaves them some time to do it, before it is stale.
  static let shared = FilePart.freshness * 4 / 5

  private static func bits(_ blocks: Range<Int>) -> UInt16 {
    // A record's body has at most 16 blocks.
    UInt16(truncatingIfNeeded: (1 << blocks.upperBound) - (1 << blocks.lowerBound))
  }

  /// What is known of these blocks at a time.
  func known(_ position: DiskPosition, blocks: Range<Int>, now: Int64, _ verify: DiskVerification) -> Known? {
    guard let body = bodies[position] else { return nil }
    let bits = Self.bits(blocks)
    if body.seen & bits == bits, body.isFresh(now) { return .seen(start: body.start, looked: body.looked) }
    return verify == .once && body.good & bits == bits ? .good(start: body.start) : nil
  }

  /// The lead of a response all of whose body was seen lately, and when.
  func response(_ position: DiskPosition, now: Int64) -> (lead: DiskReadLead, looked: Int64)? {
    guard let body = bodies[position], let lead = body.lead, body.isFresh(now) else { return nil }
    let bits = Self.bits(0..<lead.lead.blockCount)
    return body.seen & bits == bits ? (lead, body.looked) : nil
  }

  /// Blocks that were looked at now, in the page cache, and found good.
  mutating func note(
    _ position: DiskPosition, start: Int, lead: DiskReadLead?, blocks: Range<Int>, now: Int64,
    _ verify: DiskVerification
  ) {
    if (verify == .always ? bodies.count : leadCount) >= limit { forget(now, verify) }
    var body = bodies[position] ?? Body(start: start, looked: now)
    if body.lead == nil, let kept = Self.kept(lead) {
      body.lead = kept
      leadCount += 1
    }
    // The first look's time counts for those that come after it.
    if !body.isFresh(now) { (body.seen, body.looked) = (0, now) }
    body.seen |= Self.bits(blocks)
    body.good |= body.seen
    bodies[position] = body
  }

  /// A response's lead without what was read behind it, if it is short.
  private static func kept(_ lead: DiskReadLead?) -> DiskReadLead? {
    guard let lead, lead.lead.kind == .response, lead.lead.count <= leadLimit else { return nil }
    return DiskReadLead(lead: lead.lead, bytes: Slice(lead.bytes.first(lead.lead.count).bytes))
  }

  /// Forgets the bodies that nobody looked at lately; with `verify` once only what is of no use any more.
  mutating func forget(_ now: Int64, _ verify: DiskVerification) {
    bodies = bodies.compactMapValues { body in
      if body.isFresh(now) { return body }
      guard verify == .once else { return nil }
      var rest = body
      rest.lead = nil
      return rest
    }
    leadCount = bodies.values.count { $0.lead != nil }
    limit = max(Self.fewest, 2 * (verify == .always ? bodies.count : leadCount))
  }

  /// How many bodies it knows of, and how many leads it keeps.
  var counts: (bodies: Int, leads: Int) { (bodies.count, leadCount) }
}
