// The walk through a chain: who is asked, who is told, what ends it, and what a client gets where nobody answers.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage
import Testing

@testable import Regent

/// A provider that may answer at once; where it has to wait, it lets every request pass.
private final class Quick: ResponseHandler {
  let name: String
  private let journal: Journal
  private let sees: Bool
  private let answer: @Sendable (Request) throws(Unhandled) -> Response?

  init(
    _ name: String, _ journal: Journal, sees: Bool,
    _ answer: @escaping @Sendable (Request) throws(Unhandled) -> Response?
  ) {
    (self.name, self.journal, self.sees, self.answer) = (name, journal, sees, answer)
  }

  func performAtOnce(_ request: Request) throws(Unhandled) -> Response? {
    journal.note("ask \(name)")
    return try answer(request)
  }

  func perform(_ request: Request) async throws -> Response {
    journal.note("perform \(name)")
    throw Unhandled()
  }

  func handleAtOnce(_ response: Response, for request: Request) -> Bool {
    journal.note("see \(name) \(response.status)")
    return sees
  }

  func handle(_ response: Response, for request: Request) async {
    journal.note("handle \(name) \(response.status)")
  }
}

@Suite("A chain")
struct ChainTests {
  private let journal = Journal()

  private func player(_ name: String, _ play: @escaping @Sendable (Request) async throws -> Response)
    -> Player
  {
    Player(name, journal, play)
  }

  @Test("asks its providers in the order of their registration until one answers")
  func order() async throws {
    let chain = Chain.Builder()
      .next(player("a") { _ in throw Unhandled() }).next(player("b") { _ in throw Unhandled() })
      .next(player("c") { _ in response(200, "c") }).next(player("d") { _ in response(200, "d") }).build()
    let meters = LoopMeters(domains: 1, providers: 4)
    let answer = await chain.respond(to: try request(meters: meters))
    #expect(answer.text == "c" && answer.status == 200)
    #expect(journal.all == ["perform a", "perform b", "perform c"])
    #expect(meters.providers.map { $0.passed.count } == [1, 1, 0, 0])
    #expect(meters.providers.map { $0.answered.count } == [0, 0, 1, 0])
    #expect(meters.providers.map { $0.errors.count } == [0, 0, 0, 0])
  }

  @Test("asks only those that are registered for the request's domain", arguments: [0, 1, 2, 70])
  func domains(number: Int) async throws {
    let chain = Chain.Builder()
      .next(player("zero") { _ in response(200, "zero") }, domains: RequestDomain(0))
      .next(player("one") { _ in response(200, "one") }, domains: [RequestDomain(1), RequestDomain(70)])
      .next(player("any") { _ in response(200, "any") }, domains: .any).build()
    let answer = await chain.respond(to: try request(domain: number))
    #expect(answer.text == [0: "zero", 1: "one", 2: "any", 70: "one"][number])
    #expect(journal.all.count == 1)
  }

  @Test("answers 502 where nobody answers, and where there is nobody")
  func unhandled() async throws {
    let meters = LoopMeters(domains: 1, providers: 1)
    for chain in [
      Chain.Builder().build(), Chain.Builder().next(player("a") { _ in throw Unhandled() }).build(),
      Chain.Builder().next(player("b") { _ in response() }, domains: RequestDomain(5)).build(),
    ] {
      let answer = await chain.respond(to: try request(meters: meters))
      #expect(answer.status == 502 && answer.failure == .unhandled)
    }
    #expect(journal.all == ["perform a"])
  }

  @Test("hands the answer back to those that the request passed, nearest first, and to nobody else")
  func handBack() async throws {
    let chain = Chain.Builder()
      .next(Keeper("far", journal)).next(Keeper("elsewhere", journal), domains: RequestDomain(9))
      .next(player("no handler") { _ in throw Unhandled() }).next(Keeper("near", journal))
      .next(Keeper("origin", journal) { _ in response(203) }).next(Keeper("behind", journal)).build()
    _ = await chain.respond(to: try request())
    #expect(
      journal.all == [
        "perform far", "perform no handler", "perform near", "perform origin", "handle near 203",
        "handle far 203",
      ])
  }

  @Test("who answers, passes or sees at once is not asked to wait; who cannot is", arguments: [true, false])
  func atOnce(sees: Bool) async throws {
    let quick = Quick("a", journal, sees: sees) { _ throws(Unhandled) in throw Unhandled(.miss) }
    let slow = Quick("b", journal, sees: sees) { _ throws(Unhandled) in nil }
    let last = Quick("c", journal, sees: sees) { _ throws(Unhandled) in response(200, "c") }
    let answer = await Chain.Builder().next(quick).next(slow).next(last).build().respond(to: try request())
    #expect(answer.text == "c")
    let seen =
      sees ? ["see b 200", "see a 200"] : ["see b 200", "handle b 200", "see a 200", "handle a 200"]
    #expect(journal.all == ["ask a", "ask b", "perform b", "ask c"] + seen)
  }

  @Test("hands nothing back where the first provider answers, or nobody does")
  func nothingToHandBack() async throws {
    let first = Chain.Builder().next(Keeper("first", journal) { _ in response() }).build()
    _ = await first.respond(to: try request())
    let nobody = Chain.Builder().next(Keeper("only", journal)).build()
    _ = await nobody.respond(to: try request())
    #expect(journal.all == ["perform first", "perform only"])
  }

  @Test("ends the walk at any other error, and names it")
  func errors() async throws {
    struct Odd: Error {}
    let meters = LoopMeters(domains: 1, providers: 3)
    let chain = Chain.Builder().next(Keeper("cache", journal)).next(player("odd") { _ in throw Odd() })
      .next(player("behind") { _ in response() }).build()
    let answer = await chain.respond(to: try request(meters: meters))
    #expect(answer.status == 500 && answer.failure == .provider("Odd()"))
    #expect(journal.all == ["perform cache", "perform odd"])
    #expect(meters.providers.map { $0.errors.count } == [0, 1, 0])
    let refusing = Chain.Builder().next(player("origin") { _ in throw Failure.connectionRefused }).build()
    #expect(await refusing.respond(to: try request()).failure == .connectionRefused)
  }

  @Test("asks nobody for a request that was refused")
  func refused() async throws {
    let chain = Chain.Builder().next(player("a") { _ in response() }).build()
    let answer = await chain.respond(to: try request(refusal: .methodNotAllowed))
    #expect(answer.status == 405 && journal.all == [])
  }

  @Test("tells later providers why the nearest cache could not answer, and what it has stored")
  func learning() async throws {
    let seen = Journal()
    let chain = Chain.Builder()
      .next(player("near") { _ in throw Unhandled(.stale, candidate: candidate("near")) })
      .next(player("silent") { _ in throw Unhandled() })
      .next(player("far") { _ in throw Unhandled(.uriMiss, candidate: candidate("far")) })
      .next(
        player("origin") { request in
          guard case .whole(let slice)? = request.candidate?.body else { return response(500) }
          seen.note("\(request.forwarded.rawValue) \(String(decoding: slice.bytes, as: UTF8.self))")
          return response()
        }
      ).build()
    _ = await chain.respond(to: try request())
    #expect(seen.all == ["stale near"])
  }

  @Test("says that a response was stored only where a cache was passed and the rules allow it")
  func stored() async throws {
    let journal = journal
    let origin = player("origin") { _ in
      var answer = response()
      answer.storability = .store
      return answer
    }
    let cached = Chain.Builder().next(Keeper("cache", journal)).next(origin).build()
    #expect(await cached.respond(to: try request()).cacheStatus.stored)
    let bare = Chain.Builder().next(player("none") { _ in throw Unhandled() }).next(origin).build()
    #expect(await bare.respond(to: try request()).cacheStatus.stored == false)
  }
}

