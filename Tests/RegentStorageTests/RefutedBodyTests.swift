// A body that came to its end but is not what it should be: its readers get it, and nobody keeps it.

import RegentLoop
import Testing

@testable import RegentStorage

@Suite("A body that is refuted")
struct RefutedBodyTests {
  @Test("is read to its clean end, and its keeper lets go of it", arguments: [true, false])
  func readers(isKept: Bool) async throws {
    let stream = BodyStream(expected: 5000)
    let account = ByteBudget(limit: 1 << 20)
    let (one, two) = (try #require(stream.makeReader()), try #require(stream.makeReader()))
    if isKept { #expect(stream.keep(limit: 1 << 20, account: account)) }
    async let completion = stream.completion()
    #expect(stream.tryAppend(Slice(pattern(0..<5000))) == .accepted)
    async let read = readAll(one, upTo: 999)
    await parked { stream.state.withLock { $0.awaitingCount } == 1 }
    stream.refute()
    #expect(await completion == .refuted)
    #expect(await read == .success(pattern(0..<5000)))
    #expect(await readAll(two, upTo: 4000) == .success(pattern(0..<5000)))
    #expect(stream.isRefuted && stream.hasEnded && !stream.isFinished && !stream.hasFailed && !stream.isWhole)
    #expect(account.used == 0)
    #expect(!stream.keep(limit: 1 << 20, account: account))
    #expect(stream.tryAppend(Slice([1])) == .abandoned)
    stream.finish()
    #expect(stream.isRefuted && !stream.isFinished)
  }

  @Test("of another length than announced has failed instead")
  func wrongLength() async throws {
    let stream = BodyStream(expected: 3)
    let reader = try #require(stream.makeReader())
    #expect(stream.tryAppend(Slice([1, 2])) == .accepted)
    stream.refute()
    #expect(await readAll(reader, upTo: 9) == .failure(.originClosedEarly))
    #expect(!stream.isRefuted)
  }

  @Test("may be one from the start", arguments: [0, 1, 300_000])
  func fromTheStart(count: Int) async throws {
    let stream = BodyStream(refuted: count == 0 ? [] : [Slice(pattern(0..<count))])
    #expect(stream.isRefuted && stream.expected == count && stream.total == count)
    #expect(!stream.keep(limit: 1 << 20, account: nil))
    #expect(await stream.completion() == .refuted)
    let (one, two) = (try #require(stream.makeReader()), try #require(stream.makeReader()))
    for reader in [one, two] { #expect(await readAll(reader, upTo: .max) == .success(pattern(0..<count))) }
  }
}
