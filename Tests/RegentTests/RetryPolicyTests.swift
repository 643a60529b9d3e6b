// The retry policies against the formula, with numbers that chance is made of, and at the ends of what a number can be.

import RegentConfig
import RegentHTTP
import RegentLoop
import TestKit
import Testing

@testable import Regent

// The policy of the article on retry policies.
/// Repeats what a busy program answers, up to five times, each time after a tenth of a second at most.
private struct Patient: RetryPolicy {
  func shouldRetry(for trouble: OriginTrouble, attempt: Int) -> Bool {
    if case .answer(status: 500, _) = trouble { return attempt < 5 }
    return trouble.meets(RetryCondition.standard) && attempt < 2
  }

  func delay(for attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
    .milliseconds(Int.random(in: 1...100, using: &generator))
  }
}

@Suite("A retry policy")
struct RetryPolicyTests {
  private let refused = OriginTrouble.failure(.connectionRefused)

  @Test(
    "exponential waits min(base * 2^attempt + jitter, most), the jitter uniform in its range",
    arguments: [
      (100, 10_000, 0, 100), (100, 10_000, 1, 200), (100, 10_000, 2, 400), (100, 10_000, 5, 3200),
      (100, 10_000, 6, 6400), (100, 10_000, 7, 10_000), (100, 10_000, 60, 10_000), (250, 300, 0, 250),
      (0, 10_000, 3, 0), (1000, 0, 3, 0),
    ])
  func formula(base: Int, most: Int, attempt: Int, expected: Int) {
    let seed = SeededGenerator.anySeed()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let limit = Duration.milliseconds(most)
    let plain = ExponentialBackoff(
      baseDelay: .milliseconds(base), maxDelay: limit, maxAttempts: 9, jitter: .zero)
    #expect(plain.delay(for: attempt, using: &random) == .milliseconds(expected))
    let backoff = ExponentialBackoff(baseDelay: .milliseconds(base), maxDelay: limit, maxAttempts: 9)
    var sum = Duration.zero
    for _ in 0..<2000 {
      // The policy draws once, from 0 to half a second in nanoseconds; so does its twin.
      var twin = random
      let chance = Duration.nanoseconds(Int64.random(in: 0...500_000_000, using: &twin))
      let delay = backoff.delay(for: attempt, using: &random)
      let grown = Duration.milliseconds(base) * (1 << min(attempt, 40)) + chance
      #expect(delay == min(grown, limit))
      sum += delay
    }
    // Half of the range on average, wherever nothing is cut off.
    guard expected + 500 <= most else { return }
    #expect(abs((sum / 2000 - .milliseconds(expected + 250)) / .milliseconds(1)) < 30)
  }

  static let extremes: [Duration] = [
    .zero, .nanoseconds(1), .seconds(1), .seconds(Int64.max), .seconds(Int64.min), .seconds(-1),
    .nanoseconds(Int64.max), .nanoseconds(Int64.min),
  ]

