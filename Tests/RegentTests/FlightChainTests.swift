// Flights in a chain with scripted providers: who leads, who follows, and what each gets.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage
import Testing

@testable import Regent

/// An origin that answers when it is told to.
final class GatedOrigin: Sendable {
  struct Call: Sendable {
    let request: Request
    let task: Parked<Result<Response, Failure>>
  }

  let journal = Journal()
  private let calls: AsyncStream<Call>
  private let caller: AsyncStream<Call>.Continuation

  init() { (calls, caller) = AsyncStream.makeStream(of: Call.self) }

  var provider: Player {
    Player("origin", journal) { [caller] request in
      try await Parked<Result<Response, Failure>>.wait { task in
        caller.yield(Call(request: request, task: task))
      }.get()
    }
  }

  var asked: Int { journal.count("perform origin") }

  /// The next request that reaches it.
  func next() async throws -> Call {
    for await call in calls { return call }
    throw CancellationError()
  }
}

/// A chain of a memory cache and an origin, on a loop of its own.
struct FlightStage: Sendable {
  let origin = GatedOrigin()
  let flights: Flights
  let chain: Chain

  init(_ rules: FlightRules = FlightRules()) {
    flights = Flights(rules)
    let store = MemoryStore(budget: 8 << 20, maxObject: 1 << 20)
    chain = Chain.Builder().flights(flights).next(MemoryProvider(store: store)).next(origin.provider).build()
  }

  var figures: FlightFigures { flights.figures(now: 0) }

  /// Starts requests on the loop; each is in its flight, or at the origin, when this returns.
  func start(
    _ count: Int, on loop: EventLoop, _ fields: String = "X-No: no", policy: CachePolicy = CachePolicy()
  )
    async throws -> [Task<Response, Never>]
  {
    let requests = try (0..<count).map { _ in try request("GET /x HTTP/1.1", fields, policy: policy) }
    let tasks = requests.map { request in
      Task(executorPreference: loop) { await chain.respond(to: request) }
    }
    await Task(executorPreference: loop) {}.value
    return tasks
  }
}

/// A response as an origin gives it.
func fetched(_ text: String, _ lines: String..., status: Int = 200, to request: Request) -> Response {
  guard let head = ResponseHead(status: status, fields: fields(lines)) else { return response(500) }
  let received = Received(head, requestTime: arrival, responseTime: arrival)
  return received.response(to: request, .whole(Slice(Array(text.utf8)))) ?? response(500)
}

@Suite("Flights", .timeLimit(.minutes(10)))
struct FlightChainTests {
  @Test("one fetch answers all who ask for the same meanwhile")
  func one() async throws {
    try await onLoop { loop in
      let stage = FlightStage()
      let tasks = try await stage.start(50, on: loop)
      let call = try await stage.origin.next()
      #expect(stage.figures.waiting == 49)
      call.task.resume(.success(fetched("x", "Cache-Control: max-age=60", to: call.request)))
      var collapsed = 0
      for task in tasks {
        let response = await task.value
        #expect(response.text == "x")
        if response.cacheStatus.collapsed { collapsed += 1 }
      }
      #expect(collapsed == 49 && stage.origin.asked == 1)
      #expect(stage.figures.inTheAir == 0 && stage.figures.counts.followed == 49)
    }
  }

