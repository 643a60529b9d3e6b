// The dice of the property test: random requests, random origins, random clocks. What is drawn often is what caches
// live on; what is drawn seldom is what they break on.

import TestKit

/// Draws what happens next in one sequence.
struct World {
  private var dice: SeededGenerator
  var wall: Int64 = 1_700_000_000
  /// What each target is by now.
  private var versions: [String: Int] = [:]
  private var changed: [String: Int64] = [:]
  /// Every date that was written, by its text.
  private(set) var dates: [String: Int64] = [:]

  static let targets = ["/a", "/b", "/q?x=1", "/q?x=2"]

  init(seed: UInt64) { dice = SeededGenerator(seed: seed) }

  // MARK: Dice

  mutating func chance(_ percent: Int) -> Bool { Int(dice.next() % 100) < percent }
  mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(dice.next() % UInt64(values.count))] }
  mutating func number(_ range: ClosedRange<Int64>) -> Int64 {
    range.lowerBound + Int64(dice.next() % UInt64(range.upperBound - range.lowerBound + 1))
  }

  private mutating func date(_ time: Int64) -> String {
    let text = httpDate(time)
    dates[text] = time
    return text
  }

  // MARK: The owner and the clock

  mutating func rules() -> Rules {
    switch number(0...9) {
    case 0...4: Rules()
    case 5: Rules(kind: "cache-first", ttl: number(1...200))
    case 6: Rules(kind: "cache-then-network")
    case 7: Rules(kind: "stale-while-revalidate", stale: number(1...500))
    case 8: Rules(kind: "network-only")
    default: Rules(ttl: chance(50) ? number(0...200) : nil, staleIfError: chance(50) ? number(0...500) : nil)
    }
  }

  mutating func step() {
    switch number(0...99) {
    case 0...29: break
    case 30...64: wall += number(1...10)
    case 65...84: wall += number(10...100)
    case 85...93: wall += number(100...4000)
    case 94...97: wall += number(4000...400_000)
    case 98: wall -= number(1...5)
    default: wall -= number(5...100_000)
    }
  }

  // MARK: Requests

  mutating func request() -> Asked {
    var asked = Asked(method: method(), target: chance(60) ? "/a" : pick(Self.targets))
    for name in ["x-a", "x-b", "x-c"] where chance(40) {
      asked.fields.add(name, pick(["1", "1", "2", "1, 2", "1,2", "2, 1"]))
      if chance(3) { asked.fields.add(name, "2") }
    }
    if chance(4) { asked.fields.add("authorization", "Basic YTpi") }
    if chance(20) { asked.fields.add("cache-control", wishes()) }
    if chance(3) { asked.fields.add("pragma", "no-cache") }
    if chance(8) { asked.fields.add("if-none-match", tags(asked.target)) }
    if chance(6) { asked.fields.add("if-modified-since", moment(around: changed[asked.target] ?? wall)) }
    if chance(15) { range(&asked) }
    return asked
  }

  private mutating func method() -> String {
    switch number(0...99) {
    case 0...85: "GET"
    case 86...92: "HEAD"
    case 93...94: "POST"
    default: pick(["PUT", "DELETE", "PATCH", "OPTIONS", "MKCOL", "REPORT"])
    }
  }

  private mutating func wishes() -> String {
    let wish = pick([
      "max-age=\(number(0...100))", "min-fresh=\(number(0...60))", "max-stale=\(number(0...200))",
      "max-stale",
      "no-cache", "no-store", "only-if-cached", "only-if-cached, max-stale", "max-age=0",
      "max-age=5, max-stale=9",
      "stale-if-error=\(number(0...300))", "max-age=\"30\"", "max-age=x", "min-fresh", "no-transform",
      "max-age=5, max-age=50",
    ])
    return chance(15) ? wish.uppercased() : wish
  }

  private mutating func tags(_ target: String) -> String {
    let version = versions[target] ?? 0
    let tag = "\"\(target.dropFirst().prefix(1))\(version)\""
    return pick([tag, "W/\(tag)", "\"none\"", "*", "\"none\", \(tag)", "\"a,b\", W/\(tag)", "\"a0\""])
  }

  private mutating func range(_ asked: inout Asked) {
    asked.fields.add(
      "range",
      pick([
        "bytes=0-9", "bytes=10-19", "bytes=20-", "bytes=-10", "bytes=0-", "bytes=5-30", "bytes=0-9,20-29",
        "bytes=40-99", "bytes=48-", "bytes=9-3", "bytes=x", "items=0-1", "bytes=0-0, 2-2, 4-4", "bytes=-0",
        "bytes=20-47", "bytes=0-19", "bytes=0-5, 3-9", "bytes=-100",
      ]))
    guard chance(25) else { return }
    let tag = tag(asked.target)
    let since = date(changed[asked.target] ?? wall)
    asked.fields.add("if-range", pick([tag, tag, "W/\(tag)", "\"none\"", since, since, "never"]))
  }

  private func tag(_ target: String) -> String {
    "\"\(target.dropFirst().prefix(1))\(versions[target] ?? 0)\""
  }

  private mutating func moment(around time: Int64) -> String {
    chance(8) ? "never" : date(time + pick([0, 0, -1, 1, -1000, 1000]))
  }

  // MARK: Origins

  /// How the origin is when this request comes to it.
  mutating func plan(for asked: Asked) -> Plan {
    if chance(20) || versions[asked.target] == nil {
      versions[asked.target, default: -1] += 1
      changed[asked.target] = wall - number(0...2_000_000)
    }
    var plan = Plan(isUnreachable: chance(5), status: status(asked))
    if chance(15) { plan.delay = number(1...30) }
    plan.content = content(asked.target, versions[asked.target] ?? 0)
    plan.givesParts = chance(85)
    if chance(7) { plan.confirmation = chance(50) ? .always : .never }
    describe(asked.target, &plan)
    freshness(&plan.full)
    freshness(&plan.notModified)
    extras(asked, &plan)
    return plan
  }

  private mutating func status(_ asked: Asked) -> Int {
    if chance(6) { return pick([500, 502, 503, 504, 501, 505]) }
    if ["GET", "HEAD"].contains(asked.method) {
      return chance(85) ? 200 : pick([404, 301, 302, 410, 204, 203, 299, 400])
    }
    return pick([200, 201, 204, 303, 400, 404])
  }

  /// The validators of what the target is now, or what a careless origin says of them.
  private mutating func describe(_ target: String, _ plan: inout Plan) {
    let version = versions[target] ?? 0
    let tag = "\"\(target.dropFirst().prefix(1))\(version)\""
    let modified = date(changed[target] ?? 0)
    let style = number(0...9)
    if style < 5 { plan.full.add("etag", style == 0 ? "W/\(tag)" : tag) }
    if style > 3, style < 8 { plan.full.add("last-modified", modified) }
    for name in ["etag", "last-modified"] where !chance(20) {
      if let value = plan.full.first(name) { plan.notModified.add(name, value) }
    }
    if chance(5) { plan.notModified = Lines() }
    if chance(3) { plan.notModified.add("etag", pick(["\"wrong\"", "W/\(tag)", tag])) }
  }

  private mutating func freshness(_ lines: inout Lines) {
    if chance(80) { lines.add("cache-control", cacheControl()) }
    if chance(4) { lines.add("cache-control", cacheControl()) }
    if !chance(10) { lines.add("date", chance(3) ? "yesterday" : date(wall + skew())) }
    if chance(20) {
      lines.add("expires", chance(15) ? pick(["0", "-1", "soon"]) : date(wall + number(-50...300)))
    }
    if chance(12) {
      lines.add("age", pick(["0", "5", "30", "100", "-1", "x", "99999999999", "3, 400", "1.5"]))
    }
  }

  private mutating func skew() -> Int64 {
    switch number(0...19) {
    case 0: number(-100_000...100_000)
    case 1...3: number(-60...60)
    default: 0
    }
  }

  private mutating func cacheControl() -> String {
    let seconds = number(1...200)
    if chance(62) {
      return "max-age=\(seconds)\(chance(20) ? ", stale-while-revalidate=\(number(1...300))" : "")"
    }
    return pick([
      "s-maxage=\(seconds)", "s-maxage=\(seconds), max-age=0", "max-age=\(seconds), s-maxage=0", "public",
      "max-age=\(seconds), must-revalidate", "max-age=\(seconds), proxy-revalidate", "no-cache", "no-store",
      "private",
      "max-age=\(seconds), no-cache=\"x-extra\"", "max-age=\(seconds), private=\"X-Extra, x-other\"",
      "max-age=0",
      "max-age=\(seconds), stale-if-error=\(number(1...1000))", "max-age=\"\(seconds)\"", "max-age=-1",
      "max-age = 60",
      "max-age=1.5", "max-age=99999999999", "max-age", "max-age=", "MAX-AGE=\(seconds)",
      "max-age=60, max-age=0",
      "max-age=0, max-age=60", "foo=\"a, no-store\", max-age=\(seconds)",
      "max-age=\(seconds), must-understand, no-store",
      "private=\"x-extra\", no-cache", "no-store=1, max-age=60", "public, max-age=\(seconds)", "max-age=60s",
      "must-revalidate", "max-age=\(seconds),, no-cache", "no-cache=\"\", max-age=50",
      "stale-while-revalidate=100",
    ])
  }

  private mutating func extras(_ asked: Asked, _ plan: inout Plan) {
    let mark = "\(number(0...9))"
    if chance(30) { plan.full.add("x-extra", mark) }
    if chance(30) { plan.notModified.add("x-extra", mark) }
    if chance(10) { plan.notModified.add("x-new", mark) }
    if chance(30) {
      for value in vary() { plan.full.add("vary", value) }
      // Variants with tags are left to the tables: a 304 may be about a variant that the request does not select, and
      // the model does not yet tell the copies of one response apart.
      plan.full.all.removeAll { $0.name == "etag" }
      plan.notModified.all.removeAll { $0.name == "etag" }
      if plan.confirmation == .always { plan.confirmation = .rightly }
      if chance(70) { for value in plan.full.values("vary") { plan.notModified.add("vary", value) } }
    }
    if chance(5) { plan.full.add("set-cookie", "id=\(mark)") }
    if chance(2) { plan.notModified.add("set-cookie", "id=\(mark)") }
    if chance(4) {
      plan.full.add("connection", "x-hop")
      plan.full.add("x-hop", mark)
    }
    guard !["GET", "HEAD"].contains(asked.method), chance(50) else { return }
    let named = pick(Self.targets)
    plan.full.add(pick(["location", "content-location"]), chance(50) ? named : "http://example.org\(named)")
  }

  private mutating func vary() -> [String] {
    pick([["x-a"], ["X-A"], ["X-B"], ["x-a, x-b"], ["X-A", "X-C"], ["*"], ["x-a, *"], ["x-c,X-C"]])
  }
}
