// From a domain's configuration to the policy that the rules see, and to the keys of its requests.

import RegentCaching
import RegentConfig
import RegentHTTP
import Testing

@testable import Regent

private func domain(_ change: (inout RegentConfig.Domain) -> Void = { _ in }) -> Regent.Domain {
  var entry = RegentConfig.Domain(name: "a")
  change(&entry)
  return Regent.Domain(number: 0, entry)
}

@Test("without keys, a domain's policy is the default")
func defaultPolicy() {
  #expect(domain().policy == CachePolicy())
}

@Test("every key of a domain's policy arrives in seconds")
func configuredPolicy() throws {
  let text = """
    [[domain]]
    name = 'a'
    upstream = 'http://a.test'
    policy = 'cache-first'
    ttl = '1m'
    ttl-min = '2s'
    ttl-max = '3h'
    stale = '4s'
    stale-if-error = '5s'
    negative-ttl = { 404 = '6s', 5xx = '7s' }
    heuristic-max = '8s'
    heuristic-percent = 9
    heuristic-queries = true
    request-directives = false
    scope = 'private'
    set-cookie = 'refuse'
    """
  let policy = CachePolicy(try Configuration.parse(text, file: "f").domains[0])
  var expected = CachePolicy(
    kind: .cacheFirst, ttl: 60, stale: 4, staleIfError: 5, heuristicMaximum: 8, heuristicForQueries: true,
    honoursRequestDirectives: false)
  (expected.minimumTTL, expected.maximumTTL, expected.heuristicPercent) = (2, 10_800, 9)
  (expected.scope, expected.setCookie) = (.private, .refuse)
  for (first, last, seconds) in [(UInt16(404), UInt16(404), Int32(6)), (500, 599, 7)] {
    expected.negativeTTL.append(try #require(.init(first: first, last: last)), seconds: seconds)
  }
  #expect(policy == expected)
}

@Test("a setting of 100 years is clamped to what RFC 9111 section 1.2.2 asks for")
func clampedPolicy() {
  let policy = domain { $0.maximumTTL = .seconds(36_500 * 86_400) }.policy
  #expect(policy.maximumTTL == .max)
}

@Test("keys of a private domain begin with the credentials, those of a shared one do not")
func keyStarts() {
  let shared = domain()
  let own = domain { $0.scope = .private }
  let alice = fields("Authorization: alice")
  let bob = fields("Authorization: bob")
  #expect(shared.keyStart(alice) == shared.keyStart(bob))
  #expect(own.keyStart(alice) != own.keyStart(bob))
  #expect(own.keyStart(alice) != own.keyStart(Fields()))
  #expect(own.keyStart(alice) == own.keyStart(fields("X-Other: 1", "authorization: alice")))
  #expect(!own.keyStart(Fields()).starts(with: shared.keyStart(Fields()) + [0, 0]))
}
