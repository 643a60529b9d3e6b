// A stored response as the reference model imagines it: what came, when, and what later messages made of its fields.

/// A request as the model sees it.
struct Asked: Sendable {
  var method = "GET"
  var target = "/"
  var fields = Lines()
}

/// One form of a response that the cache may hold.
struct Edition: Sendable {
  var status: Int
  var fields: Lines
  /// The fields of the message that came last, for Date and Age: the response's own, or the 304's that confirmed it.
  var message: Lines
  var requestTime: Int64
  var responseTime: Int64
  /// The requests whose fields may have selected it.
  var selectors: [Asked]
  /// Fields that `no-cache="…"` named: a cache may have stored them, or not.
  var optional: Set<String> = []
}

/// A response of the origin, by the number that it carries.
struct Entry: Sendable {
  let serial: Int
  let target: String
  let body: String
  /// The whole content that the body is, or is a part of.
  let whole: String
  /// The forms that the cache may hold; none after it was made invalid.
  var editions: [Edition]
  /// When it, or what confirmed it, came, as a count of exchanges.
  var arrival: Int
}

/// What the owner of the domain decided, as README and issue 3 say it.
struct Rules: Sendable {
  var kind = "http"
  var ttl: Int64?
  var stale: Int64?
  var staleIfError: Int64?
}
