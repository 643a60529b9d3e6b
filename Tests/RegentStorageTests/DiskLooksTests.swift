// What is remembered of the blocks that were looked at, with a clock that is moved by hand.

import RegentLoop
import Testing

@testable import RegentStorage

@Suite("What was seen of long bodies") struct DiskLooksTests {
  private static let moment = DiskLooks.shared
  private var looks = DiskLooks()

  private func position(_ number: Int) -> DiskPosition { DiskPosition(rawValue: UInt64(number) << 16 | 4096) }

  private func lead(_ body: Int, head: Int = 5) throws -> DiskReadLead {
    let content = DiskContent(
      key: bytes("key"), head: pattern(0..<head), body: [Slice(pattern(0..<body))])
    var bytes: [UInt8] = []
    let lead = content.write(at: position(1), instance: 7, wall: 0, onto: &bytes)
    return DiskReadLead(lead: lead, bytes: Slice(bytes))
  }

  private mutating func note(
    _ number: Int, _ blocks: Range<Int>, at now: Int64, _ verify: DiskVerification = .always,
    lead: DiskReadLead? = nil
  ) {
    looks.note(position(number), start: 500, lead: lead, blocks: blocks, now: now, verify)
  }

  private func known(_ blocks: Range<Int>, at now: Int64, _ verify: DiskVerification = .always)
    -> DiskLooks.Known?
  {
    looks.known(position(1), blocks: blocks, now: now, verify)
  }

  @Test("counts for a moment, from the first look on")
  mutating func moment() {
    note(1, 0..<2, at: 1000)
    #expect(known(0..<2, at: 1000) == .seen(start: 500, looked: 1000))
    #expect(known(1..<2, at: 999) == .seen(start: 500, looked: 1000), "another loop's clock is behind")
    #expect(known(1..<3, at: 1000) == nil)
    // What is seen later counts no longer than what was seen first.
    note(1, 2..<3, at: 1000 + Self.moment - 1)
    #expect(known(0..<3, at: 1000 + Self.moment - 1) == .seen(start: 500, looked: 1000))
    #expect(known(0..<3, at: 1000 + Self.moment) == nil)
    #expect(known(0..<3, at: 1000 + Self.moment, .once) == .good(start: 500))
    #expect(known(0..<4, at: 1000 + Self.moment, .once) == nil)
    // A new look is of its own blocks alone.
    note(1, 1..<2, at: 1000 + Self.moment)
    #expect(known(1..<2, at: 1000 + Self.moment) == .seen(start: 500, looked: 1000 + Self.moment))
    #expect(known(0..<2, at: 1000 + Self.moment) == nil)
    #expect(Self.moment < FilePart.freshness, "whoever gets it has some time to send it")
  }

  @Test("a response's lead is kept with its body, where all of that was seen")
  mutating func leads() throws {
    let lead = try lead(150_000)
    #expect(looks.response(position(1), now: 0) == nil)
    note(1, 0..<2, at: 0, lead: lead)
    #expect(looks.response(position(1), now: 0) == nil, "the third block was not seen")
    note(1, 2..<3, at: 1, lead: lead)
    let found = try #require(looks.response(position(1), now: 1))
    #expect(found.lead.lead == lead.lead && found.looked == 0)
    #expect(found.lead.bytes.bytes == Array(lead.bytes.bytes.prefix(lead.lead.count)))
    #expect(looks.response(position(1), now: Self.moment) == nil)
    note(2, 0..<1, at: 0, lead: try self.lead(20_000, head: 3000))
    #expect(looks.response(position(2), now: 0) == nil && looks.counts == (2, 1), "a long one is not kept")
  }

  @Test("what nobody looked at lately is forgotten; with once all but that it was good")
  mutating func forgets() throws {
    let lead = try lead(20_000)
    for verify in [DiskVerification.always, .once] {
      looks = DiskLooks()
      // A hundred bodies in each of fifty moments.
      for number in 0..<5000 {
        note(number, 0..<1, at: Int64(number / 100) * Self.moment, verify, lead: lead)
        #expect(looks.counts.leads <= 400)
      }
      #expect(verify == .always ? looks.counts.bodies <= 400 : looks.counts.bodies == 5000)
      #expect(looks.response(position(4999), now: 49 * Self.moment) != nil)
      looks.forget(50 * Self.moment, verify)
      #expect(looks.counts == (verify == .always ? 0 : 5000, 0))
      #expect(known(0..<1, at: 50 * Self.moment, verify) == (verify == .once ? .good(start: 500) : nil))
      // A body that was good is looked at again: its lead is there again.
      note(1, 0..<1, at: 50 * Self.moment, verify, lead: lead)
      #expect(looks.response(position(1), now: 50 * Self.moment) != nil)
    }
  }
}
