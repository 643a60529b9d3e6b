// What a domain adds to the rules of its keys (RFC 9111 section 2): what is keyed is what is sent on.

import RegentCaching
import RegentHTTP
import TestKit
import Testing

struct QueryRow: Row {
  var rule: String
  var ignored: [String] = []
  var sorts = false
  var query: String?
  var kept: String?

  init(_ rule: String, _ query: String?, _ kept: String?, ignoring: [String] = [], sorting: Bool = false) {
    self.rule = rule
    self.query = query
    self.kept = kept
    ignored = ignoring
    sorts = sorting
  }

  static let utm = ["utm_*", "fbclid"]
  static let all: [QueryRow] = [
    .init("9111 2 without rules a query is itself", "b=2&a=1&&", "b=2&a=1&&"),
    .init("9111 2 without rules an empty query is itself", "", ""),
    .init("9111 2 no query stays none", nil, nil, ignoring: utm, sorting: true),
    .init("an ignored name goes", "a=1&fbclid=x&b=2", "a=1&b=2", ignoring: utm),
    .init("a beginning of names goes", "utm_source=x&a=1&utm_medium=y", "a=1", ignoring: utm),
    .init("the beginning itself is among them", "utm_=x&a=1", "a=1", ignoring: utm),
    .init("a longer name stays", "fbclids=x&a=1", "fbclids=x&a=1", ignoring: utm),
    .init("a shorter name stays", "utm=x&fbcli=1", "utm=x&fbcli=1", ignoring: utm),
    .init("names have case", "UTM_source=x&Fbclid=y", "UTM_source=x&Fbclid=y", ignoring: utm),
    .init("a name without a value goes", "fbclid&a", "a", ignoring: utm),
    .init("a name with an empty value goes", "fbclid=&a", "a", ignoring: utm),
    .init("a name in a value stays", "a=fbclid&b=utm_x", "a=fbclid&b=utm_x", ignoring: utm),
    .init("a name before a second equals sign goes", "fbclid=a=b", nil, ignoring: utm),
    .init("where all go, no query is left", "utm_a=1&fbclid=2", nil, ignoring: utm),
    .init("where an empty group is left, an empty query is", "utm_a=1&", "", ignoring: utm),
    .init("an empty query is no parameter", "", "", ignoring: utm),
    .init("B4: nothing is decoded: an encoded name stays", "utm%5Fa=1", "utm%5Fa=1", ignoring: utm),
    .init("B4: an encoded ampersand divides nothing", "a=1%26fbclid=2", "a=1%26fbclid=2", ignoring: utm),
    .init("B4: an encoded equals sign ends no name", "fbclid%3D=2", "fbclid%3D=2", ignoring: utm),
    .init("B4: a semicolon divides nothing", "a=1;fbclid=2", "a=1;fbclid=2", ignoring: utm),
    .init("B4: a plus is no blank", "utm_a+b=1&x+=2", "x+=2", ignoring: utm),
    .init("B4: a question mark is part of a name", "?fbclid=1", "?fbclid=1", ignoring: utm),
    .init("B4: a slash is part of a name", "/fbclid=1&fbclid/=2", "/fbclid=1&fbclid/=2", ignoring: utm),
    .init("a lone star ignores every parameter", "a=1&b=2", nil, ignoring: ["*"]),
    .init("a lone star ignores an empty group, too", "", nil, ignoring: ["*"]),
    .init("sorted by name", "c=1&a=2&b=3", "a=2&b=3&c=1", sorting: true),
    .init("one name keeps its order", "b=2&a=2&a=1&a=3", "a=2&a=1&a=3&b=2", sorting: true),
    .init("sorted by bytes: capitals first", "a=1&B=2", "B=2&a=1", sorting: true),
    .init("a shorter name first", "ab=1&a=2&a", "a=2&a&ab=1", sorting: true),
    .init("values do not sort", "a=2&a=1", "a=2&a=1", sorting: true),
    .init("empty groups stay, in front", "b&&a", "&a&b", sorting: true),
    .init("B4: encoded names sort as they stand", "a=1&%61=2", "%61=2&a=1", sorting: true),
    .init("ignored, then sorted", "z=1&utm_q=2&a=3", "a=3&z=1", ignoring: utm, sorting: true),
  ]
}

