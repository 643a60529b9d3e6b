// Keys under a domain's own rules, and several variants under one key, as clients and origin see them. What is keyed is
// what reaches the origin: the origin says in each answer what it was asked.

import Testing

@Suite("Keys and variants")
struct KeyTests {
  private static func domain(_ keys: [String], _ upstream: String, name: String = "keyed") -> String {
    (["[[domain]]", "name = \"\(name)\"", "upstream = \"\(upstream)\"", "default = true"] + keys)
      .joined(separator: "\n")
  }

  /// A stage whose one domain has these keys.
  private func stage(_ keys: String..., handler: @escaping Origin.Handler) throws -> (Origin, Daemon) {
    let origin = try Origin(handler)
    return (origin, try Daemon.start(config: Self.domain(keys, origin.url)))
  }

  private static let echo: Origin.Handler = { request, connection in
    try connection.answer(200, ["Cache-Control: max-age=60"], request.target)
  }

  @Test("ignored query parameters are neither keyed nor sent on")
  func ignoredQuery() throws {
    let (origin, daemon) = try stage("ignore-query = [\"utm_*\", \"fbclid\"]", handler: Self.echo)
    #expect(try daemon.get("/a?utm_source=evil&id=1").text == "/a?id=1")
    for target in ["/a?id=1", "/a?id=1&fbclid=x", "/a?utm_a=1&id=1&utm_b=2"] {
      let hit = try daemon.get(target)
      #expect(hit.isHit && hit.text == "/a?id=1", "\(target): \(hit.head.raw)")
    }
    #expect(try daemon.get("/a?fbclid=x").text == "/a")
    #expect(try daemon.get("/a").isHit)
    #expect(try daemon.get("/a?").text == "/a?")
    #expect(try daemon.get("/a?utm%5Fa=1").text == "/a?utm%5Fa=1")
    #expect(origin.requests.count == 4)
  }

  @Test("a sorted query is one key, and the origin sees it sorted whoever asks first")
  func sortedQuery() throws {
    let (origin, daemon) = try stage("sort-query = true", handler: Self.echo)
    #expect(try daemon.get("/a?b=2&a=2&a=1").text == "/a?a=2&a=1&b=2")
    #expect(try daemon.get("/a?a=2&b=2&a=1").isHit)
    #expect(try daemon.get("/a?a=2&a=1&b=2").isHit)
    #expect(try !daemon.get("/a?a=1&a=2&b=2").isHit)
    #expect(origin.requests.count == 2)
  }

  @Test("an unsafe request goes on as it came, and invalidates what is stored under the rules")
  func invalidation() throws {
    let (origin, daemon) = try stage(
      "ignore-query = [\"utm_*\"]", "sort-query = true", "key-fields = [\"X-Api-Version\"]"
    ) { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=60"], "\(request.target) \(request.number)")
    }
    for version in ["1", "2"] {
      _ = try daemon.get("/a?b&a", ["X-Api-Version: \(version)"])
      #expect(try daemon.get("/a?a&b", ["X-Api-Version: \(version)"]).isHit)
    }
    let client = try daemon.connect()
    try client.request("POST", "/a?b&utm_x=1&a", ["Content-Length: 0"])
    #expect(try client.response().text == "/a?b&utm_x=1&a 1")
    for version in ["1", "2"] {
      #expect(try !daemon.get("/a?a&b", ["X-Api-Version: \(version)"]).isHit)
      #expect(try daemon.get("/a?a&b", ["X-Api-Version: \(version)"]).isHit)
    }
    #expect(origin.count("/a?a&b") == 4)
  }

  @Test("named request fields are part of the key, also those that are else kept from the origin")
  func keyFields() throws {
    let (origin, daemon) = try stage("key-fields = [\"X-Api-Version\", \"X-Forwarded-Host\"]") {
      request, connection in
      let fields = [request["X-Api-Version"], request["X-Forwarded-Host"], request["X-Forwarded-Proto"]]
      let text = fields.map { $0 ?? "none" }.joined(separator: " ")
      try connection.answer(200, ["Cache-Control: max-age=60"], text)
    }
    for isHit in [false, true] {
      for (fields, text) in [
        ([], "none none none"), (["x-api-version: 1"], "1 none none"), (["X-Api-Version: 2"], "2 none none"),
        (["X-Forwarded-Host: a"], "none a none"), (["X-Forwarded-Host: b"], "none b none"),
        (["X-Api-Version: "], " none none"),
      ] {
        let response = try daemon.get("/a", fields + ["X-Forwarded-Proto: evil"])
        #expect(response.text == text && response.isHit == isHit, "\(fields): \(response.head.raw)")
      }
    }
    #expect(origin.requests.count == 6)
  }

