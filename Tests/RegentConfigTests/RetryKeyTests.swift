// The keys of a domain about an origin in trouble, from a file and from the command line.

import Testing

@testable import RegentConfig

@Suite("The keys of retries and breaker")
struct RetryKeyTests {
  @Test("each is read from a file")
  func file() throws {
    let domain = try parsedDomain(
      """
      retry = 'linear'
      retry-attempts = 5
      retry-base = '20ms'
      retry-max-delay = '3s'
      retry-jitter = '0s'
      retry-on = ['connect', '503', 429]
      retry-budget = 20
      retry-body = '1 MiB'
      breaker = false
      breaker-failures = 30
      breaker-requests = 7
      breaker-window = '1m'
      breaker-open = '250ms'
      """)
    #expect(domain.retrying.policy == .linear && domain.retrying.attempts == 5)
    #expect(domain.retrying.base == .milliseconds(20) && domain.retrying.maxDelay == .seconds(3))
    #expect(domain.retrying.jitter == .zero && domain.retrying.budget == 20)
    #expect(domain.retrying.on == [.connect, .status(503), .status(429)])
    #expect(domain.retrying.body == .mebibytes(1))
    #expect(!domain.breaking.isOn && domain.breaking.failures == 30 && domain.breaking.requests == 7)
    #expect(domain.breaking.window == .seconds(60) && domain.breaking.open == .milliseconds(250))
  }

  @Test("each is set on the command line, and lists of conditions stand between commas")
  func commandLine() throws {
    let domain = try parsedDomain(
      "", set: ["retry=none", "retry-on=timeout,reset,504", "breaker-requests=3"])
    #expect(domain.retrying.policy == .none && domain.retrying.on == [.timeout, .reset, .status(504)])
    #expect(domain.breaking.requests == 3)
    #expect(try parsedDomain("", set: ["retry-on="]).retrying.on.isEmpty)
  }

  @Test(
    "what cannot be meant is refused with its reason",
    arguments: [
      ("retry = 'sometimes'", "exponential"), ("retry-attempts = 0", "from 1 to 100"),
      ("retry-attempts = -1", "from 1 to 100"), ("retry-on = ['conect']", "perhaps \"connect\""),
      ("retry-on = ['200']", "each element must be"), ("retry-on = [600]", "each element must be"),
      ("retry-on = ['+50']", "each element must be"), ("retry-budget = 101", "from 0 to 100"),
      ("retry-base = '2d'", "from \"0s\" to \"1d\""), ("breaker-failures = 0", "from 1 to 100"),
      ("breaker-open = '0s'", "from \"1ms\""), ("retry-delay = '1s'", "retry-"),
    ])
  func refused(line: String, reason: String) {
    let errors = #expect(throws: ConfigurationErrors.self) { try parsedDomain(line) }
    #expect("\(errors.map { "\($0)" } ?? "")".contains(reason), "\(String(describing: errors))")
  }
}
