// A key taken apart is what it was made of; whatever else the bytes are, they are none, or are written in one way only.

import RegentCaching
import RegentHTTP
import TestKit
import Testing

/// What a key is made of, with all that a domain may add.
private struct Ingredients {
  var parts: CacheKeyParts
  var credentials = Fields()
  var generation: [UInt8] = [0, 0, 0, 0]

  /// As a domain writes it.
  var key: [UInt8] {
    var key: [UInt8] = []
    if let origin = parts.origin {
      CacheKey.append(
        scheme: origin.scheme, host: origin.host, port: origin.port, path: origin.basePath,
        query: [UInt8]?.none, onto: &key)
    }
    CacheKey.append(component: parts.domain, onto: &key)
    if parts.credentials != nil {
      CacheKey.append(component: "private".utf8, onto: &key)
      CacheKey.append(credentialsOf: credentials, onto: &key)
    }
    CacheKey.appendTarget(path: parts.path, query: parts.query, onto: &key)
    guard !parts.fields.isEmpty else { return key }
    CacheKey.append(component: generation, onto: &key)
    for field in parts.fields {
      key.append(field == nil ? 0 : 1)
      if let field { CacheKey.append(component: field, onto: &key) }
    }
    return key
  }

  init(_ parts: CacheKeyParts) { self.parts = parts }

  static func random(_ random: inout SeededGenerator) -> Ingredients {
    func word(_ alphabet: String, _ counts: ClosedRange<Int>) -> [UInt8] {
      let letters = Array(alphabet.utf8)
      return (0..<Int.random(in: counts, using: &random)).map { _ in
        letters[Int.random(in: 0..<letters.count, using: &random)]
      }
    }
    let long = Int.random(in: 0..<20, using: &random) == 0 ? 300 : 6
    let name = word("ab-1privte", 1...(long == 300 ? 63 : 8))
    var parts = CacheKeyParts(
      origin: nil, domain: name, path: [0x2F] + word("a/?%\u{e9}\u{1F600}", 0...long))
    if Bool.random(using: &random) {
      parts.origin = .init(
        scheme: Bool.random(using: &random) ? .http : .https, host: word("a.:1", 1...long),
        port: UInt16.random(in: 0...UInt16.max, using: &random),
        basePath: Bool.random(using: &random) ? [] : [0x2F] + word("a/", 0...long))
    }
    if Bool.random(using: &random) { parts.query = word("a&=?/", 0...long) }
    var ingredients = Ingredients(parts)
    if Bool.random(using: &random) {
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let name: FieldName = Bool.random(using: &random) ? .authorization : .cookie
        ingredients.credentials.append(name, word("secret;=", 0...long))
      }
      ingredients.parts.credentials = ingredients.credentials.lines.count
    }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      ingredients.parts.fields.append(Bool.random(using: &random) ? nil : word("\u{1}x, ", 0...long))
    }
    ingredients.generation = (0..<4).map { _ in UInt8.random(in: 0...255, using: &random) }
    return ingredients
  }
}

@Test("a key of any domain is taken apart into what it was made of")
func keyParts() {
  var random = SeededGenerator(seed: 20_261_121)
  var ownPartition = 0
  for _ in 0..<50_000 {
    let ingredients = Ingredients.random(&random)
    let found = CacheKeyParts(ingredients.key)
    if found != ingredients.parts {
      Issue.record("seed 20261121: \(String(describing: found)) of \(ingredients.parts)")
      return
    }
    if found?.credentials != nil { ownPartition += 1 }
  }
  #expect(ownPartition > 10_000)
}

@Test("bytes that are no key are none: each that is read is written in exactly this way")
func mutatedKeys() {
  var random = SeededGenerator(seed: 20_261_122)
  var (read, refused) = (0, 0)
  for _ in 0..<100_000 {
    var ingredients = Ingredients.random(&random)
    ingredients.parts.credentials = nil
    ingredients.generation = [0, 0, 0, 0]
    var key = ingredients.key
    for _ in 0..<Int.random(in: 1...3, using: &random) where !key.isEmpty {
      let place = Int.random(in: 0..<key.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: key[place] = UInt8.random(in: 0...255, using: &random)
      case 1: key.remove(at: place)
      case 2: key.insert(UInt8.random(in: 0...255, using: &random), at: place)
      default: key.removeLast(key.count - place)
      }
    }
    guard let parts = CacheKeyParts(key) else {
      refused += 1
      continue
    }
    read += 1
    // What a key of that kind does not tell cannot be written again.
    guard parts.credentials == nil, parts.fields.isEmpty else { continue }
    if Ingredients(parts).key != key {
      Issue.record("seed 20261122: \(key) is read as \(parts)")
      return
    }
  }
  print("\(read) mutated keys read, \(refused) refused")
  #expect(read > 2000 && refused > 10_000)
}

@Test("random bytes, the empty key and lengths without end are no keys")
func noKeys() {
  var random = SeededGenerator(seed: 20_261_123)
  for _ in 0..<50_000 {
    let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
      UInt8.random(in: 0...255, using: &random)
    }
    _ = CacheKeyParts(bytes)
  }
  let none: [[UInt8]] = [
    [], [0], [1], [2, 80, 0], [1, 80, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
    [UInt8](repeating: 0x80, count: 100), [3, 0x61, 0x62],
    // A length in two bytes that needs one.
    [1, 0x61, 0x81, 0, 0x2F, 0], [1, 0x61, 1, 0x2F, 2], [1, 0x61, 1, 0x2F, 0, 4, 0, 0, 0, 0],
    [1, 0x61, 1, 0x2F, 0, 3, 0, 0, 0, 0], [1, 0x61, 1, 0x78, 0], [1, 0x41, 1, 0x2F, 0], [0, 1, 0x2F, 0],
  ]
  for key in none { #expect(CacheKeyParts(key) == nil, "\(key)") }
  #expect(CacheKeyParts([1, 0x61, 1, 0x2F, 0]) == CacheKeyParts(origin: nil, domain: [0x61], path: [0x2F]))
}

@Test("9111 4.1 the selecting fields of a stored response can be told, and damaged ones tell nothing")
func selectingFields() {
  var request = Fields()
  request.append(.acceptLanguage, "de , en".utf8)
  request.append(.cookie, "a=b".utf8)
  var response = Fields()
  response.append(.vary, "Accept-Language, X-Absent, Cookie".utf8)
  response.append(.contentEncoding, "gzip".utf8)
  var encoded: [UInt8] = []
  #expect(Vary.encode(responseFields: response, requestFields: request, onto: &encoded))
  let found = Vary.fields(encoded.span)
  let expected: [(String, String?)] = [
    ("accept-language", "de,en"), ("x-absent", nil), ("cookie", "a=b"), ("accept-encoding", nil),
  ]
  #expect(
    found == expected.map { .init(name: Array($0.0.utf8), value: $0.1.map { Array($0.utf8) }) })
  #expect(Vary.fields([UInt8]().span) == [])
  for length in 1..<encoded.count { #expect(Vary.fields(Array(encoded[..<length]).span) == nil) }
  var random = SeededGenerator(seed: 20_261_124)
  for _ in 0..<20_000 {
    var damaged = encoded
    damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
    guard let fields = Vary.fields(damaged.span) else { continue }
    #expect(fields.count == Int(damaged[0]))
  }
}
