// What one client asks must not decide what another one gets: fields that are not in the key, content, ranges. And a
// 304 renews what it speaks of, and nothing else.

import Testing

@Suite("What is stored depends on the key alone")
struct PoisoningTests {
  private static let standIns = [
    "Forwarded: host=evil", "X-Forwarded-For: evil", "X-Forwarded-Host: evil", "X-Forwarded-Proto: evil",
    "X-Forwarded-Prefix: evil", "X-Forwarded-Scheme: evil", "X-Original-URL: evil", "X-Original-Host: evil",
    "X-Rewrite-URL: evil", "X-HTTP-Method-Override: evil", "X-HTTP-Method: evil", "X-Method-Override: evil",
    "X-Host: evil", "x-real-ip: evil", "True-Client-IP: evil",
  ]

  @Test("a field that stands in for the target, host or client does not reach what others get")
  func unkeyedFields() throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: max-age=60"], request.head.raw)
    }
    for (number, field) in Self.standIns.enumerated() {
      _ = try stage.get("/\(number)", [field, "X-Other: kept"])
      let next = try stage.get("/\(number)")
      #expect(
        next.isHit && !next.text.contains("evil") && next.text.contains("X-Other: kept"), "\(next.text)")
    }
    let client = try stage.daemon.connect()
    try client.request("POST", "/p", ["X-HTTP-Method-Override: PATCH", "Content-Length: 0"])
    #expect(try client.response().text.contains("X-HTTP-Method-Override: PATCH"))
  }

  @Test("the answer to a GET with content is given to nobody else, and a stored one does not answer it")
  func contentOfGET() throws {
    let stage = try Stage { request, connection in
      let body = String(decoding: try connection.readBody(), as: UTF8.self)
      try connection.answer(200, ["Cache-Control: max-age=60"], "for \(body)")
    }
    let client = try stage.daemon.connect()
    for query in ["one", "two"] {
      try client.send("GET /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n\(query)")
      #expect(try client.response().text == "for \(query)")
    }
    #expect(try client.get("/a").text == "for ")
  }

  @Test("a range that cannot be satisfied is nobody else's answer")
  func unsatisfiedRange() throws {
    let stage = try Stage { request, connection in
      let status = request["Range"] == nil ? 200 : 416
      try connection.answer(status, ["Cache-Control: max-age=60"], "\(status)")
    }
    _ = try stage.get("/a", ["Range: bytes=99-"])
    #expect(try stage.get("/a").text == "200")
  }

  @Test("a range whose If-Range is not passed on is not passed on either")
  func conditionalRange() throws {
    let stage = try Stage { request, connection in
      let isPart = request["Range"] != nil && request["If-Range"] == nil
      try connection.answer(isPart ? 206 : 200, [], isPart ? "new" : "the new representation")
    }
    let response = try stage.get("/a", ["Range: bytes=0-2", "If-Range: \"old\""])
    #expect(response.status == 200 && response.text == "the new representation")
  }

  @Test("a 304 about another representation is followed by a request for the whole")
  func otherNotModified() throws {
    let stage = try Stage { request, connection in
      if request["If-None-Match"] != nil {
        try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v2\"\r\n\r\n")
      } else {
        try connection.answer(
          200, ["Cache-Control: max-age=0", "ETag: W/\"v\(request.number)\""], "\(request.number)")
      }
    }
    #expect(try stage.get("/a").text == "1")
    let second = try stage.get("/a")
    #expect(second.status == 200 && second.text == "3" && !second.isHit, "\(second.head.raw)")
  }

  @Test(
    "a 304 that forbids to store is relayed and renews nothing",
    arguments: ["no-store", "private, max-age=600"])
  func forbiddingNotModified(_ directives: String) throws {
    let stage = try Stage { request, connection in
      if request["If-None-Match"] != nil {
        try connection.send(
          "HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\nCache-Control: \(directives)\r\n\r\n")
      } else {
        let old = "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"
        try connection.answer(200, ["Cache-Control: max-age=0", "ETag: \"v\"", old], "the body")
      }
    }
    for number in 1...4 {
      #expect(try stage.get("/a").text == "the body")
      #expect(stage.origin.requests.count == number)
    }
  }

  @Test("OPTIONS * asks an origin about itself, also one below a path")
  func asterisk() throws {
    let origin = try Origin { _, connection in try connection.answer() }
    let daemon = try Daemon.start(upstream: origin.url + "/base")
    let client = try daemon.connect()
    try client.request("OPTIONS", "*")
    #expect(try client.response().status == 200)
    #expect(origin.requests.map(\.target) == ["*"])
  }
}
