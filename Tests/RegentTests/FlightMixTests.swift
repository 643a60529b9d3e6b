// Flights over two loops with an origin that does something else each time: every request is answered, nothing stays in the
// air, and the figures add up. And the second look of who missed the cache just before a flight ended.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage
import TestKit
import Testing

@testable import Regent

@Suite("Flights over several loops", .timeLimit(.minutes(10)))
struct FlightMixTests {
  @Test("answer every request once, whatever the origin does", arguments: 0..<8 as Range<UInt64>)
  func mix(seed: UInt64) async throws {
    let group = try LoopGroup(count: 2)
    defer { group.stop() }
    let flights = Flights(FlightRules(lease: .milliseconds(3), followers: 6, unshared: .milliseconds(2)))
    let random = Lock(SeededGenerator(seed: seed))
    let origin = Player("origin", Journal()) { request in
      // On a slow machine nobody might come while another fetch is in the air: the first ones wait for that.
      while request.method == .get, flights.figures(now: 0).counts.followed == 0 {
        await EventLoop.current?.sleep(for: .milliseconds(1))
      }
      let dice = random.withLock { Int.random(in: 0..<12, using: &$0) }
      await EventLoop.current?.sleep(for: .milliseconds(dice % 5))
      switch dice {
      case 0: throw Failure.connectionRefused
      case 1: return fetched("trouble", status: 503, to: request)
      case 2: return fetched("own", "Cache-Control: private", to: request)
      case 3: return fetched("sv", "Cache-Control: max-age=60", "Vary: Accept-Language", to: request)
      case 4: return fetched("once", "Cache-Control: max-age=0", "ETag: \"1\"", to: request)
      case 5, 6: return arriving(to: request, isWhole: dice == 5)
      default: return fetched("x", "Cache-Control: max-age=0", "ETag: \"2\"", to: request)
      }
    }
    let store = MemoryStore(budget: 8 << 20, maxObject: 1 << 20)
    let chain = Chain.Builder().flights(flights).next(MemoryProvider(store: store)).next(origin).build()
    let tasks = try (0..<600).map { number in
      let language = number % 5 == 0 ? "de" : "en"
      let request = try request(
        "\(number % 97 == 0 ? "POST" : "GET") /\(number % 3) HTTP/1.1", "Accept-Language: \(language)")
      return Task(executorPreference: group.loops[number % 2]) { () -> Int in
        await EventLoop.current?.sleep(for: .milliseconds(number / 20))
        let response = await chain.respond(to: request)
        if case .stream(let stream) = response.body, let reader = response.seat ?? stream.makeReader() {
          // A body that breaks off is one of the things that happen.
          while (try? await reader.next()) != nil {}
        }
        return response.status
      }
    }
    var statuses: [Int: Int] = [:]
    for task in tasks { statuses[await task.value, default: 0] += 1 }
    #expect(Set(statuses.keys).isSubset(of: [200, 502, 503]), "seed \(seed): \(statuses)")
    #expect(statuses.values.reduce(0, +) == 600)
    // The last bodies' ends are told by tasks of their own.
    while flights.figures(now: 0).inTheAir > 0 { await Task.yield() }
    let figures = flights.figures(now: 0)
    #expect(figures.waiting == 0, "seed \(seed)")
    let counts = figures.counts
    let outcomes = counts.elected + counts.released + counts.unselected + counts.stale + counts.failed
    #expect(outcomes <= counts.followed && counts.elected <= counts.led, "seed \(seed): \(counts)")
    #expect(counts.followed > 0 && counts.led > 0, "seed \(seed): \(counts)")
  }

  /// A response whose body comes in two pieces, with a pause between them.
  private func arriving(to request: Request, isWhole: Bool) -> Response {
    var response = fetched("", "Cache-Control: max-age=60", "ETag: \"3\"", to: request)
    let stream = BodyStream(expected: 2)
    let writer = stream.makeWriter()
    Task(executorPreference: EventLoop.current) {
      for piece in [[1], [2]] as [[UInt8]] {
        _ = await writer.append(Slice(piece))
        await EventLoop.current?.sleep(for: .milliseconds(2))
        if !isWhole { break }
      }
      if isWhole { writer.finish() } else { writer.fail(.originClosedEarly) }
    }
    response.body = .stream(stream)
    return response
  }

  @Test("a request that missed the cache just before a flight ended looks again, and asks nobody")
  func secondLook() async throws {
    try await onLoop { _ in
      let journal = Journal()
      let looks = Counter()
      let cache = Keeper("cache", journal) { _ in
        looks.add(1)
        // The third look is the second one of the second request.
        guard looks.count == 3 else { throw Unhandled(.uriMiss) }
        return response(200, "stored")
      }
      let origin = Player("origin", journal) { fetched("x", "Cache-Control: max-age=60", to: $0) }
      let chain = Chain.Builder().next(cache).next(origin).build()
      let requests = try ["/x", "/x", "/y"].map { try request("GET \($0) HTTP/1.1") }
      #expect(await chain.respond(to: requests[0]).text == "x")
      #expect(await chain.respond(to: requests[1]).text == "stored")
      #expect(journal.count("perform origin") == 1)
      // A key of which nothing ended is asked for at once.
      #expect(await chain.respond(to: requests[2]).text == "x")
      #expect(looks.count == 4)
    }
  }
}
