// What a domain's settings change: the bounds of lifetimes, errors, guesses, and whose directives count.

import RegentCaching
import RegentHTTP
import Testing

struct SettingRow: Row {
  var rule: String
  var response: String
  /// The freshness that remains a minute after the arrival.
  var remaining: Int32
  var policy: CachePolicy
  var status: UInt16

  init(
    _ rule: String, _ response: String, _ remaining: Int32, status: UInt16 = 200,
    _ change: (inout CachePolicy) -> Void
  ) {
    (self.rule, self.response, self.remaining) = (rule, response, remaining)
    policy = .with { change(&$0) }
    self.status = status
  }

  static let bounds: [SettingRow] = [
    .init("ttl replaces a shorter lifetime", "Cache-Control: max-age=1", 40) { $0.ttl = 100 },
    .init("ttl replaces a longer lifetime", "Cache-Control: max-age=900", 40) { $0.ttl = 100 },
    .init("ttl replaces a missing lifetime", "Server: s", 40) { $0.ttl = 100 },
    .init("ttl counts from the arrival", "Cache-Control: max-age=1\nAge: 70", 40) { $0.ttl = 100 },
    .init("ttl of nothing is stale at once", "Cache-Control: max-age=900", -60) { $0.ttl = 0 },
    .init("a negative ttl is none", "Cache-Control: max-age=900", -60) { $0.ttl = -5 },
    .init("ttl-min raises a lifetime", "Cache-Control: max-age=1", 40) { $0.minimumTTL = 100 },
    .init("ttl-min leaves a longer one", "Cache-Control: max-age=900", 840) { $0.minimumTTL = 100 },
    .init("ttl-min raises a missing one", "Server: s", 40) { $0.minimumTTL = 100 },
    .init("ttl-min raises one that cannot be read", "Cache-Control: max-age=x", 40) { $0.minimumTTL = 100 },
    .init("ttl-min counts the age at arrival", "Cache-Control: max-age=1\nAge: 30", 10) {
      $0.minimumTTL = 100
    },
    .init("ttl-min is not for errors (B6)", "Cache-Control: max-age=70", 10, status: 404) {
      $0.minimumTTL = 100
    },
    .init("ttl-max lowers a lifetime", "Cache-Control: max-age=900", 40) { $0.maximumTTL = 100 },
    .init("ttl-max leaves a shorter one", "Cache-Control: max-age=70", 10) { $0.maximumTTL = 100 },
    .init("ttl-max lowers a guess", "Last-Modified: {-90000}", 40) { $0.maximumTTL = 100 },
    .init("ttl-max lowers Expires", "Expires: {900}", 40) { $0.maximumTTL = 100 },
    .init("ttl-max lowers an error's", "Cache-Control: max-age=900", 40, status: 404) { $0.maximumTTL = 100 },
    .init("ttl-max lowers what has Set-Cookie", "Cache-Control: max-age=900\nSet-Cookie: a=b", 40) {
      $0.maximumTTL = 100
    },
    .init("ttl-max of nothing keeps nothing fresh", "Cache-Control: max-age=900", -60) { $0.maximumTTL = 0 },
    .init("both bounds, from below", "Cache-Control: max-age=1", 10) {
      ($0.minimumTTL, $0.maximumTTL) = (70, 100)
    },
    .init("both bounds, from above", "Cache-Control: max-age=900", 40) {
      ($0.minimumTTL, $0.maximumTTL) = (70, 100)
    },
    .init("the bounds hold for ttl too", "Cache-Control: max-age=1", 40) {
      ($0.ttl, $0.maximumTTL) = (900, 100)
    },
    .init("a clamped lifetime beside ttl-min", "Cache-Control: max-age=99999999999", .max - 60) {
      $0.minimumTTL = .max
    },
  ]

  private static func negative(_ rows: (UInt16, UInt16, Int32)...) -> (inout CachePolicy) -> Void {
    { policy in
      for (first, last, seconds) in rows {
        guard let statuses = NegativeTTL.Statuses(first: first, last: last) else { continue }
        policy.negativeTTL.append(statuses, seconds: seconds)
      }
    }
  }