  @Test("no number makes it trap, and no delay is below zero or above the most", arguments: extremes)
  func neverTraps(base: Duration) {
    var random = SeededGenerator(seed: 1)
    for most in Self.extremes {
      for jitter in Self.extremes {
        for attempts in [Int.min, -1, 0, 1, 2, Int.max - 1, Int.max] {
          let policy = ExponentialBackoff(
            baseDelay: base, maxDelay: most, maxAttempts: attempts, jitter: jitter)
          for attempt in [Int.min, -1, 0, 1, 61, 62, 63, 64, 65, Int.max - 1, Int.max] {
            let delay = policy.delay(for: attempt, using: &random)
            #expect(delay >= .zero && (delay <= most || delay == .zero))
            #expect(
              policy.shouldRetry(for: refused, attempt: attempt) == (attempts > 1 && attempt < attempts - 1))
            let linear = LinearRetry(fixedDelay: base, maxAttempts: attempts)
            #expect(linear.delay(for: attempt, using: &random) >= .zero)
            #expect(
              linear.shouldRetry(for: refused, attempt: attempt)
                == policy.shouldRetry(for: refused, attempt: attempt))
          }
        }
      }
    }
  }

  @Test("doubling ends at the largest number there is")
  func doubling() {
    #expect(doubled(3, times: 2) == 12 && doubled(0, times: 99) == 0 && doubled(5, times: 0) == 5)
    #expect(doubled(1, times: 62) == 1 << 62 && doubled(1, times: 63) == .max)
    #expect(doubled(3, times: 61) == 3 << 61 || doubled(3, times: 61) == .max)
    #expect(doubled(.max, times: 1) == .max && doubled(7, times: .max) == .max && doubled(7, times: -1) == 7)
  }

  @Test("linear waits the same each time; none repeats nothing")
  func others() {
    var random = SeededGenerator(seed: 1)
    let linear = LinearRetry(fixedDelay: .milliseconds(70), maxAttempts: 3)
    for attempt in 0..<9 { #expect(linear.delay(for: attempt, using: &random) == .milliseconds(70)) }
    #expect((0..<9).filter { linear.shouldRetry(for: refused, attempt: $0) } == [0, 1])
    #expect(!NoRetry().shouldRetry(for: refused, attempt: 0))
  }

  @Test(
    "what is repeated unless the configuration says otherwise",
    arguments: [
      (.failure(.connectionRefused), true), (.failure(.connectionTimedOut), true),
      (.failure(.connectionFailed("no route")), true), (.failure(.tls(.timedOut)), true),
      (.failure(.tls(.certificate("expired"))), false), (.failure(.nameNotFound("none")), false),
      (.failure(.closedBeforeResponse), true), (.failure(.responseTimedOut), true),
      (.failure(.malformedResponse("No.")), false), (.failure(.overloaded), false),
      (.failure(.circuitOpen(seconds: 1, because: "")), false), (.failure(.deadlinePassed), false),
      (.failure(.clientLeft), false), (.failure(.requestTimedOut), false),
      (.answer(status: 502, after: nil), true), (.answer(status: 503, after: nil), true),
      (.answer(status: 504, after: nil), true), (.answer(status: 500, after: nil), false),
      (.answer(status: 404, after: nil), false), (.answer(status: 429, after: nil), false),
      (.answer(status: 429, after: .seconds(1)), true), (.answer(status: 500, after: .seconds(1)), false),
    ] as [(OriginTrouble, Bool)])
  func conditions(trouble: OriginTrouble, isRepeated: Bool) {
    #expect(trouble.meets(RetryCondition.standard) == isRepeated)
    #expect(!trouble.meets([]))
  }

  @Test("of a user's own is asked in place of the configured one, for its own domain")
  func own() throws {
    var configuration = Configuration()
    for (name, path) in [("own", "/a"), ("other", "/b")] {
      var domain = RegentConfig.Domain(name: name)
      domain.upstream = try UpstreamURL("http://origin.test\(path)")
      configuration.domains.append(domain)
    }
    let targets = UpstreamProvider.Target.all(of: configuration, ["own": Patient()], nil)
    let busy = OriginTrouble.answer(status: 500, after: nil)
    let waits = targets.map { target -> Bool in
      var random = SeededGenerator(seed: 1)
      guard
        case .again(let delay)? = target?.retrying.verdict(on: busy, EndedAttempt(number: 4), using: &random)
      else { return false }
      return .milliseconds(1) <= delay && delay <= .milliseconds(100)
    }
    #expect(waits == [true, false])
    // One origin serves both: whoever finds it ill tells the other.
    #expect(targets[0]?.health === targets[1]?.health && targets[0] !== targets[1])
    configuration.domains[1].breaking.failures = 1
    let apart = UpstreamProvider.Target.all(of: configuration, [:], nil)
    #expect(apart[0]?.health !== apart[1]?.health)
  }
}

@Suite("Whether an attempt is followed by another")
struct RetryRulesTests {
  private let rules = RetryRules(
    policy: LinearRetry(fixedDelay: .milliseconds(100), maxAttempts: 3), maxDelay: .seconds(2),
    keptContent: 1024)
  private let refused = OriginTrouble.failure(.connectionRefused)

  private func verdict(
    _ trouble: OriginTrouble? = nil, _ change: (inout EndedAttempt) -> Void = { _ in }
  ) -> RetryVerdict {
    var random = SeededGenerator(seed: 1)
    var ended = EndedAttempt(remaining: .seconds(60))
    change(&ended)
    return rules.verdict(on: trouble ?? refused, ended, using: &random)
  }

  @Test("it is where nothing speaks against it, and each thing that does has its name")
  func refusals() {
    #expect(verdict() == .again(after: .milliseconds(100)))
    #expect(verdict { $0.number = 2 } == .refused(.policy))
    #expect(verdict { $0.isBehind = true } == .refused(.behind))
    #expect(verdict { $0.method = .post } == .refused(.method))
    #expect(verdict { $0.method = .patch } == .refused(.method))
    #expect(verdict { $0.isReplayable = false } == .refused(.content))
    #expect(verdict { $0.hasStale = true } == .refused(.stale))
    #expect(verdict { $0.isFresh = true } == .refused(.fresh))
    #expect(verdict { $0.isBroken = true } == .refused(.breaker))
    #expect(verdict { $0.remaining = .milliseconds(100) } == .refused(.deadline))
    #expect(verdict { $0.remaining = .milliseconds(101) } == .again(after: .milliseconds(100)))
  }

  @Test("whatever the method and the content, where nothing has left")
  func nothingLeft() {
    #expect(
      verdict {
        $0.method = .post
        $0.hasLeft = false
        $0.isReplayable = false
      } == .again(after: .milliseconds(100)))
  }

  @Test("after what the origin asks for, unless that is more than the domain waits")
  func demand() {
    let limited = { OriginTrouble.answer(status: 503, after: $0) }
    #expect(verdict(limited(.seconds(1))) == .again(after: .seconds(1)))
    #expect(verdict(limited(.zero)) == .again(after: .milliseconds(100)))
    #expect(verdict(limited(.seconds(2))) == .again(after: .seconds(2)))
    #expect(verdict(limited(.seconds(3))) == .refused(.demand))
    #expect(verdict(limited(.seconds(Int64.max))) == .refused(.demand))
  }

  @Test("content is kept only for a policy that may send it again")
  func kept() {
    #expect(RetryRules(policy: NoRetry(), maxDelay: .zero, keptContent: 9).keptContent == 0)
    #expect(rules.keptContent == 1024)
  }
}