  @Test("a response that may not be shared sends all on at once, and its key is remembered")
  func refused() async throws {
    try await onLoop { loop in
      let stage = FlightStage()
      let tasks = try await stage.start(10, on: loop)
      let first = try await stage.origin.next()
      let answer = { (call: GatedOrigin.Call) in
        call.task.resume(.success(fetched("own", "Cache-Control: private", to: call.request)))
      }
      answer(first)
      // All are there before any is answered.
      var calls: [GatedOrigin.Call] = []
      for _ in 0..<9 { calls.append(try await stage.origin.next()) }
      calls.forEach(answer)
      for task in tasks { #expect(await task.value.text == "own") }
      #expect(stage.figures.counts.released == 9 && stage.figures.rememberedKeys == 1)
      // From now on nobody waits for another one.
      let more = try await stage.start(3, on: loop)
      for _ in 0..<3 {
        let call = try await stage.origin.next()
        call.task.resume(.success(fetched("now", "Cache-Control: max-age=60", to: call.request)))
      }
      for task in more { #expect(await task.value.text == "now") }
      #expect(stage.figures.counts.unshared == 3 && stage.figures.rememberedKeys == 0)
    }
  }

  @Test("those whom a response does not select go on by themselves")
  func vary() async throws {
    try await onLoop { loop in
      let stage = FlightStage()
      let german = try await stage.start(3, on: loop, "Accept-Language: de")
      let english = try await stage.start(3, on: loop, "Accept-Language: en")
      let call = try await stage.origin.next()
      let varying = "Vary: Accept-Language"
      call.task.resume(.success(fetched("de", "Cache-Control: max-age=60", varying, to: call.request)))
      for task in german { #expect(await task.value.text == "de") }
      for _ in 0..<3 {
        let call = try await stage.origin.next()
        call.task.resume(.success(fetched("en", "Cache-Control: max-age=60", varying, to: call.request)))
      }
      for task in english { #expect(await task.value.text == "en") }
      #expect(stage.origin.asked == 4 && stage.figures.counts.unselected == 3)
    }
  }

  @Test("a leader's failure elects one other, and its failure is everybody's")
  func failure() async throws {
    try await onLoop { loop in
      let stage = FlightStage()
      let tasks = try await stage.start(10, on: loop)
      for _ in 0..<2 { try await stage.origin.next().task.resume(.failure(.connectionRefused)) }
      for task in tasks {
        let response = await task.value
        #expect(response.status == 502 && response.failure == .connectionRefused)
      }
      #expect(stage.origin.asked == 2 && stage.figures.counts.elected == 1)
      #expect(stage.figures.counts.failed == 8 && stage.figures.inTheAir == 0)
    }
  }

  @Test("an origin in trouble is asked twice, however many wait", arguments: [500, 503, 429])
  func trouble(status: Int) async throws {
    try await onLoop { loop in
      let stage = FlightStage()
      let tasks = try await stage.start(10, on: loop)
      for _ in 0..<2 {
        let call = try await stage.origin.next()
        call.task.resume(.success(fetched("trouble", status: status, to: call.request)))
      }
      for task in tasks { #expect(await task.value.status == status) }
      #expect(stage.origin.asked == 2 && stage.figures.counts.failed == 8)
    }
  }

  @Test("the elected one's response answers the rest")
  func recovery() async throws {
    try await onLoop { loop in
      let stage = FlightStage()
      let tasks = try await stage.start(10, on: loop)
      try await stage.origin.next().task.resume(.failure(.closedBeforeResponse))
      let call = try await stage.origin.next()
      call.task.resume(.success(fetched("x", "Cache-Control: max-age=60", to: call.request)))
      var statuses: [Int] = []
      for task in tasks { statuses.append(await task.value.status) }
      #expect(statuses.count { $0 == 200 } == 9 && statuses.count { $0 == 502 } == 1)
    }
  }

  @Test("when the lease passes one more asks, and the first head answers all")
  func lease() async throws {
    try await onLoop { loop in
      let stage = FlightStage(FlightRules(lease: .milliseconds(20)))
      let tasks = try await stage.start(10, on: loop)
      let hanging = try await stage.origin.next()
      let second = try await stage.origin.next()
      #expect(stage.figures.counts.leaseExpired == 1)
      second.task.resume(.success(fetched("x", "Cache-Control: max-age=60", to: second.request)))
      for task in tasks.dropFirst() { #expect(await task.value.text == "x") }
      hanging.task.resume(.failure(.responseTimedOut))
      #expect(await tasks[0].value.status == 504)
      #expect(stage.origin.asked == 2)
    }
  }

  @Test("who finds no room among the waiting asks by itself")
  func overflow() async throws {
    try await onLoop { loop in
      let stage = FlightStage(FlightRules(followers: 2))
      let tasks = try await stage.start(5, on: loop)
      for _ in 0..<3 {
        let call = try await stage.origin.next()
        call.task.resume(.success(fetched("x", "Cache-Control: max-age=60", to: call.request)))
      }
      for task in tasks { #expect(await task.value.text == "x") }
      #expect(stage.figures.counts.overflowed == 2 && stage.figures.counts.followed == 2)
    }
  }

  @Test(
    "requests that ask for something of their own walk by themselves",
    arguments: ["Range: bytes=0-1", "Cache-Control: no-store"])
  func own(field: String) async throws {
    try await onLoop { loop in
      let stage = FlightStage()
      let tasks = try await stage.start(3, on: loop, field)
      for _ in 0..<3 {
        let call = try await stage.origin.next()
        call.task.resume(.success(fetched("x", "Cache-Control: max-age=60", to: call.request)))
      }
      for task in tasks { _ = await task.value }
      #expect(stage.figures.counts.led == 0)
    }
  }

  @Test("a request that comes after an unsafe one to its target does not join what was asked before")
  func invalidation() async throws {
    try await onLoop { loop in
      let stage = FlightStage()
      let early = try await stage.start(3, on: loop)
      let old = try await stage.origin.next()
      let post = try request("POST /x HTTP/1.1")
      let posting = Task(executorPreference: loop) { await stage.chain.respond(to: post) }
      try await stage.origin.next().task.resume(.success(response(204)))
      _ = await posting.value
      let late = try await stage.start(3, on: loop)
      let new = try await stage.origin.next()
      old.task.resume(.success(fetched("old", "Cache-Control: max-age=60", to: old.request)))
      for task in early { #expect(await task.value.text == "old") }
      new.task.resume(.success(fetched("new", "Cache-Control: max-age=60", to: new.request)))
      for task in late { #expect(await task.value.text == "new") }
      #expect(stage.origin.asked == 3 && stage.figures.inTheAir == 0)
      // What was asked before is not stored either.
      #expect(try await stage.start(1, on: loop)[0].value.text == "new")
    }
  }
}
