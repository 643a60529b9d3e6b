// Which fields a 304 and the answer to a HEAD change in what is stored, and which never, seen on the wire (RFC 9111
// sections 3.2, 4.3.4 and 4.3.5).

import Testing

@Suite("Freshening")
struct FresheningTests {
  struct Update: Sendable, CustomTestStringConvertible {
    let name: String
    let before: String
    let after: String
    var isTaken = true
    var testDescription: String { "9111 3.2 \(name) \(isTaken ? "is taken" : "is left")" }
  }

  static let updates: [Update] = [
    .init(name: "X-Test", before: "a", after: "b"), .init(name: "Content-Foo", before: "a", after: "b"),
    .init(name: "Content-Type", before: "text/plain", after: "text/plain;charset=utf-8"),
    .init(name: "Content-MD5", before: "rL0Y20zC+Fzt72VPzMSk2A==", after: "N7UdGUp1E+RbVvZSTy1R8g=="),
    .init(name: "Content-Location", before: "/foo", after: "/bar"),
    .init(name: "Content-Security-Policy", before: "default-src 'self'", after: "default-src 'none'"),
    .init(name: "Content-Language", before: "de", after: "en"),
    .init(name: "X-Frame-Options", before: "deny", after: "sameorigin"),
    .init(name: "Clear-Site-Data", before: "\"cache\"", after: "\"cookies\""),
    .init(name: "Set-Cookie", before: "a=b", after: "a=c"),
    .init(name: "Set-Cookie2", before: "a=b", after: "a=c"),
    .init(name: "Expires", before: "Fri, 01 Jan 2038 01:01:01 GMT", after: "Mon, 11 Jan 2038 11:11:11 GMT"),
    .init(name: "Link", before: "</a>; rel=next", after: "</b>; rel=next"),
    .init(name: "Content-Encoding", before: "gzip", after: "br", isTaken: false),
    .init(name: "Content-Range", before: "bytes 0-7/8", after: "bytes 0-3/8", isTaken: false),
    .init(name: "Content-Length", before: "8", after: "3", isTaken: false),
    .init(name: "Content-Digest", before: "sha-256=:YQ==:", after: "sha-256=:Yg==:", isTaken: false),
    .init(name: "Repr-Digest", before: "sha-256=:YQ==:", after: "sha-256=:Yg==:", isTaken: false),
  ]

  @Test("a 304 changes what it may, in its answer and in the store", arguments: updates)
  func byNotModified(_ row: Update) throws {
    let stage = try Stage { request, connection in
      guard request["If-None-Match"] == nil else {
        let lines = ["ETag: \"v1\"", "Cache-Control: max-age=60", "\(row.name): \(row.after)"]
        return try connection.send(
          "HTTP/1.1 304 Not Modified\r\n" + lines.joined(separator: "\r\n") + "\r\n\r\n")
      }
      var fields = ["Cache-Control: max-age=10", "Age: 60", "ETag: \"v1\"", "X-Kept: yes"]
      if row.name != "Content-Length" { fields.append("\(row.name): \(row.before)") }
      try connection.answer(200, fields, "the body")
    }
    _ = try stage.get("/a")
    for isHit in [false, true] {
      let response = try stage.get("/a")
      #expect(response.text == "the body" && response.isHit == isHit, "\(response.head.raw)")
      #expect(response[row.name] == (row.isTaken ? row.after : row.before), "\(response.head.raw)")
      #expect(response["X-Kept"] == "yes" && response["Cache-Control"] == "max-age=60")
      #expect(Int(response["Age"] ?? "0") ?? 60 < 60)
    }
    #expect(stage.origin.requests.count == 2)
  }

