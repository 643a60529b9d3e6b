// The keys of a domain's caching policy, from a file and from the command line.

import RegentCaching
import Testing

@testable import RegentConfig

@Suite("The keys of a domain's policy")
struct PolicyKeyTests {
  @Test("without any, RFC 9111 as it stands")
  func defaults() throws {
    let domain = try parsedDomain("")
    #expect(domain.scope == .shared && domain.setCookie == .store && domain.requestDirectives)
    #expect(domain.minimumTTL == nil && domain.maximumTTL == nil && domain.staleIfError == nil)
    #expect(domain.negativeTTL.rows.isEmpty && domain.heuristicMaximum == .seconds(86_400))
    #expect(domain.heuristicPercent == 10 && !domain.heuristicForQueries)
  }

  @Test("each is read from a file")
  func file() throws {
    let domain = try parsedDomain(
      """
      ttl-min = '1s'
      ttl-max = '7d'
      stale-if-error = '1h'
      negative-ttl = { 404 = '1m', "5xx" = '5s' }
      heuristic-max = '0s'
      heuristic-percent = 50
      heuristic-queries = true
      request-directives = false
      scope = 'private'
      set-cookie = 'strip'
      """)
    #expect(domain.minimumTTL == .seconds(1) && domain.maximumTTL == .seconds(604_800))
    #expect(domain.staleIfError == .seconds(3600) && domain.heuristicMaximum == .zero)
    #expect(domain.heuristicPercent == 50 && domain.heuristicForQueries && !domain.requestDirectives)
    #expect(domain.scope == .private && domain.setCookie == .strip)
    #expect(domain.negativeTTL.rows.map(\.statuses.first) == [404, 500])
    #expect(domain.negativeTTL.rows.map(\.statuses.last) == [404, 599])
    #expect(domain.negativeTTL.rows.map(\.ttl) == [.seconds(60), .seconds(5)])
    #expect(domain.negativeTTL.toml == #"{ "404" = "1m", "5xx" = "5s" }"#)
  }

  @Test("negative-ttl may stand as a table of its own")
  func table() throws {
    let domain = try parsedDomain("[domain.negative-ttl]\n404 = '1m'\n")
    #expect(domain.negativeTTL.rows.map(\.ttl) == [.seconds(60)])
  }

  @Test("each is set on the command line")
  func commandLine() throws {
    let domain = try parsedDomain(
      "",
      set: ["scope=private", "set-cookie=refuse", "negative-ttl=404=1m,5xx=5s", "request-directives=false"])
    #expect(domain.scope == .private && domain.setCookie == .refuse && !domain.requestDirectives)
    #expect(domain.negativeTTL.toml == #"{ "404" = "1m", "5xx" = "5s" }"#)
    #expect(try parsedDomain("", set: ["negative-ttl="]).negativeTTL.rows.isEmpty)
  }

  @Test(
    "a table of statuses that is none is refused",
    arguments: ["404", "404=", "404=1", "=1m", "x=1m", "404=1m,404=2m", "4444=1m", "+40=1m"])
  func refused(value: String) {
    #expect(throws: ConfigurationErrors.self) { try parsedDomain("", set: ["negative-ttl=\(value)"]) }
  }

  @Test("a table of statuses has 16 rows at most")
  func tooMany() throws {
    func rows(_ count: Int) -> String { (400..<400 + count).map { "\($0)=1m" }.joined(separator: ",") }
    #expect(try parsedDomain("", set: ["negative-ttl=\(rows(16))"]).negativeTTL.rows.count == 16)
    #expect(throws: ConfigurationErrors.self) { try parsedDomain("", set: ["negative-ttl=\(rows(17))"]) }
  }
}
