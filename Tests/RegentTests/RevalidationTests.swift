// Revalidation behind a stale answer: one for each key, over all loops, whatever becomes of it.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage
import Testing

@testable import Regent

@Suite("A revalidation behind a stale answer", .timeLimit(.minutes(10)))
struct RevalidationTests {
  /// A cache that answers everything with something stale, which is to be revalidated.
  private func cache(_ journal: Journal) -> Keeper {
    Keeper("cache", journal) { _ in
      var stale = response(200, "stale")
      stale.revalidation = candidate()
      return stale
    }
  }

  @Test("is started once for a key, however many get the stale answer, on whichever loop")
  func once() async throws {
    let group = try LoopGroup(count: 2)
    defer { group.stop() }
    let journal = Journal()
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    let (begun, beginner) = AsyncStream.makeStream(of: Void.self)
    let origin = Player("origin", journal) { request in
      #expect(request.candidate != nil && request.forwarded == .stale && request.body == nil)
      beginner.yield()
      for await _ in gate { break }
      beginner.finish()
      return response(200, "fresh")
    }
    let chain = Chain.Builder().next(cache(journal)).next(origin).build()
    let texts = try await withThrowingTaskGroup(of: String.self) { tasks in
      for number in 0..<50 {
        let request = try request("GET /x HTTP/1.1")
        let loop = group.loops[number % 2]
        tasks.addTask {
          await Task(executorPreference: loop) { await chain.respond(to: request).text }.value
        }
      }
      return try await tasks.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(texts == ["stale"])
    var starts = begun.makeAsyncIterator()
    await starts.next()
    #expect(journal.count("perform origin") == 1)
    opener.yield()
    // Nothing more begins: the stream of beginnings ends.
    #expect(await starts.next() == nil)
    #expect(journal.count("perform origin") == 1)
  }

  @Test("of another key is another one")
  func perKey() async throws {
    let journal = Journal()
    let (begun, beginner) = AsyncStream.makeStream(of: String.self)
    let origin = Player("origin", journal) { request in
      beginner.yield(String(decoding: request.pathBytes, as: UTF8.self))
      return response(200, "fresh")
    }
    let chain = Chain.Builder().next(cache(journal)).next(origin).build()
    try await onLoop { _ in
      for path in ["/a", "/b"] { _ = await chain.respond(to: try request("GET \(path) HTTP/1.1")) }
      var iterator = begun.makeAsyncIterator()
      let first = await iterator.next()
      let second = await iterator.next()
      #expect(Set([first, second]) == ["/a", "/b"])
    }
  }

  @Test(
    "is handed back to the cache, and when it has ended, however it did, the next one may begin",
    arguments: ["answer", "failure", "nobody", "unread body"])
  func ends(how: String) async throws {
    let journal = Journal()
    let origin = Player("origin", journal) { _ in
      switch how {
      case "answer": return response(200, "fresh")
      case "failure": throw Failure.connectionRefused
      case "nobody": throw Unhandled()
      default: return Response(status: 200, fields: .parsed(Fields()), body: .stream(Self.endlessBody()))
      }
    }
    let chain = Chain.Builder().next(cache(journal)).next(origin).build()
    let meters = LoopMeters(domains: 1, providers: 2)
    try await onLoop { loop in
      var now: Int64 = 0
      while journal.count("perform origin") < 3 {
        // Each comes when a failure of the one before is no reason any more to wait.
        now += Revalidations.pause
        let answer = await chain.respond(to: try request(now: now, meters: meters))
        #expect(answer.text == "stale")
        await loop.yieldTurn()
      }
    }
    #expect(meters.domains[0].revalidations.count >= 3)
    let isHandedBack = journal.count("handle cache 200") > 0
    #expect(isHandedBack == ["answer", "unread body"].contains(how))
  }

  @Test(
    "that fails, or meets an origin in trouble, is not followed by another one at once, and keeps the stale copy",
    arguments: ["failure", "nobody", "500", "503", "504", "429", "408", "broken body"])
  func pauses(how: String) async throws {
    let journal = Journal()
    let origin = Player("origin", journal) { _ in
      switch how {
      case "failure": throw Failure.connectionRefused
      case "nobody": throw Unhandled()
      case "broken body":
        let stream = BodyStream(expected: nil)
        stream.fail(.aborted)
        return Response(status: 200, fields: .parsed(Fields()), body: .stream(stream))
      default: return response(Int(how) ?? 0, "trouble")
      }
    }
    let chain = Chain.Builder().next(cache(journal)).next(origin).build()
    try await onLoop { loop in
      for step in 0..<50 {
        let early = try request(now: Int64(step) * 1000)
        #expect(await chain.respond(to: early).text == "stale")
        await loop.yieldTurn()
      }
      #expect(journal.count("perform origin") == 1)
      let late = try request(now: Revalidations.pause)
      #expect(await chain.respond(to: late).text == "stale")
      while journal.count("perform origin") < 2 { await loop.yieldTurn() }
    }
    #expect(how == "broken body" || !journal.all.contains { $0.hasPrefix("handle") })
  }

  @Test("behind an answer to a HEAD asks with GET, for no client and without the client's directives")
  func head() async throws {
    let journal = Journal()
    let (done, finisher) = AsyncStream.makeStream(of: Void.self)
    let origin = Player("origin", journal) { request in
      #expect(request.method == .get && request.isBehind && request.client == nil)
      #expect(request.directives == .none)
      #expect(RequestFields.kept(from: request).contains(.cacheControl))
      finisher.finish()
      return response(200, "fresh")
    }
    let chain = Chain.Builder().next(cache(journal)).next(origin).build()
    try await onLoop { _ in
      let asked = try request("HEAD / HTTP/1.1", "Cache-Control: only-if-cached")
      #expect(await chain.respond(to: asked).text == "stale")
      for await _ in done {}
    }
  }

  /// A body that somebody writes for as long as it is wanted.
  private static func endlessBody() -> BodyStream {
    let stream = BodyStream(expected: nil, window: 1000)
    let writer = stream.makeWriter()
    Task {
      while await writer.append(Slice(Array(repeating: 0, count: 500))) == .accepted {}
      writer.fail(.aborted)
    }
    return stream
  }

  @Test("asks the providers behind the cache only, and those of its domain")
  func behindOnly() async throws {
    let journal = Journal()
    let (done, finisher) = AsyncStream.makeStream(of: Void.self)
    let chain = Chain.Builder()
      .next(Keeper("front", journal)).next(cache(journal))
      .next(Player("elsewhere", journal) { _ in response() }, domains: RequestDomain(7))
      .next(
        Player("origin", journal) { _ in
          finisher.finish()
          return response(200, "fresh")
        }
      ).build()
    try await onLoop { _ in
      _ = await chain.respond(to: try request())
      for await _ in done {}
    }
    #expect(journal.count("perform front") == 1 && journal.count("perform elsewhere") == 0)
    // The stale answer, and then the fresh one, were handed to the cache in front.
    #expect(journal.count("perform cache") == 1 && journal.count("perform origin") == 1)
  }

  @Test("does not begin off the loops, where nothing could carry it")
  func offLoop() async throws {
    let journal = Journal()
    let chain = Chain.Builder().next(cache(journal)).next(Player("origin", journal) { _ in response() })
      .build()
    #expect(await chain.respond(to: try request()).text == "stale")
    #expect(journal.all == ["perform cache"])
  }
}

@Suite("The keys in revalidation")
struct RevalidationsTests {
  @Test("are taken once each until they are given back")
  func once() {
    let revalidations = Revalidations()
    let (one, other) = (RecordKey([1]), RecordKey([2]))
    #expect(revalidations.begin(one, now: 0) && !revalidations.begin(one, now: 0))
    #expect(revalidations.begin(other, now: 0))
    revalidations.end(one, failedSince: nil)
    revalidations.end(one, failedSince: nil)
    #expect(revalidations.begin(one, now: 0) && !revalidations.begin(other, now: 0))
  }

