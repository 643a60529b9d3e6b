// Parts when their origin has something else to say: they are stale, it has changed, it answers with what does not belong
// to them, or it breaks off. Nothing is combined that is not of one representation.

import Testing

extension PartTests {
  struct Refusal: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let status: Int
    let fields: [String]
    let body: String

    static let all = [
      Refusal(
        testDescription: "another representation", status: 206,
        fields: ["ETag: \"v2\"", "Content-Range: bytes 5-9/10"], body: "FGHIJ"),
      Refusal(
        testDescription: "another range", status: 206,
        fields: ["ETag: \"v1\"", "Content-Range: bytes 6-9/10"],
        body: "6789"),
      Refusal(
        testDescription: "another length", status: 206,
        fields: ["ETag: \"v1\"", "Content-Range: bytes 5-9/11"],
        body: "56789"),
      Refusal(
        testDescription: "content of another length", status: 206,
        fields: ["ETag: \"v1\"", "Content-Range: bytes 5-9/10"], body: "5678"),
      Refusal(testDescription: "no Content-Range", status: 206, fields: ["ETag: \"v1\""], body: "56789"),
      Refusal(
        testDescription: "a weak tag", status: 206,
        fields: ["ETag: W/\"v1\"", "Content-Range: bytes 5-9/10"],
        body: "56789"),
      Refusal(testDescription: "no tag", status: 206, fields: ["Content-Range: bytes 5-9/10"], body: "56789"),
      Refusal(testDescription: "416", status: 416, fields: ["Content-Range: bytes */5"], body: ""),
    ]
  }

  @Test(
    "what does not belong to the stored part is never combined: the whole is fetched", arguments: Refusal.all)
  func neverCombined(_ row: Refusal) throws {
    let stage = try Stage(workers: 1) { request, connection in
      if request["If-Range"] != nil {
        try connection.answer(row.status, row.fields + ["Cache-Control: max-age=600"], row.body)
      } else if request["Range"] != nil {
        try connection.answer(206, Self.fresh + ["Content-Range: bytes 0-4/10"], "01234")
      } else {
        try connection.answer(200, ["Cache-Control: max-age=600", "ETag: \"v3\""], "whole")
      }
    }
    #expect(try stage.get("/a", ["Range: bytes=0-4"]).text == "01234")
    let whole = try stage.get("/a")
    #expect(whole.status == 200 && whole.text == "whole", "\(whole.head.raw)")
    #expect(try stage.get("/a").isHit)
    #expect(stage.origin.requests.count == 3)
  }

  @Test("an origin that has changed answers with the whole, which is taken")
  func changed() throws {
    let stage = try Stage(workers: 1) { request, connection in
      if request["If-Range"] == nil {
        try connection.answer(206, Self.fresh + ["Content-Range: bytes 0-4/10"], "01234")
      } else {
        try connection.answer(200, ["Cache-Control: max-age=600", "ETag: \"v2\""], "ABCDEFGHIJ")
      }
    }
    _ = try stage.get("/a", ["Range: bytes=0-4"])
    #expect(try stage.get("/a").text == "ABCDEFGHIJ")
    let part = try stage.get("/a", ["Range: bytes=0-4"])
    #expect(part.isHit && part.status == 206 && part.text == "ABCDE")
  }

  @Test(
    "a 206 that is none is passed on, and neither stored nor combined",
    arguments: [
      (["Range: bytes=0-4"], [String]()), (["Range: bytes=0-4"], ["Content-Range: bytes 4-0/10"]),
      (["Range: bytes=0-4"], ["Content-Range: bytes 0-9/10", "Content-Range: bytes 0-4/10"]),
      (["Range: bytes=0-4"], ["Content-Range: bytes 0-3/10"]),
    ])
  func invalid(_ asked: [String], _ fields: [String]) throws {
    let stage = try Stage(workers: 1) { request, connection in
      try connection.answer(206, Self.fresh + fields, "01234")
    }
    for round in 1...2 {
      let response = try stage.get("/a", asked)
      #expect(response.status == 206 && response.text == "01234" && !response.isHit, "\(response.head.raw)")
      #expect(stage.origin.requests.count == round)
    }
  }

  @Test("parts of different representations: the newer one replaces the older")
  func newer() throws {
    let stage = try Stage(workers: 1) { request, connection in
      let isFirst = request["Range"] == "bytes=0-4"
      let fields = ["Cache-Control: max-age=600", "ETag: \"v\(isFirst ? 1 : 2)\""]
      try connection.answer(
        206, fields + ["Content-Range: bytes \(isFirst ? "0-4" : "5-9")/20"], isFirst ? "01234" : "FGHIJ")
    }
    _ = try stage.get("/a", ["Range: bytes=0-4"])
    _ = try stage.get("/a", ["Range: bytes=5-9"])
    #expect(try stage.get("/a", ["Range: bytes=5-9"]).isHit)
    #expect(try !stage.get("/a", ["Range: bytes=0-4"]).isHit)
  }

  @Test("stale parts are validated by If-Range together with what is missing")
  func stale() throws {
    let content = Content("stale", count: 1000)
    let stage = try Stage(workers: 1) { request, connection in
      let age = request.number == 1 ? 0 : 600
      try content.answer(request, connection, ["Cache-Control: max-age=\(age)", "ETag: \"v1\""])
    }
    _ = try stage.get("/a", ["Range: bytes=0-499"])
    let whole = try stage.get("/a")
    #expect(whole.status == 200 && isSame(whole.body, content.bytes))
    #expect(stage.origin.requests.last?["If-Range"] == "\"v1\"")
    #expect(try stage.get("/a").isHit)
  }

  @Test(
    "a stale part that is asked for is confirmed by a 304, or replaced by the part that the origin has now")
  func confirmed() throws {
    let stage = try Stage(workers: 1) { request, connection in
      if request.number == 2 {
        try connection.send(
          "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=0\r\nX-New: 1\r\n\r\n")
      } else {
        let (tag, life, text) = request.number == 1 ? (1, 0, "01234") : (2, 600, "ABCDE")
        let fields = ["Cache-Control: max-age=\(life)", "ETag: \"v\(tag)\"", "Content-Range: bytes 0-4/10"]
        try connection.answer(206, fields, text)
      }
    }
    _ = try stage.get("/a", ["Range: bytes=0-4"])
    let confirmed = try stage.get("/a", ["Range: bytes=1-3"])
    #expect(
      confirmed.status == 206 && confirmed.text == "123" && confirmed["X-New"] == "1", "\(confirmed.head.raw)"
    )
    #expect(
      confirmed["Content-Range"] == "bytes 1-3/10"
        && confirmed.cacheStatus.contains("fwd=stale; fwd-status=304"))
    let asked = try #require(stage.origin.requests.last)
    #expect(asked["If-None-Match"] == "\"v1\"" && asked["Range"] == "bytes=1-3")
    #expect(try stage.get("/a", ["Range: bytes=0-4"]).text == "ABCDE")
    #expect(try stage.get("/a", ["Range: bytes=2-3"]).isHit)
  }

  @Test("stale parts answer where stale responses do: behind an error, and while they are revalidated")
  func staleAnswers() throws {
    let gate = Gate()
    let stage = try Stage(workers: 1) { request, connection in
      if request.number == 2, request.target == "/error" { return try connection.answer(503) }
      if request.number == 2 { try gate.wait() }
      let (age, text) = request.number == 1 ? (100, "01234") : (0, "ABCDE")
      let life = "Cache-Control: max-age=60, stale-while-revalidate=\(request.target == "/swr" ? 600 : 0)"
      let fields = [
        life + ", stale-if-error=600", "Age: \(age)", "ETag: \"\(text)\"", "Content-Range: bytes 0-4/10",
      ]
      try connection.answer(206, fields, text)
    }
    for target in ["/error", "/swr"] {
      #expect(try stage.get(target, ["Range: bytes=0-4"]).text == "01234")
      let stale = try stage.get(target, ["Range: bytes=1-2"])
      #expect(
        stale.status == 206 && stale.cacheStatus.contains("detail=stale-") && stale.text == "12",
        "\(stale.head.raw)")
      #expect(stale["Content-Range"] == "bytes 1-2/10")
    }
    gate.open()
    #expect(try eventually { try stage.get("/swr", ["Range: bytes=0-4"]).text == "ABCDE" })
    #expect(stage.origin.requests.count == 4)
  }

  @Test("a 304 about a whole variant never makes a stored part of another variant pass for the whole")
  func twins() throws {
    let stage = try Stage(workers: 1) { request, connection in
      let fields = [
        "Cache-Control: max-age=\(request.number == 2 ? 0 : 600)", "ETag: \"v1\"", "Vary: Accept-Language",
      ]
      if request["Range"] != nil {
        try connection.answer(206, fields + ["Content-Range: bytes 0-4/10"], "01234")
      } else if request["If-None-Match"] == "\"v1\"" {
        let lines = ["HTTP/1.1 304 Not Modified"] + fields
        try connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
      } else {
        try connection.answer(200, fields, "0123456789")
      }
    }
    let (one, other) = ("Accept-Language: aa", "Accept-Language: bb")
    #expect(try stage.get("/a", [other, "Range: bytes=0-4"]).status == 206)
    #expect(try stage.get("/a", [one]).text == "0123456789")
    let confirmed = try stage.get("/a", [one])
    #expect(confirmed.cacheStatus.contains("fwd-status=304"), "\(confirmed.head.raw)")
    #expect(try stage.get("/a", [other]).text == "0123456789")
  }

  @Test("a part without validator: the rest is asked for, and a whole answer is taken")
  func withoutValidator() throws {
    let stage = try Stage(workers: 1) { request, connection in
      if request.number == 1 {
        try connection.answer(206, ["Cache-Control: max-age=3600", "Content-Range: bytes 0-4/10"], "01234")
      } else {
        try connection.answer(200, [], "another")
      }
    }
    _ = try stage.get("/a", ["Range: bytes=-5"])
    let whole = try stage.get("/a")
    #expect(whole.status == 200 && whole.text == "another")
    #expect(stage.origin.requests.map { $0["Range"] } == ["bytes=-5", "bytes=5-"])
  }

  @Test(
    "an end that breaks off while parts are completed breaks the client's connection, and nothing whole is stored"
  )
  func earlyEnd() throws {
    let content = Content("early", count: 100_000)
    let stage = try Stage(workers: 1) { request, connection in
      guard request["If-Range"] != nil else { return try content.answer(request, connection, Self.fresh) }
      let lines = ["HTTP/1.1 206 Partial", "Content-Length: 99000", "Content-Range: bytes 1000-99999/100000"]
      try connection.send((lines + Self.fresh).joined(separator: "\r\n") + "\r\n\r\n")
      try connection.send(Array(content.bytes[1000..<50_000]))
      connection.close()
    }
    _ = try stage.get("/a", ["Range: bytes=0-999"])
    #expect(throws: (any Error).self) { try stage.get("/a") }
    #expect(try stage.get("/a", ["Range: bytes=0-999"]).isHit)
    #expect(throws: (any Error).self) { try stage.get("/a") }
  }

  @Test("a response that broke off is kept as a part, and only the rest of it is fetched")
  func brokenOff() throws {
    let content = Content("broken", count: 200_000)
    let stage = try Stage(workers: 1) { request, connection in
      guard request["Range"] == nil else { return try content.answer(request, connection, Self.fresh) }
      try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n")
      try connection.send(Self.fresh.joined(separator: "\r\n") + "\r\n\r\n")
      try connection.send(Array(content.bytes[..<150_000]))
      connection.close()
    }
    #expect(throws: (any Error).self) { try stage.get("/a") }
    #expect(try eventually { try stage.get("/a", ["Range: bytes=0-99"]).isHit })
    let whole = try stage.get("/a")
    #expect(whole.status == 200 && isSame(whole.body, content.bytes), "\(whole.head.raw)")
    #expect(stage.origin.requests.last?["Range"] == "bytes=150000-")
    #expect(try eventually { try stage.get("/a").isHit })
  }
}
