// Validation as a client and an origin see it: whose conditions go to the origin, what a 304 changes, and what becomes
// of a stored response when its origin has another answer (RFC 9111 sections 4.3.1 to 4.3.4). The origin claims ages.

import Testing

/// Fields of a response that is stale when it comes, but may be asked about.
let stale = ["Cache-Control: max-age=10", "Age: 60"]

@Suite("Validation")
struct ValidationTests {
  struct Condition: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fields: [String]
    let status: Int
  }

  @Test(
    "a client's own condition on a stale response goes nowhere; ours does, and the client gets what its own gives",
    arguments: [
      Condition(
        testDescription: "9111 4.3.2 its tag is the stored one", fields: ["If-None-Match: \"v1\""],
        status: 304),
      Condition(testDescription: "9110 8.8.3.2 weakly so", fields: ["If-None-Match: W/\"v1\""], status: 304),
      Condition(testDescription: "9110 13.1.2 any", fields: ["If-None-Match: *"], status: 304),
      Condition(
        testDescription: "9110 13.1.2 in a list over lines",
        fields: ["If-None-Match: \"x\", \"y\"", "If-None-Match: \"v1\""], status: 304),
      Condition(
        testDescription: "9111 4.3.2 its tag is another", fields: ["If-None-Match: \"v0\""], status: 200),
      Condition(
        testDescription: "9111 4.3.2 its date is the stored one",
        fields: ["If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT"], status: 304),
      Condition(
        testDescription: "9110 13.1.3 its date is later",
        fields: ["If-Modified-Since: Wed, 15 Nov 2023 22:13:20 GMT"], status: 304),
      Condition(
        testDescription: "9110 13.1.3 its date is earlier",
        fields: ["If-Modified-Since: Mon, 13 Nov 2023 22:13:20 GMT"], status: 200),
      Condition(
        testDescription: "9110 13.2.2 the tag counts alone",
        fields: ["If-None-Match: \"v0\"", "If-Modified-Since: Wed, 15 Nov 2023 22:13:20 GMT"], status: 200),
      Condition(testDescription: "9110 13.2.2 none", fields: [], status: 200),
    ])
  func ownConditions(_ row: Condition) throws {
    let modified = "Tue, 14 Nov 2023 22:13:20 GMT"
    let stage = try Stage { request, connection in
      if request["If-None-Match"] == "\"v1\"" {
        try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=60\r\n\r\n")
      } else {
        try connection.answer(200, stale + ["ETag: \"v1\"", "Last-Modified: \(modified)"], "the body")
      }
    }
    _ = try stage.get("/a")
    let response = try stage.get("/a", row.fields)
    #expect(response.status == row.status && response.text == (row.status == 304 ? "" : "the body"))
    #expect(response["ETag"] == "\"v1\"")
    #expect(stage.origin.requests.count == 2)
    #expect(stage.origin.requests.last?["If-None-Match"] == "\"v1\"")
    #expect(stage.origin.requests.last?["If-Modified-Since"] == modified)
    // It serves again, whole.
    let hit = try stage.get("/a")
    #expect(hit.isHit && hit.status == 200 && hit.text == "the body", "\(hit.head.raw)")
  }

  @Test(
    "a condition on a response that nobody stores is met by what the response says, not by when it came",
    arguments: ["Tue, 14 Nov 2023 22:13:20 GMT", "Tuesday, 14-Nov-23 22:13:20 GMT"])
  func unstored(since: String) throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: no-store"], "version \(request.number)")
    }
    #expect(try stage.get("/a", ["If-Modified-Since: \(since)"]).text == "version 1")
    #expect(try stage.get("/a", ["If-Modified-Since: \(since)"]).text == "version 2")
  }

  @Test(
    "a 304 confirms what has its tag; one with another tag does not",
    arguments: [
      ("\"a\"", "W/\"a\"", true), ("W/\"a\"", "W/\"a\"", true),
      ("W/\"a\"", "\"b\"", false), ("\"a\"", "\"b\"", false), ("W/\"a\"", "W/\"b\"", false),
    ])
  func weakened(stored: String, confirmed: String, isSame: Bool) throws {
    let stage = try Stage { request, connection in
      if request["If-None-Match"] != nil {
        try connection.send(
          "HTTP/1.1 304 Not Modified\r\nETag: \(confirmed)\r\nCache-Control: max-age=60\r\n\r\n")
      } else {
        let fields = request.number == 1 ? stale : ["Cache-Control: max-age=60"]
        try connection.answer(200, fields + ["ETag: \(stored)"], "version \(request.number)")
      }
    }
    _ = try stage.get("/a")
    #expect(try stage.get("/a").text == (isSame ? "version 1" : "version 3"))
    let hit = try stage.get("/a")
    #expect(hit.isHit)
    // A weak tag never becomes a strong one: the bytes may differ from those that the strong one names.
    if stored.hasPrefix("W/") { #expect(hit["ETag"] == stored) }
    #expect(
      stage.origin.requests.map { $0["If-None-Match"] } == (isSame ? [nil, stored] : [nil, stored, nil]))
  }

  @Test(
    "9111 4.3.4 a strong tag in a 304 lets what has the weak one answer, each time asked, and changes nothing of it"
  )
  func weaklyConfirmed() throws {
    let stage = try Stage { request, connection in
      guard request["If-None-Match"] == nil else {
        return try connection.send(
          "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nCache-Control: max-age=60\r\nX-New: yes\r\n\r\n")
      }
      try connection.answer(200, stale + ["ETag: W/\"a\""], "version \(request.number)")
    }
    _ = try stage.get("/a")
    for _ in 0..<2 {
      let response = try stage.get("/a")
      #expect(response.text == "version 1" && response["ETag"] == "W/\"a\"" && response["X-New"] == nil)
      #expect(response.cacheStatus.contains("fwd=stale; fwd-status=304;"), "\(response.head.raw)")
      #expect(
        response.cacheStatus.hasSuffix("detail=weakly-confirmed") && Int(response["Age"] ?? "") ?? 0 > 0)
    }
    #expect(try stage.get("/a", ["If-None-Match: W/\"a\""]).status == 304)
    #expect(
      stage.origin.requests.map { $0["If-None-Match"] } == [nil] + Array(repeating: "W/\"a\"", count: 3))
  }

  @Test("a 304 that nobody asked for confirms nothing")
  func unasked() throws {
    let stage = try Stage { request, connection in
      guard request.number > 1 else {
        return try connection.answer(200, stale, "version 1")
      }
      try connection.send("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\n\r\n")
    }
    _ = try stage.get("/a")
    let response = try stage.get("/a")
    // An origin that answers what nobody asked is as good as none: the stale one answers, and stays stale.
    #expect(response.text == "version 1" && response.cacheStatus.contains("detail=disconnected"))
  }

  @Test("a 304 for one variant renews that one, and leaves the others as they are")
  func variants() throws {
    let stage = try Stage { request, connection in
      let language = request["Accept-Language"] ?? ""
      let tag = "\"\(language)\""
      if request["If-None-Match"] == tag {
        try connection.send(
          "HTTP/1.1 304 Not Modified\r\nETag: \(tag)\r\nCache-Control: max-age=600\r\nX-Round: 2\r\n\r\n")
      } else {
        let fields = stale + ["ETag: \(tag)", "Vary: Accept-Language", "X-Round: 1"]
        try connection.answer(200, fields, "in \(language)")
      }
    }
    for language in ["en", "de"] { _ = try stage.get("/a", ["Accept-Language: \(language)"]) }
    let renewed = try stage.get("/a", ["Accept-Language: de"])
    #expect(renewed.text == "in de" && renewed["X-Round"] == "2" && renewed["Vary"] == "Accept-Language")
    let hit = try stage.get("/a", ["Accept-Language: de"])
    #expect(hit.isHit && hit.text == "in de" && hit["X-Round"] == "2")
    let other = try stage.get("/a", ["Accept-Language: en"])
    #expect(!other.isHit && other.text == "in en")
    #expect(stage.origin.requests.map { $0["If-None-Match"] } == [nil, "\"en\"", "\"de\"", "\"en\""])
  }

  @Test(
    "an error in place of a validation is the answer where no rule allows the stale one, which stays",
    arguments: [500, 501, 502, 503, 504, 429, 408])
  func errors(status: Int) throws {
    let stage = try Stage(set: [Setting.retry("none")]) { request, connection in
      switch request.number {
      case 1: try connection.answer(200, stale + ["ETag: \"v1\""], "the body")
      case 2: try connection.answer(status, [], "trouble")
      default:
        try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=60\r\n\r\n")
      }
    }
    _ = try stage.get("/a")
    let trouble = try stage.get("/a")
    #expect(trouble.status == status && trouble.text == "trouble")
    #expect(try stage.get("/a").text == "the body")
    #expect(try stage.get("/a").isHit)
    #expect(stage.origin.requests.map { $0["If-None-Match"] } == [nil, "\"v1\"", "\"v1\""])
  }

  @Test(
    "a stale response answers where the origin fails and nothing forbids it",
    arguments: ["500", "503", "close", "gone", "late", "head cut"])
  func failures(how: String) throws {
    let stage = try Stage(set: [Setting.firstByte("1s")]) { request, connection in
      if request.number == 1 {
        let fields = ["Cache-Control: max-age=10, stale-if-error=600", "Age: 60"]
        return try connection.answer(200, fields, "the body")
      }
      switch how {
      case "500", "503": try connection.answer(Int(how) ?? 0, [], "trouble")
      case "close": connection.close()
      case "head cut":
        try connection.send("HTTP/1.1 200 OK\r\nContent-Le")
        connection.close()
      default: _ = try? connection.socket.receive()
      }
    }
    _ = try stage.get("/a")
    if how == "gone" { stage.origin.stop() }
    let response = try stage.get("/a")
    #expect(response.status == 200 && response.text == "the body", "\(response.head.raw)")
    // RFC 9211 section 2.3: the status of an answer that came has a meaning beside fwd alone.
    let outcome = Int(how).map { "; fwd=stale; fwd-status=\($0);" } ?? "; hit;"
    #expect(response.cacheStatus.contains(outcome), "\(response.head.raw)")
    #expect(response.cacheStatus.contains("detail=stale-if-error"), "\(response.head.raw)")
    #expect(Int(response["Age"] ?? "") ?? 0 >= 60)
  }

  @Test(
    "only-if-cached is 504 where the origin would have to be asked, and the origin is not",
    arguments: [
      ("max-age=10", "only-if-cached", 504), ("max-age=10, stale-if-error=600", "only-if-cached", 504),
      ("max-age=600", "only-if-cached, max-age=5", 504), ("max-age=600", "only-if-cached, no-cache", 504),
      ("max-age=600, no-cache", "only-if-cached", 504), ("max-age=10", "only-if-cached, max-stale=5", 504),
      ("max-age=600", "only-if-cached", 200), ("max-age=10", "only-if-cached, max-stale", 200),
      ("max-age=10", "only-if-cached, max-stale=600", 200),
    ])
  func onlyIfCached(stored: String, asked: String, status: Int) throws {
    let stage = try Stage { _, connection in
      try connection.answer(200, ["Cache-Control: \(stored)", "Age: 60", "ETag: \"v1\""], "the body")
    }
    _ = try stage.get("/a")
    let response = try stage.get("/a", ["Cache-Control: \(asked)"])
    #expect(response.status == status, "\(response.head.raw)")
    #expect(try stage.get("/other", ["Cache-Control: only-if-cached"]).status == 504)
    #expect(stage.origin.requests.count == 1)
  }

  @Test("a 304 to a client that forbids to store neither changes nor removes what is stored")
  func noStore() throws {
    let stage = try Stage { request, connection in
      if request["If-None-Match"] == nil {
        return try connection.answer(200, stale + ["ETag: \"v1\"", "X-Round: 1"], "the body")
      }
      try connection.send(
        "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nX-Round: \(request.number)\r\nCache-Control: max-age=60\r\n\r\n"
      )
    }
    _ = try stage.get("/a")
    let own = try stage.get("/a", ["Cache-Control: no-store"])
    #expect(own.text == "the body" && own["X-Round"] == "2")
    let next = try stage.get("/a")
    #expect(!next.isHit && next.text == "the body" && next["X-Round"] == "3")
    #expect(try stage.get("/a").isHit)
  }

  @Test(
    "what the origin answers in place of a stored response replaces it, or removes it where it must not be stored",
    arguments: [
      (404, ["Cache-Control: max-age=60"], true), (200, ["Cache-Control: no-store"], false),
      (200, ["Cache-Control: private"], false), (404, [], false), (403, [], false), (301, [], false),
    ])
  func replaced(status: Int, fields: [String], isStored: Bool) throws {
    let stage = try Stage { request, connection in
      if request.number == 1 {
        return try connection.answer(200, stale + ["ETag: \"v1\""], "version 1")
      }
      try connection.answer(status, fields, "version \(request.number)")
    }
    _ = try stage.get("/a")
    #expect(try stage.get("/a").text == "version 2")
    let next = try stage.get("/a")
    #expect(next.text == (isStored ? "version 2" : "version 3") && next.isHit == isStored)
    if !isStored { #expect(stage.origin.requests.last?["If-None-Match"] == nil) }
  }
}
