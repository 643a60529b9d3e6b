// What a keeper changes: nothing is dropped, every byte is paid for, and limits hold.

import RegentLoop
import Testing

@testable import RegentStorage

@Suite("A kept body")
struct KeptBodyTests {
  @Test("never waits for a reader, and completes with its length")
  func completes() async throws {
    let stream = BodyStream(expected: nil, window: 1000)
    let slow = try #require(stream.makeReader())
    #expect(stream.keep(limit: 100_000, account: nil))
    async let completion = stream.completion()
    for step in 0..<50 {
      #expect(stream.tryAppend(Slice(pattern((step * 2000)..<(step * 2000 + 2000)))) == .accepted)
    }
    stream.finish()
    #expect(await completion == .finished(100_000))
    #expect(await readAll(slow, upTo: 999) == .success(pattern(0..<100_000)))
    #expect(stream.isWhole)
  }

  @Test("dismisses its keeper when it outgrows the limit, and falls back to its window")
  func outgrowsLimit() async throws {
    let stream = BodyStream(expected: nil, window: 1000)
    let account = ByteBudget(limit: 1 << 20)
    let reader = try #require(stream.makeReader())
    #expect(stream.keep(limit: 5000, account: account))
    #expect(stream.tryAppend(Slice(pattern(0..<5000))) == .accepted)
    let held = account.used
    #expect(held >= 5000)
    #expect(stream.tryAppend(Slice(pattern(5000..<5001))) == .full)
    #expect(await stream.completion() == .tooLarge(5000))
    #expect(account.used == held)
    #expect(try await reader.next()?.count == 1)
    #expect(account.used == 0)
    #expect(stream.tryAppend(Slice(pattern(5000..<5001))) == .accepted)
    stream.finish()
    #expect(await readAll(reader, upTo: 10) == .success(pattern(5000..<5001)))
    #expect(await stream.completion() == .tooLarge(5000))
    #expect(!stream.isWhole && !stream.keep(limit: 9000, account: nil))
  }

  @Test("dismisses its keeper when the account is empty")
  func outgrowsAccount() async throws {
    let stream = BodyStream(expected: nil)
    let account = ByteBudget(limit: 4000)
    let reader = try #require(stream.makeReader())
    #expect(stream.keep(limit: 100_000, account: account))
    #expect(stream.tryAppend(Slice(pattern(0..<3000))) == .accepted)
    #expect(stream.tryAppend(Slice(pattern(3000..<6000))) == .accepted)
    #expect(await stream.completion() == .tooLarge(100_000))
    stream.finish()
    #expect(await readAll(reader, upTo: 100_000) == .success(pattern(0..<6000)))
    #expect(account.used == 0)
  }

  @Test("is abandoned when its keeper goes and nobody reads it")
  func abandonedByKeeper() {
    let stream = BodyStream(expected: nil)
    let account = ByteBudget(limit: 1 << 20)
    #expect(stream.keep(limit: 100_000, account: account))
    #expect(stream.tryAppend(Slice(pattern(0..<3000))) == .accepted)
    stream.stopKeeping()
    #expect(account.used == 0)
    #expect(stream.tryAppend(Slice([1])) == .abandoned)
  }

  @Test("is kept from the first byte or not at all")
  func tooLateToKeep() async throws {
    let stream = BodyStream(expected: nil)
    let reader = try #require(stream.makeReader())
    let account = ByteBudget(limit: 1 << 20)
    #expect(stream.tryAppend(Slice(pattern(0..<3000))) == .accepted)
    #expect(!stream.keep(limit: 2999, account: account))
    #expect(account.used == 0)
    #expect(stream.keep(limit: 3000, account: account))
    #expect(account.used > 3000)
    #expect(!stream.keep(limit: 3000, account: account))
    stream.stopKeeping()
    _ = try await reader.next()
    #expect(!stream.keep(limit: 1 << 20, account: account))
    #expect(account.used == 0)
    #expect(!BodyStream(expected: 11).keep(limit: 10, account: nil))
  }

  @Test("does not hold on to large blocks of which it uses little")
  func tightens() async throws {
    let account = ByteBudget(limit: 4 << 20)
    let stream = BodyStream(expected: nil)
    #expect(stream.keep(limit: 1 << 20, account: account))
    let early = try #require(stream.makeReader())
    for step in 0..<20 {
      let block = Block(capacity: 64 << 10)
      let piece = pattern((step * 3000)..<(step * 3000 + 3000))
      let span = piece.span
      block.append(span)
      #expect(stream.tryAppend(Slice(block, 0..<1500)) == .accepted)
      if step == 7 { #expect(try await early.next(upTo: 22_000, maxSlices: 99)?.isEmpty == false) }
      #expect(stream.tryAppend(Slice(block, 1500..<3000)) == .accepted)
    }
    stream.finish()
    #expect(account.used == stream.charged && account.used < 65_000)
    #expect(await readAll(early, upTo: 5000) == .success(pattern(22_000..<60_000)))
    #expect(stream.wholeSlices.flatMap(\.bytes) == pattern(0..<60_000))
  }

  @Test("counts a block for as long as any of its chunks lies in it")
  func countsSharedBlocks() {
    let account = ByteBudget(limit: 4 << 20)
    let stream = BodyStream(expected: nil)
    #expect(stream.keep(limit: 1 << 20, account: account))
    let block = Block(capacity: 64 << 10)
    let piece = pattern(0..<5000)
    let span = piece.span
    block.append(span)
    for range in [0..<1500, 2000..<3500] { #expect(stream.tryAppend(Slice(block, range)) == .accepted) }
    #expect(stream.tryAppend(Slice(pattern(0..<2000))) == .accepted)
    #expect(account.used >= block.footprint + 2000)
    stream.finish()
    #expect(
      stream.wholeSlices.flatMap(\.bytes) == pattern(0..<1500) + pattern(2000..<3500) + pattern(0..<2000))
  }

  @Test("that was whole from the start counts as kept")
  func wholeIsKept() {
    let stream = BodyStream(whole: [Slice(pattern(0..<1000))])
    #expect(stream.isFinished && stream.isWhole && stream.total == 1000)
    #expect(stream.keep(limit: 1000, account: nil))
    #expect(!stream.keep(limit: 999, account: nil))
  }

  @Test("gives its bytes back when it goes, finished or not", arguments: [true, false])
  func givesBack(isFinished: Bool) {
    let account = ByteBudget(limit: 1 << 20)
    do {
      let stream = BodyStream(expected: nil)
      #expect(stream.keep(limit: 1 << 20, account: account))
      for step in 0..<5 { _ = stream.tryAppend(Slice(pattern((step * 2000)..<(step * 2000 + 2000)))) }
      if isFinished { stream.finish() }
      #expect(account.used > 10_000)
    }
    #expect(account.used == 0)
  }
}