@Test("a query is keyed and sent on by the domain's rules", arguments: QueryRow.all)
func queries(row: QueryRow) {
  let rules = KeyRules(
    ignoredQuery: row.ignored.map { KeyRules.NamePattern($0) }, sortsQuery: row.sorts)
  let kept = rules.query(row.query.map { Array($0.utf8)[...] })
  #expect(kept.map { String(decoding: $0, as: UTF8.self) } == row.kept)
  // What was keyed once is a fixed point: a client that asks for it by itself gets the same entry.
  #expect(rules.query(kept.map { $0[...] }) == kept)
}

@Test("a long query is sorted in time")
func longQuery() {
  let query = Array((0..<20_000).map { "p\(($0 * 7919) % 20_000)=\($0)" }.joined(separator: "&").utf8)
  let sorted = KeyRules(sortsQuery: true).query(query[...])
  #expect(sorted?.count == query.count)
}

@Test("rules that change nothing are plain")
func plainRules() {
  #expect(KeyRules().isPlain)
  #expect(!KeyRules(ignoredQuery: [.init("a")]).isPlain && !KeyRules(sortsQuery: true).isPlain)
  #expect(!KeyRules(fields: ["A"]).isPlain && !KeyRules(normalizes: [.acceptEncoding]).isPlain)
}

struct KeyFieldRow: Row {
  var rule: String
  var first: String
  var second: String
  var isSame: Bool

  init(_ rule: String, _ first: String, _ second: String, _ isSame: Bool) {
    self.rule = rule
    self.first = first
    self.second = second
    self.isSame = isSame
  }

  static let all: [KeyFieldRow] = [
    .init("9111 2 the same value is the same key", "A: 1\nB: 2", "B: 2\nA: 1", true),
    .init("9111 2 another value is another key", "A: 1", "A: 2", false),
    .init("9111 2 an absent field is not an empty one", "C: 1", "A: ", false),
    .init("9111 2 absent and absent are the same", "C: 1", "D: 1", true),
    .init("9111 2 names have no case", "a: 1", "A: 1", true),
    .init("9111 4.1 lines are joined", "A: 1\nA: 2", "A: 1, 2", true),
    .init("9111 4.1 their order counts", "A: 1\nA: 2", "A: 2, 1", false),
    .init("B3: bytes cannot move between fields", "A: 1\nB: 23", "A: 12\nB: 3", false),
    .init("B3: nor a whole value", "A: 1", "B: 1", false),
    .init("B3: nor can a value look like the next field", "A: 1\u{80}\nB: 2", "A: 1", false),
    .init("9111 2 fields that are not named do not count", "A: 1\nC: 1", "A: 1\nC: 2", true),
  ]
}

@Test("named request fields are part of the key", arguments: KeyFieldRow.all)
func keyFields(row: KeyFieldRow) {
  let rules = KeyRules(fields: ["A", "b"])
  var (first, second): ([UInt8], [UInt8]) = ([], [])
  rules.appendFields(of: fields(row.first), onto: &first)
  rules.appendFields(of: fields(row.second), onto: &second)
  #expect((first == second) == row.isSame)
}

@Test("B2: 100,000 random tuples of target and fields share no key unless they are equal")
func randomFieldKeys() {
  var generator = SeededGenerator(seed: 20_261_122)
  let rules = KeyRules(fields: ["A", "B"])
  var seen: [[UInt8]: [String?]] = [:]
  for _ in 0..<100_000 {
    func word() -> String? {
      let letters = ["1", "2", "\u{1}", "\u{2}"]
      let length = generator.next() % 4
      return length == 3 ? nil : (0..<length).map { _ in letters[Int(generator.next() % 2)] }.joined()
    }
    let tuple = [word() ?? "", word(), word(), word()]
    var key: [UInt8] = []
    CacheKey.appendTarget(
      path: Array((tuple[0] ?? "").utf8), query: tuple[1].map { Array($0.utf8) }, onto: &key)
    let lines = [tuple[2].map { "A: \($0)" }, tuple[3].map { "B: \($0)" }].compactMap { $0 }
    rules.appendFields(of: fields(lines.joined(separator: "\n")), onto: &key)
    if let previous = seen.updateValue(tuple, forKey: key), previous != tuple {
      Issue.record("seed 20261122: \(previous) and \(tuple) share a key")
    }
  }
  #expect(seen.count > 1000)
}
