// The keys of how an origin is reached and asked: rows of the table of keys, beside the rest.

extension KeyTable {
  /// The keys of the sections that are about origins.
  static let origins: [Key<Configuration>] = [
    Key(
      "limits.origin-waiting", \.limits.originWaiting, in: 0...1_000_000,
      "The most requests that wait for a connection to one origin, for each event loop."),
    Key(
      "limits.origin-idle", \.limits.originIdle, in: 0...100_000,
      "The most unused connections to one origin, for each event loop; the longest unused goes first."),
    Key(
      "limits.names", \.limits.names, in: 1...1_000_000,
      "The most origins' names whose addresses are remembered."),
    Key(
      "timeouts.names", \.timeouts.names, in: .zero...wait.upperBound,
      "How long an origin's addresses are used before its name is looked up anew."),
    Key(
      "timeouts.missing-names", \.timeouts.missingNames, in: .zero...wait.upperBound,
      "How long a name that was not found is not looked up again."),
    Key(
      "timeouts.origin-wait", \.timeouts.originWait, in: wait,
      "How long a request waits for a connection while all are in use."),
  ]

  /// The keys of a domain that are about its origin.
  static let domainOrigin: [Key<Domain>] = [
    Key("domain.balance", \.balance.rule, "How requests are spread over several upstream addresses."),
    Key(
      "domain.eject-after", \.balance.ejectAfter, in: 1...1000,
      "How many failures in a row put one of several addresses out of turn."),
    Key(
      "domain.eject-for", \.balance.ejectFor, in: wait,
      "For how long at first; twice as long each further time."),
    Key(
      "domain.health-path", \.balance.healthPath,
      refusal: { $0?.isRequestPath == false ? "a path begins with a slash and has no query" : nil },
      "A path that each of several addresses is asked for from time to time; unwell ones get no requests."),
    Key("domain.health-interval", \.balance.healthInterval, in: wait, "How often that is."),
    Key(
      "domain.proxy", \.proxy,
      "The HTTP proxy that leads to the origin: a URL, none, or what the environment says."),
    Key(
      "domain.tls-ca", \.tls.authorities, refusal: pathRefusal,
      "A PEM file with the only authorities that are trusted, relative to this file."),
    Key(
      "domain.tls-certificate", \.tls.certificate, refusal: pathRefusal,
      "A PEM file with the certificate that Regent shows the origin, its chain behind it."),
    Key("domain.tls-key", \.tls.key, refusal: pathRefusal, "A PEM file with that certificate's key."),
    Key("domain.tls-min", \.tls.minimum, "The oldest version of TLS that is spoken with the origin."),
    Key(
      "domain.tls-name", \.tls.name,
      "The name that is asked for and verified, if not the upstream's own."),
    Key(
      "domain.host", \.manners.host, "The value of Host in requests to the origin, if not the upstream's own."
    ),
    Key(
      "domain.expect-wait", \.manners.expectWait, in: .zero...wait.upperBound,
      "How long content waits for the origin's word on Expect: 100-continue; behind that it is sent all the same."
    ),
    Key(
      "domain.forwarded", \.manners.forwarded,
      "What the origin is told of the client: none, x-forwarded or forwarded."),
    Key(
      "domain.request-fields", \.manners.fields, refusal: { countRefusal($0.count) },
      "Field lines for requests to the origin that have no such field; they may name secrets."),
    Key(
      "domain.request-query", \.manners.query, refusal: { countRefusal($0.count) },
      "Query parameters for requests to the origin that have no such one; they may name secrets."),
  ]

  @Sendable private static func countRefusal(_ count: Int) -> String? {
    count <= 64 ? nil : "at most 64 can be added"
  }
}