  struct Answer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let stored: [String]
    let head: [String]
    let isSame: Bool
    var status = 200
  }

  static let answers: [Answer] = [
    .init(testDescription: "9111 4.3.5 no validators, no length", stored: [], head: [], isSame: true),
    .init(
      testDescription: "9111 4.3.5 the same length", stored: [], head: ["Content-Length: 8"], isSame: true),
    .init(
      testDescription: "9111 4.3.5 another length", stored: [], head: ["Content-Length: 9"], isSame: false),
    .init(
      testDescription: "9111 4.3.5 the same tag", stored: ["ETag: \"v1\""], head: ["ETag: \"v1\""],
      isSame: true),
    .init(
      testDescription: "9111 4.3.5 another tag", stored: ["ETag: \"v1\""], head: ["ETag: \"v2\""],
      isSame: false),
    .init(
      testDescription: "9111 4.3.5 a tag where none is stored", stored: [], head: ["ETag: \"v1\""],
      isSame: false),
    .init(
      testDescription: "9111 4.3.5 no tag where one is stored", stored: ["ETag: \"v1\""], head: [],
      isSame: true),
    .init(
      testDescription: "9111 4.3.5 the same tag, another length", stored: ["ETag: \"v1\""],
      head: ["ETag: \"v1\"", "Content-Length: 9"], isSame: false),
    .init(
      testDescription: "9111 4.3.5 the same date", stored: ["Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT"],
      head: ["Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT"], isSame: true),
    .init(
      testDescription: "9111 4.3.5 another date", stored: ["Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT"],
      head: ["Last-Modified: Wed, 15 Nov 2023 22:13:20 GMT"], isSame: false),
    .init(
      testDescription: "9111 4.3.5 another coding", stored: ["Content-Encoding: gzip"], head: [],
      isSame: false),
    .init(testDescription: "9110 15.5.11 it is gone", stored: [], head: [], isSame: false, status: 410),
    .init(testDescription: "9110 15.5.5 it is not found", stored: [], head: [], isSame: false, status: 404),
  ]

  @Test(
    "the answer to a HEAD renews a stored response that it is about, and makes another one useless",
    arguments: answers)
  func byHead(_ row: Answer) throws {
    let stage = try Stage { request, connection in
      if request.method == "HEAD" {
        let fields =
          ["HTTP/1.1 \(row.status) Scripted", "Cache-Control: max-age=600", "X-Round: 2"] + row.head
        return try connection.send(fields.joined(separator: "\r\n") + "\r\n\r\n")
      }
      let fields = ["Cache-Control: max-age=10", "Age: 60", "X-Round: 1", "X-Kept: yes"] + row.stored
      try connection.answer(200, fields, "number \(request.number)")
    }
    _ = try stage.get("/a")
    let client = try stage.daemon.connect()
    try client.request("HEAD", "/a")
    let answer = try client.response(to: "HEAD")
    #expect(answer.status == row.status && answer["X-Round"] == "2", "\(answer.head.raw)")
    let next = try client.get("/a")
    #expect(next.isHit == row.isSame, "\(next.head.raw)")
    #expect(next.text == (row.isSame ? "number 1" : "number 3"))
    if row.isSame {
      #expect(answer["X-Kept"] == "yes" && answer["Content-Length"] == "8")
      #expect(next["X-Round"] == "2" && next["X-Kept"] == "yes" && next["Content-Length"] == "8")
      #expect(Int(next["Age"] ?? "") ?? 60 < 60)
    } else {
      // It was not asked about: it is no candidate any more.
      #expect(stage.origin.requests.last?["If-None-Match"] == nil)
    }
  }

  @Test("a 304 to a HEAD renews the stored response to a GET")
  func headConfirmed() throws {
    let stage = try Stage { request, connection in
      if request.method == "HEAD" {
        return try connection.send(
          "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=60\r\n\r\n")
      }
      try connection.answer(200, stale + ["ETag: \"v1\""], "the body")
    }
    _ = try stage.get("/a")
    let client = try stage.daemon.connect()
    try client.request("HEAD", "/a")
    let answer = try client.response(to: "HEAD")
    #expect(answer.status == 200 && answer["Content-Length"] == "8", "\(answer.head.raw)")
    let hit = try client.get("/a")
    #expect(hit.isHit && hit.text == "the body")
    #expect(stage.origin.requests.map(\.method) == ["GET", "HEAD"])
    #expect(stage.origin.requests.last?["If-None-Match"] == "\"v1\"")
  }

  @Test("an origin that fails a HEAD changes nothing in what is stored", arguments: [405, 500, 503])
  func headFails(status: Int) throws {
    let stage = try Stage(set: [Setting.retry("none")]) { request, connection in
      if request.method == "HEAD" {
        return try connection.send("HTTP/1.1 \(status) Scripted\r\nContent-Length: 9\r\n\r\n")
      }
      if request["If-None-Match"] != nil {
        return try connection.send("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\n\r\n")
      }
      try connection.answer(200, stale + ["ETag: \"v1\""], "the body")
    }
    _ = try stage.get("/a")
    let client = try stage.daemon.connect()
    try client.request("HEAD", "/a")
    #expect(try client.response(to: "HEAD").status == status)
    #expect(try client.get("/a").text == "the body")
    #expect(stage.origin.requests.map { $0["If-None-Match"] } == [nil, "\"v1\"", "\"v1\""])
  }

  @Test("a HEAD for which nothing is stored goes to the origin, and stores nothing")
  func headAlone() throws {
    let stage = try Stage { request, connection in
      if request.method == "HEAD" {
        return try connection.send(
          "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nCache-Control: max-age=60\r\n\r\n")
      }
      try connection.answer(200, ["Cache-Control: max-age=60"], "the body!")
    }
    let client = try stage.daemon.connect()
    for _ in 0..<2 {
      try client.request("HEAD", "/a")
      #expect(try client.response(to: "HEAD")["Content-Length"] == "9")
    }
    #expect(!(try client.get("/a").isHit))
    #expect(stage.origin.requests.map(\.method) == ["HEAD", "HEAD", "GET"])
  }
}
