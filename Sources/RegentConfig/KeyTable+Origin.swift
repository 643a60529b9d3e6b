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
    Key(
      "domain.host", \.manners.host, "The value of Host in requests to the origin, if not the upstream's own."
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