  static let errors: [SettingRow] = [
    .init("negative-ttl gives an error a lifetime", "Server: s", 40, status: 404, negative((404, 404, 100))),
    .init("by class", "Server: s", 40, status: 503, negative((500, 599, 100))),
    .init("the narrower row counts", "Server: s", 40, status: 503, negative((500, 599, 9), (503, 503, 100))),
    .init(
      "in either order", "Server: s", 40, status: 503, negative((503, 503, 100), (500, 599, 9))),
    .init(
      "it replaces a longer lifetime", "Cache-Control: max-age=900", 40, status: 404,
      negative((404, 404, 100))),
    .init(
      "and a shorter one", "Cache-Control: max-age=1", 40, status: 404, negative((404, 404, 100))),
    .init(
      "it counts from the arrival", "Cache-Control: max-age=1\nAge: 500", 40, status: 404,
      negative((404, 404, 100))),
    .init(
      "another status keeps its own", "Cache-Control: max-age=70", 10, status: 410, negative((404, 404, 100))),
    .init("a 200 keeps its own", "Cache-Control: max-age=70", 10, negative((400, 599, 100))),
    .init(
      "Set-Cookie keeps its own", "Cache-Control: max-age=70\nSet-Cookie: a=b", 10, status: 404,
      negative((404, 404, 100))),
    .init(
      "nothing is stale at once", "Cache-Control: max-age=900", -60, status: 404, negative((404, 404, 0))),
    .init("ttl-max bounds it", "Server: s\nAge: 500", -10, status: 404) {
      negative((404, 404, 100))(&$0)
      $0.maximumTTL = 50
    },
    .init("ttl does not change it", "Server: s", 40, status: 404) {
      negative((404, 404, 100))(&$0)
      $0.ttl = 900
    },
  ]

  static let guesses: [SettingRow] = [
    .init("4.2.2 a tenth", "Last-Modified: {-1000}", 40) { _ in },
    .init("4.2.2 another share", "Last-Modified: {-1000}", 440) { $0.heuristicPercent = 50 },
    .init("4.2.2 all of it", "Last-Modified: {-1000}", 940) { $0.heuristicPercent = 100 },
    .init("4.2.2 nothing", "Last-Modified: {-1000}", -60) { $0.heuristicPercent = 0 },
    .init("4.2.2 a bound", "Last-Modified: {-1000}", 10) { $0.heuristicMaximum = 70 },
    .init("4.2.2 no guess", "Last-Modified: {-1000}", -60) { $0.heuristicMaximum = 0 },
    .init("B13 all of an age without end", "Last-Modified: Mon, 01 Jan 0001 00:00:00 GMT", .max - 60) {
      ($0.heuristicPercent, $0.heuristicMaximum) = (100, .max)
    },
  ]
}

@Test(
  "a domain's settings change how long a response stays fresh",
  arguments: SettingRow.bounds + SettingRow.errors + SettingRow.guesses)
func settings(row: SettingRow) {
  let stored = metadata(row.response, status: row.status, policy: row.policy)
  #expect(stored.remainingFreshness(policy: row.policy, now: arrival + 60) == row.remaining)
}

struct KeepingRow: Row {
  var rule: String
  var response: String
  var refused: RefusalReason?
  var policy: CachePolicy
  var status: UInt16

  init(
    _ rule: String, _ response: String, _ refused: RefusalReason? = nil, status: UInt16 = 200,
    _ change: (inout CachePolicy) -> Void = { _ in }
  ) {
    (self.rule, self.response, self.refused, self.status) = (rule, response, refused, status)
    policy = .with { change(&$0) }
  }

  private static func negative(_ seconds: Int32) -> (inout CachePolicy) -> Void {
    { policy in
      if let all = NegativeTTL.Statuses(first: 400, last: 599) {
        policy.negativeTTL.append(all, seconds: seconds)
      }
    }
  }