@Suite("A stale answer in an error's place")
struct StaleInsteadTests {
  private let journal = Journal()

  private func chain(_ candidate: Candidate, _ origin: @escaping @Sendable (Request) async throws -> Response)
    -> Chain
  {
    Chain.Builder()
      .next(Keeper("cache", journal) { _ in throw Unhandled(.stale, candidate: candidate) })
      .next(Player("origin", journal, origin)).build()
  }

  @Test(
    "stands for an origin's 500, 502, 503 and 504 within its window, and for no other status",
    arguments: [
      (500, 20, true), (502, 20, true), (503, 20, true), (504, 20, true), (501, 20, false), (505, 20, false),
      (404, 20, false), (200, 20, false), (500, 10, false), (503, 0, false),
    ] as [(Int, Int32, Bool)])
  func statuses(status: Int, window: Int32, isStale: Bool) async throws {
    let chain = chain(candidate(staleness: 10, staleIfError: window)) { _ in response(status, "error") }
    let answer = await chain.respond(to: try request())
    #expect(answer.status == (isStale ? 200 : status))
    #expect(answer.text == (isStale ? "stored" : "error"))
    guard isStale else { return }
    #expect(answer.cacheStatus.detail == .stale(.staleIfError))
    #expect(answer.cacheStatus.fwdStatus == UInt16(status))
    #expect(answer.age == 100 && answer.failure == nil)
    #expect(journal.all == ["perform cache", "perform origin"])
  }

  @Test(
    "stands for a failure of the origin, which is still named",
    arguments: [
      Failure.connectionRefused, .nameNotFound("none"), .connectionTimedOut, .responseTimedOut,
      .closedBeforeResponse, .malformedResponse("No."), .overloaded, .tls(.certificate("expired")),
    ])
  func failures(failure: Failure) async throws {
    for (window, reason) in [(20, StaleReason.staleIfError), (0, .disconnected)] as [(Int32, StaleReason)] {
      let chain = chain(candidate(staleIfError: window)) { _ in throw failure }
      let answer = await chain.respond(to: try request())
      #expect(answer.status == 200 && answer.text == "stored" && answer.failure == failure)
      #expect(answer.cacheStatus.detail == .stale(reason))
    }
  }

  @Test(
    "stands for no failure that is not the origin's",
    arguments: [
      Failure.onlyIfCached, .provider("it broke"), .unhandled, .requestTimedOut, .malformedRequest("No."),
    ])
  func notTheOrigins(failure: Failure) async throws {
    let chain = chain(candidate(staleIfError: 1000)) { _ in throw failure }
    let answer = await chain.respond(to: try request())
    #expect(answer.status == failure.status && answer.failure == failure)
  }

  @Test("is not given to a client that wants none, nor where the domain's policy is to ask always")
  func forbidden() async throws {
    let chain = chain(candidate(staleIfError: 1000)) { _ in throw Failure.connectionRefused }
    let fresh = try request("GET / HTTP/1.1", "Cache-Control: no-cache")
    #expect(await chain.respond(to: fresh).status == 502)
    let always = try request(policy: CachePolicy(kind: .networkOnly))
    #expect(await chain.respond(to: always).status == 502)
  }

  @Test("lets go of the error's own body, so that whoever writes it is not held up")
  func errorBodyLetGo() async throws {
    let stream = BodyStream(expected: nil, window: 100)
    let chain = chain(candidate(staleIfError: 1000)) { _ in
      Response(status: 503, fields: .parsed(Fields()), body: .stream(stream))
    }
    let answer = await chain.respond(to: try request())
    #expect(answer.status == 200)
    #expect(await stream.append(Slice(Array(repeating: 0, count: 1000))) == .abandoned)
  }
}