@Suite("The delay that an origin asks for")
struct DemandedDelayTests {
  @Test(
    "is read in every form that is about, and what makes no sense says nothing",
    arguments: [
      (["Retry-After: 3"], 3), (["Retry-After: 0"], 0), (["Retry-After: -1"], nil),
      (["Retry-After: soon"], nil), (["Retry-After: 99999999999999999999"], nil),
      (["Retry-After: 999999999999"], 1 << 31), (["Retry-After: 1", "Retry-After: 4"], 4),
      (["Retry-After: Tue, 14 Nov 2023 22:13:30 GMT"], 10),
      (["Retry-After: Tue, 14 Nov 2023 22:13:10 GMT"], 0),
      (["Date: Tue, 14 Nov 2023 22:13:00 GMT", "Retry-After: Tue, 14 Nov 2023 22:13:30 GMT"], 30),
      (["RateLimit: \"default\";r=0;t=30"], 30), (["RateLimit: \"default\";r=5;t=30"], nil),
      (["RateLimit: \"a\";r=5;t=30, \"b\";r=0;t=7"], 7), (["RateLimit: \"a\";r=0;t=3, \"b\";r=0;t=7"], 7),
      (["RateLimit: \"default\";r=0"], nil), (["RateLimit: limit=10, remaining=0, reset=9"], 9),
      (["RateLimit: limit=10, remaining=1, reset=9"], nil), (["RateLimit: ;;;=,\"\"=,r=,t=x"], nil),
      (["RateLimit-Remaining: 0", "RateLimit-Reset: 8"], 8),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 8"], 8),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1700000012"], 12),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1700000012000"], 12),
      (["X-RateLimit-Remaining: 2", "X-RateLimit-Reset: 8"], nil),
      (["X-RateLimit-Reset: 8"], nil), (["Retry-After: 2", "RateLimit: \"d\";r=0;t=30"], 30),
    ] as [([String], Int64?)])
  func forms(lines: [String], seconds: Int64?) {
    #expect(fields(lines).demandedDelay(wall: arrival, isLimiting: true) == seconds.map { .seconds($0) })
  }

  @Test("a used-up limit says nothing where the status does not either")
  func notLimiting() {
    let used = fields("RateLimit: \"default\";r=0;t=30", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 8")
    #expect(used.demandedDelay(wall: arrival, isLimiting: false) == nil)
    #expect(fields("Retry-After: 2").demandedDelay(wall: arrival, isLimiting: false) == .seconds(2))
  }
}

@Suite("Kept content")
struct KeptContentTests {
  /// Content in pieces, of which somebody counts the reads.
  private final class Pieces: RequestBody {
    private let left: Lock<[[UInt8]]>
    let framing = BodyFraming.chunked

    init(_ pieces: [[UInt8]]) { left = Lock(pieces) }

    var isComplete: Bool { left.withLock { $0.isEmpty } }
    func next() async throws -> Slice? { left.withLock { $0.isEmpty ? nil : Slice($0.removeFirst()) } }
    func abandon() {}
  }

  private func all(_ kept: KeptContent) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try await kept.read() { bytes += piece.bytes }
    return bytes
  }

  @Test("is read again from its first byte as often as it is rewound, and is counted while it is here")
  func again() async throws {
    let meters = LoopMeters(domains: 1, providers: 1)
    let kept = KeptContent(Pieces([[1, 2], [3], [4, 5, 6]]), limit: 6, meters: meters)
    #expect(try await kept.read()?.bytes == [1, 2])
    #expect(!kept.isWhole && meters.keptContent.count == 2)
    #expect(try await all(kept) == [3, 4, 5, 6])
    for _ in 0..<3 {
      #expect(kept.isWhole && kept.isComplete && meters.keptContent.count == 6)
      kept.rewind()
      #expect(!kept.isComplete)
      #expect(try await all(kept) == [1, 2, 3, 4, 5, 6])
    }
    kept.letGo()
    #expect(!kept.isWhole && meters.keptContent.count == 0)
  }

  @Test("beyond its limit passes through whole and is forgotten", arguments: [0, 1, 5])
  func tooLarge(limit: Int) async throws {
    let meters = LoopMeters(domains: 1, providers: 1)
    let kept = KeptContent(Pieces([[1, 2], [3], [4, 5, 6]]), limit: limit, meters: meters)
    #expect(try await all(kept) == [1, 2, 3, 4, 5, 6])
    #expect(!kept.isWhole && meters.keptContent.count == 0)
  }
}