  static let all: [KeepingRow] = [
    .init("negative-ttl stores an error without freshness", "Server: s", status: 500, negative(9)),
    .init("B6 an error that it does not name is not stored", "Server: s", .noExplicitFreshness, status: 500),
    .init("of nothing it stores none", "Server: s", .noExplicitFreshness, status: 500, negative(0)),
    .init("it does not lift no-store", "Cache-Control: no-store", .responseNoStore, status: 404, negative(9)),
    .init("it does not lift private", "Cache-Control: private", .private, status: 404, negative(9)),
    .init("B7 it does not lift Set-Cookie", "Set-Cookie: a=b", .setCookie, status: 404, negative(9)),
    .init("it is not for a 302", "Server: s", .noExplicitFreshness, status: 302, negative(9)),
    .init("ttl-min stores a bare 200", "Server: s") { $0.minimumTTL = 9 },
    .init("B6 it stores no bare 405", "Server: s", .neverReusable, status: 405) { $0.minimumTTL = 9 },
    .init("ttl of nothing stores no bare 200", "Server: s", .neverReusable) { $0.ttl = 0 },
    .init("stale stores a bare 200", "Server: s") { $0.stale = 9 },
    .init("stale-if-error stores a bare 200", "Server: s") { $0.staleIfError = 9 },
    .init(
      "3.3 one part that says which is stored as a part",
      "Cache-Control: max-age=9\nContent-Range: bytes 0-1/9", status: 206),
    .init("3.3 a part that does not say is not", "Cache-Control: max-age=9", .partial, status: 206),
    .init(
      "3.3 one that says two things is not",
      "Cache-Control: max-age=9\nContent-Range: bytes 0-1/9\nContent-Range: bytes 2-3/9", .partial,
      status: 206),
    .init(
      "3.3 no-store holds for parts", "Cache-Control: no-store\nContent-Range: bytes 0-1/9", .responseNoStore,
      status: 206),
    .init(
      "5.2.2.3 a 206 is understood",
      "Cache-Control: must-understand, no-store, max-age=9\nContent-Range: bytes 0-1/9", status: 206),
    .init("15.5.17 a 416 is nobody else's", "Cache-Control: max-age=9", .partial, status: 416),
  ]
}

@Test("a domain's settings change what is worth storing", arguments: KeepingRow.all)
func keeping(row: KeepingRow) {
  let decision = Storability.decide(
    method: .get, requestFields: fields(""), requestDirectives: .none, status: row.status,
    responseFields: fields(row.response), policy: row.policy)
  let kept: Storability = row.status == 206 ? .storePart : .store
  #expect(decision == row.refused.map { .refuse($0) } ?? kept)
}

@Test(
  "statuses that a response may have",
  arguments: [
    (UInt16(200), true), (203, true), (204, true), (299, true), (301, true), (302, true), (303, true),
    (307, true),
    (308, true), (400, true), (404, true), (410, true), (499, true), (500, true), (502, true), (503, true),
    (504, true), (599, true), (100, false), (199, false), (304, false), (416, false), (600, false),
    (999, false),
  ])
func anyFinalStatus(status: UInt16, isStored: Bool) {
  let decision = Storability.decide(
    method: .get, requestFields: fields(""), requestDirectives: .none, status: status,
    responseFields: fields("Cache-Control: max-age=60"), policy: CachePolicy())
  #expect((decision == .store) == isStored)
}

@Test("statuses whose lifetime is guessed (RFC 9110 section 15.1)", arguments: 200...599)
func heuristicStatuses(status: UInt16) {
  let known: Set<UInt16> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
  #expect((metadata("Last-Modified: {-1000}", status: status).lifetime == 100) == known.contains(status))
}

@Test("a negative-ttl has 16 rows, and a status that is no error has none")
func negativeRows() {
  var table = NegativeTTL()
  for status in UInt16(400)..<416 {
    if let one = NegativeTTL.Statuses(first: status, last: status) { table.append(one, seconds: 7) }
  }
  let more = NegativeTTL.Statuses(first: 500, last: 599)
  #expect(more.map { table.append($0, seconds: 9) } == false)
  #expect(table.seconds(415) == 7 && table.seconds(416) == nil && table.seconds(500) == nil)
  #expect(NegativeTTL.Statuses(first: 399, last: 399) == nil)
  #expect(NegativeTTL.Statuses(first: 500, last: 600) == nil)
  #expect(NegativeTTL.Statuses(first: 500, last: 400) == nil)
  #expect(table != NegativeTTL())
}

@Test("which refusals are the request's own, so that what is stored for others stays")
func requestOnly() {
  let own = RefusalReason.allCases.filter(\.concernsRequestOnly)
  #expect(own == [.requestNoStore, .requestContent, .authorization, .requestCookie])
}