  @Test("rest after a failure, each by itself, and then may be taken again")
  func pause() {
    let revalidations = Revalidations()
    let (one, other) = (RecordKey([1]), RecordKey([2]))
    #expect(revalidations.begin(one, now: 100))
    revalidations.end(one, failedSince: 100)
    #expect(!revalidations.begin(one, now: 100 + Revalidations.pause - 1))
    #expect(revalidations.begin(other, now: 101))
    #expect(revalidations.begin(one, now: 100 + Revalidations.pause))
    #expect(!revalidations.begin(one, now: .max - 1))
  }

  @Test("are bounded, and one that ends makes room for one")
  func bounded() {
    let revalidations = Revalidations()
    let keys = (0...Revalidations.bound).map { RecordKey([UInt8($0 & 255), UInt8($0 >> 8)]) }
    #expect(keys.dropLast().allSatisfy { revalidations.begin($0, now: 0) })
    #expect(!revalidations.begin(keys[Revalidations.bound], now: 0))
    revalidations.end(keys[0], failedSince: nil)
    #expect(revalidations.begin(keys[Revalidations.bound], now: 0) && !revalidations.begin(keys[0], now: 0))
  }

  @Test("that rest are forgotten when there must be room and they have rested")
  func forgets() {
    let revalidations = Revalidations()
    let keys = (0...Revalidations.bound).map { RecordKey([UInt8($0 & 255), UInt8($0 >> 8)]) }
    for key in keys.dropLast() where revalidations.begin(key, now: 0) {
      revalidations.end(key, failedSince: 0)
    }
    let last = keys[Revalidations.bound]
    #expect(!revalidations.begin(last, now: Revalidations.pause / 2))
    // A key that is remembered needs no room.
    #expect(revalidations.begin(keys[0], now: Revalidations.pause))
    #expect(revalidations.begin(last, now: Revalidations.pause))
  }
}
