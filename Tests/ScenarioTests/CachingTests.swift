// What is stored, reused, revalidated and served stale, as a client and an origin see it. Nothing waits for time to
// pass: the origin claims the age that a scenario needs.

import Foundation
import Testing

@Suite("Caching")
struct CachingTests {
  @Test(
    "a first request is a miss, the second a hit with Cache-Status, Age, Date and Via, and the origin sees one"
  )
  func missThenHit() throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=60", "Age: 7", "X-Kept: yes"], "hello")
    }
    let miss = try stage.get("/a")
    let hit = try stage.get("/a")
    #expect(miss.cacheStatus.contains("fwd=") && !miss.isHit, "\(miss.head.raw)")
    #expect(hit.isHit && !hit.cacheStatus.contains("fwd="), "\(hit.head.raw)")
    for response in [miss, hit] {
      #expect(response.status == 200 && response.text == "hello")
      #expect(response["X-Kept"] == "yes")
      #expect(response["Via"]?.contains("1.1 regent") == true, "\(response.head.raw)")
      #expect(response["Date"]?.hasSuffix(" GMT") == true, "\(response.head.raw)")
    }
    #expect(hit["Date"] == miss["Date"])
    #expect((7...(7 + patience)).contains(Int(hit["Age"] ?? "") ?? -1), "\(hit.head.raw)")
    #expect(stage.origin.requests.count == 1)
    #expect(stage.origin.requests.first?["Via"]?.contains("regent") == true)
  }

  @Test("each variant that Vary selects is stored by itself")
  func variants() throws {
    let stage = try Stage { request, connection in
      let fields = ["Cache-Control: max-age=60", "Vary: Accept-Language"]
      try connection.answer(200, fields, request["Accept-Language"] ?? "none")
    }
    for round in 0..<2 {
      for language in ["en", "de", "fr"] {
        let response = try stage.get("/a", ["Accept-Language: \(language)"])
        #expect(response.text == language)
        #expect(response.isHit == (round == 1))
      }
    }
    #expect(stage.origin.requests.count == 3)
  }

  @Test(
    "a response that may not be stored is asked for each time",
    arguments: [
      ["Cache-Control: no-store, max-age=60"], ["Cache-Control: private, max-age=60"],
      ["Cache-Control: max-age=60", "Cache-Control: no-store"], ["Cache-Control: max-age=60", "Vary: *"],
      ["Cache-Control: max-age=0"], ["Cache-Control: max-age=60", "Age: 61"],
      ["Cache-Control: s-maxage=0, max-age=60"], ["Cache-Control: max-age=\"x\""],
      ["Expires: 0"], ["Cache-Control: max-age=60", "Set-Cookie: id=1", "Cache-Control: private"],
    ])
  func neverReused(_ fields: [String]) throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, fields, "answer \(request.number)")
    }
    for number in 1...3 {
      let response = try stage.get("/a")
      #expect(response.text == "answer \(number)")
      #expect(!response.isHit)
    }
  }

  @Test("a response to a request with Authorization is shared only if it says public")
  func authorization() throws {
    let stage = try Stage { request, connection in
      let isPublic = request.target == "/public" ? "public, " : ""
      try connection.answer(
        200, ["Cache-Control: \(isPublic)max-age=60"], request["Authorization"] ?? "nobody")
    }
    #expect(try stage.get("/own", ["Authorization: alice"]).text == "alice")
    #expect(try stage.get("/own", ["Authorization: bob"]).text == "bob")
    #expect(try stage.get("/own").text == "nobody")
    #expect(try stage.get("/public", ["Authorization: alice"]).text == "alice")
    #expect(try stage.get("/public").text == "alice")
  }

  @Test("a stale response is validated, and a 304 makes it serve again, whole and refreshed")
  func revalidation() throws {
    let stage = try Stage { request, connection in
      if request["If-None-Match"] == "\"v1\"" {
        try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=60\r\n\r\n")
      } else {
        try connection.answer(200, ["Cache-Control: max-age=0", "ETag: \"v1\""], "the body")
      }
    }
    _ = try stage.get("/a")
    let validated = try stage.get("/a")
    #expect(validated.status == 200 && validated.text == "the body")
    #expect(validated.cacheStatus.contains("fwd=stale"), "\(validated.head.raw)")
    #expect(validated.cacheStatus.contains("fwd-status=304"), "\(validated.head.raw)")
    let hit = try stage.get("/a")
    #expect(hit.isHit && hit.text == "the body")
    #expect(hit["Cache-Control"] == "max-age=60")
    #expect(stage.origin.requests.count == 2)
  }

  @Test("a stale response that changed is replaced by the new one")
  func changed() throws {
    let stage = try Stage { request, connection in
      let life = request.number == 1 ? 0 : 60
      let fields = ["Cache-Control: max-age=\(life)", "ETag: \"v\(request.number)\""]
      try connection.answer(200, fields, "version \(request.number)")
    }
    #expect(try stage.get("/a").text == "version 1")
    #expect(try stage.get("/a").text == "version 2")
    #expect(try stage.get("/a").isHit)
    #expect(stage.origin.requests.map { $0["If-None-Match"] } == [nil, "\"v1\""])
  }

  @Test("a client whose own copy is current gets a 304 from the store")
  func conditional() throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=60", "ETag: \"v1\""], "the body")
    }
    _ = try stage.get("/a")
    let client = try stage.daemon.connect()
    let response = try client.get("/a", ["If-None-Match: \"v1\""])
    #expect(response.status == 304 && response.body.isEmpty)
    #expect(response["ETag"] == "\"v1\"")
    #expect(try client.get("/a", ["If-None-Match: \"v0\""]).text == "the body")
    #expect(stage.origin.requests.count == 1)
  }

  @Test("stale-while-revalidate answers at once from the store and revalidates once behind")
  func staleWhileRevalidate() throws {
    let gate = Gate()
    let stage = try Stage { request, connection in
      if request.number > 1 { try gate.wait() }
      let life = request.number == 1 ? "max-age=1, stale-while-revalidate=600" : "max-age=600"
      let age = request.number == 1 ? 60 : 0
      try connection.answer(200, ["Cache-Control: \(life)", "Age: \(age)"], "version \(request.number)")
    }
    _ = try stage.get("/a")
    // The origin is held back, so that whoever gets an answer now got it from the store.
    for _ in 0..<10 {
      let stale = try stage.get("/a")
      #expect(stale.text == "version 1" && stale.isHit, "\(stale.head.raw)")
      #expect((Int(stale["Age"] ?? "") ?? 0) >= 60)
    }
    #expect(eventually { stage.origin.requests.count == 2 })
    gate.open()
    #expect(try eventually { try stage.get("/a").text == "version 2" })
    #expect(stage.origin.requests.count == 2)
  }

  @Test("HEAD is answered from a stored GET, without its body")
  func head() throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=60"], "hello")
    }
    _ = try stage.get("/a")
    let client = try stage.daemon.connect()
    try client.request("HEAD", "/a")
    let response = try client.response(to: "HEAD")
    #expect(response.status == 200 && response["Content-Length"] == "5")
    #expect(try client.get("/a").isHit)
    #expect(stage.origin.requests.count == 1)
  }

  @Test("a POST is relayed with its body in either framing and is never answered from the store")
  func post() throws {
    let stage = try Stage { request, connection in
      let body = String(decoding: try connection.readBody(), as: UTF8.self)
      try connection.answer(200, ["Cache-Control: max-age=60"], "\(request.method) \(request.number) \(body)")
    }
    let client = try stage.daemon.connect()
    let start = "POST /a HTTP/1.1\r\nHost: localhost\r\n"
    try client.send(start + "Content-Length: 5\r\n\r\nhello")
    #expect(try client.response().text == "POST 1 hello")
    try client.send(start + "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n")
    #expect(try client.response().text == "POST 2 hello")
    #expect(try client.get("/a").text == "GET 3 ")
  }
}