  @Test("normalized fields reach the origin in the spelling by which their answers are kept")
  func normalized() throws {
    let (origin, daemon) = try stage("normalize = [\"accept-encoding\", \"accept-language\"]") {
      request, connection in
      let text = "\(request["Accept-Encoding"] ?? "none")|\(request["Accept-Language"] ?? "none")"
      let fields = ["Cache-Control: max-age=60", "Vary: Accept-Encoding, Accept-Language"]
      try connection.answer(200, fields, text)
    }
    let first = try daemon.get("/a", ["Accept-Encoding: gzip, evil", "Accept-Language: DE;q=0.5, En"])
    #expect(first.text == "gzip|en, de;q=0.5")
    #expect(
      try daemon.get(
        "/a", ["Accept-Language: en,de;q=0.50", "Accept-Encoding: x-gzip", "Accept-Encoding: junk"]
      )
      .isHit)
    #expect(try daemon.get("/a").text == "none|none")
    #expect(try daemon.get("/a", ["Accept-Encoding: "]).text == "identity|none")
    #expect(origin.requests.count == 3)
  }

  @Test("a domain that is never stored has no rules: its requests go on as they came")
  func networkOnly() throws {
    let (origin, daemon) = try stage(
      "policy = \"network-only\"", "sort-query = true", "ignore-query = [\"utm_*\"]", handler: Self.echo)
    #expect(try daemon.get("/a?b&utm_x&a").text == "/a?b&utm_x&a")
    #expect(origin.requests.map(\.target) == ["/a?b&utm_x&a"])
  }

  // MARK: Variants

  @Test("9111 4.3.1: the origin chooses among the stored variants with a 304, and the choice is kept")
  func selection() throws {
    let stage = try Stage { request, connection in
      let language = request["Accept-Language"] ?? "en"
      let kept = ["Cache-Control: max-age=60", "Vary: Accept-Language"]
      if let asked = request["If-None-Match"], language.hasPrefix("de-") {
        #expect(asked.contains("\"de\"") && asked.contains("\"en\""), "\(asked)")
        return try connection.send(
          "HTTP/1.1 304 Not Modified\r\nETag: \"de\"\r\n\(kept.joined(separator: "\r\n"))\r\n\r\n")
      }
      try connection.answer(200, kept + ["ETag: \"\(language)\""], language)
    }
    #expect(try stage.get("/a", ["Accept-Language: en"]).text == "en")
    #expect(try stage.get("/a", ["Accept-Language: de"]).text == "de")
    let swiss = try stage.get("/a", ["Accept-Language: de-CH"])
    #expect(swiss.status == 200 && swiss.text == "de" && swiss["ETag"] == "\"de\"", "\(swiss.head.raw)")
    #expect(swiss.cacheStatus.contains("fwd=vary-miss") && swiss.cacheStatus.contains("fwd-status=304"))
    #expect(try stage.get("/a", ["Accept-Language: de-CH"]).isHit)
    #expect(try stage.get("/a", ["Accept-Language: en"]).isHit)
    #expect(stage.origin.requests.count == 3)
  }

  @Test("9111 4.3.4: a 304 that names no stored variant is followed by a request for the whole")
  func unknownSelection() throws {
    let stage = try Stage { request, connection in
      let language = request["Accept-Language"] ?? ""
      if request["If-None-Match"] != nil {
        return try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"other\"\r\n\r\n")
      }
      try connection.answer(
        200, ["Cache-Control: max-age=60", "Vary: Accept-Language", "ETag: \"\(language)\""], language)
    }
    _ = try stage.get("/a", ["Accept-Language: en"])
    let second = try stage.get("/a", ["Accept-Language: de"])
    #expect(second.status == 200 && second.text == "de", "\(second.head.raw)")
    #expect(stage.origin.requests.map { $0["If-None-Match"] } == [nil, "\"en\"", nil])
  }

  @Test("a client's own condition is not the origin's question, and is answered from the chosen variant")
  func conditionalSelection() throws {
    let stage = try Stage { request, connection in
      let kept = ["Cache-Control: max-age=60", "Vary: Foo", "ETag: \"a\""]
      if request["If-None-Match"] != nil {
        #expect(request["If-None-Match"] == "\"a\"" && request["Range"] == nil)
        return try connection.send("HTTP/1.1 304 Not Modified\r\n\(kept.joined(separator: "\r\n"))\r\n\r\n")
      }
      try connection.answer(200, kept, "body")
    }
    _ = try stage.get("/a", ["Foo: 1"])
    #expect(try stage.get("/a", ["Foo: 2", "If-None-Match: \"b\""]).text == "body")
    #expect(try stage.get("/a", ["Foo: 3", "If-None-Match: \"a\""]).status == 304)
    #expect(try stage.get("/a", ["Foo: 3"]).isHit)
  }

  @Test("9110 8.4: coded content without Vary goes to nobody who did not ask as the first client did")
  func codedWithoutVary() throws {
    let stage = try Stage { request, connection in
      let isCoded = request["Accept-Encoding"]?.contains("gzip") == true
      // One tag for both, as origins that code on the fly have it.
      let fields = ["Cache-Control: max-age=60", "ETag: W/\"x\""]
      if request["If-None-Match"] != nil {
        return try connection.send("HTTP/1.1 304 Not Modified\r\nETag: W/\"x\"\r\n\r\n")
      }
      try connection.answer(
        200, fields + (isCoded ? ["Content-Encoding: gzip"] : []), isCoded ? "coded" : "plain")
    }
    #expect(try stage.get("/a", ["Accept-Encoding: gzip"]).text == "coded")
    #expect(try stage.get("/a").text == "plain")
    #expect(try stage.get("/a", ["Accept-Encoding: identity"]).text == "plain")
    let again = try stage.get("/a", ["Accept-Encoding: gzip"])
    #expect(again.isHit && again.text == "coded")
  }

  @Test(
    "9111 4.1: of two responses that match, one with Vary is preferred, else the one with the later Date",
    arguments: [("Vary: Foo", "new"), ("Vary: Bar", "old")])
  func mostRecent(second: String, expected: String) throws {
    // The second response arrives later, and is older by its Date.
    let stage = try Stage { request, connection in
      let isFirst = request.number == 1
      let date = isFirst ? "Tue, 14 Nov 2023 22:13:21 GMT" : "Tue, 14 Nov 2023 22:13:20 GMT"
      let vary = isFirst ? "Vary: Foo" : second
      try connection.answer(
        200, ["Cache-Control: max-age=2147483648", "Date: \(date)", vary], isFirst ? "old" : "new")
    }
    _ = try stage.get("/a", ["Foo: 1"])
    _ = try stage.get("/a", ["Foo: 2"])
    #expect(stage.origin.requests.count == 2)
    // With `Vary: Bar` both match this one; the first has the later Date.
    #expect(try stage.get("/a", [expected == "old" ? "Foo: 1" : "Foo: 2"]).text == expected)
    #expect(stage.origin.requests.count == 2)
  }

  @Test("9111 4.3.4: a 304 refreshes every variant that has its strong tag, and no other")
  func twins() throws {
    let stage = try Stage { request, connection in
      let foo = request["Foo"] ?? ""
      if request["If-None-Match"] != nil, foo == "1" {
        return try connection.send(
          "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nVary: Foo\r\nCache-Control: max-age=60\r\nX-New: yes\r\n\r\n"
        )
      }
      let tag = foo == "3" ? "b" : "a"
      try connection.answer(
        200, ["Cache-Control: max-age=60", "Age: 99", "Vary: Foo", "ETag: \"\(tag)\""], "\(tag) for \(foo)")
    }
    for foo in ["1", "2", "3"] { _ = try stage.get("/a", ["Foo: \(foo)"]) }
    #expect(try stage.get("/a", ["Foo: 1"]).text == "a for 1")
    let asked = stage.origin.requests.count
    for foo in ["1", "2"] {
      let twin = try stage.get("/a", ["Foo: \(foo)"])
      #expect(twin.isHit && twin.text == "a for \(foo)" && twin["X-New"] == "yes", "\(twin.head.raw)")
    }
    #expect(stage.origin.requests.count == asked)
    #expect(try !stage.get("/a", ["Foo: 3"]).isHit)
  }

  @Test("9111 4.1: a response without Vary does not hide one with it")
  func forgottenVary() throws {
    let stage = try Stage { request, connection in
      let language = request["Accept-Language"]
      try connection.answer(
        200, ["Cache-Control: max-age=60"] + (language.map { _ in ["Vary: Accept-Language"] } ?? []),
        language ?? "default")
    }
    #expect(try stage.get("/a", ["Accept-Language: de"]).text == "de")
    #expect(try stage.get("/a").text == "default")
    #expect(try stage.get("/a", ["Accept-Language: de"]).text == "de")
    #expect(try stage.get("/a").text == "default")
    #expect(stage.origin.requests.count == 2)
  }
}
