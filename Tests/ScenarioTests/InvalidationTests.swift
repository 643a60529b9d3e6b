// What a successful unsafe request makes unusable, whatever its response calls it; what was asked for before it; and
// the POST whose answer is its target's own (RFC 9111 section 4.4; RFC 9110 section 9.3.3).

import Testing

@Suite("Invalidation")
struct InvalidationTests {
  /// A daemon whose one domain has names of its own and an origin below a path.
  private struct Town {
    let origin: Origin
    let daemon: Daemon

    /// `name` gives the reference that an unsafe request's response has, from the origin's port.
    init(_ field: String = "Location", _ reference: String) throws {
      origin = try Origin { request, connection in
        guard request.method == "GET" else {
          let value = reference.replacing("ORIGIN", with: request["Host"] ?? "")
          return try connection.answer(201, ["\(field): \(value)"], "done")
        }
        try connection.answer(200, ["Cache-Control: max-age=600"], "\(request.number)")
      }
      let config = """
        [[domain]]
        name = "shop"
        hosts = ["api.shop.test", "*.cdn.test"]
        upstream = "\(origin.url)/v1"
        """
      daemon = try Daemon.start(config: config)
    }
  }

  struct Reference: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let value: String
    let isOwn: Bool

    init(_ description: String, _ value: String, _ isOwn: Bool = true) {
      (testDescription, self.value, self.isOwn) = (description, value, isOwn)
    }
  }

  static let references: [Reference] = [
    .init("9111 4.4 the origin's path, with its base", "/v1/list/2"),
    .init("9111 4.4 the origin's authority", "http://ORIGIN/v1/list/2"),
    .init("9111 4.4 a relative path", "2"), .init("9111 4.4 a relative path with dots", "../list/./2"),
    .init("9111 4.4 without a scheme", "//ORIGIN/v1/list/2"),
    .init("9111 4.4 the authority that the client used", "http://shop.localhost/list/2"),
    .init("9111 4.4 that authority in capitals", "HTTP://Shop.LocalHost:80/list/2"),
    .init("9111 4.4 the path as the client says it", "/list/2"),
    .init("9111 4.4 another host of the domain", "http://api.shop.test/list/2"),
    .init("9111 4.4 another host of the domain over TLS", "https://api.shop.test/list/2"),
    .init("9111 4.4 a host below a suffix of the domain", "https://a.cdn.test/list/2"),
    .init("9111 4.4 with a fragment", "/list/2#x"),
    .init("9111 4.4 another host", "http://elsewhere.test/list/2", false),
    .init("9111 4.4 a host that ends alike", "http://evilapi.shop.test/list/2", false),
    .init("9111 4.4 the origin's host at another port", "http://127.0.0.1:1/v1/list/2", false),
    .init("9111 4.4 user information", "http://api.shop.test@elsewhere.test/list/2", false),
    .init("9111 4.4 the origin outside of its base", "http://ORIGIN/v2/list/2", false),
    .init("9111 4.4 a base that only begins alike", "http://ORIGIN/v1x/list/2", false),
    .init("9111 4.4 another query", "/list/2?x", false), .init("9111 4.4 another path", "/list/3", false),
    .init("9111 4.4 no HTTP", "mailto:list@shop.test", false),
  ]

  @Test(
    "reaches what Location names, under every name of the domain and under no other", arguments: references)
  func location(_ row: Reference) throws { try invalidates("Location", row) }

  @Test("reaches what Content-Location names", arguments: references.prefix(2) + references.suffix(2))
  func contentLocation(_ row: Reference) throws { try invalidates("Content-Location", row) }

  private func invalidates(_ field: String, _ row: Reference) throws {
    let town = try Town(field, row.value)
    let host = "shop.localhost"
    let client = try town.daemon.connect()
    _ = try client.get("/list/2", host: host)
    try client.request("POST", "/list/1", host: host, ["Content-Length: 0"])
    #expect(try client.response().status == 201)
    #expect(try client.get("/list/2", host: host).isHit == !row.isOwn)
  }

  @Test(
    "of a target asked for below a loopback name's prefix reaches it as the client says it and as the origin does"
  )
  func prefix() throws {
    for reference in ["http://localhost/shop/list/2", "/v1/list/2", "/shop/list/2"] {
      let town = try Town("Location", reference)
      let client = try town.daemon.connect()
      _ = try client.get("/shop/list/2")
      #expect(try client.get("/list/2", host: "api.shop.test").isHit)
      try client.request("PUT", "/shop/list/1", ["Content-Length: 0"])
      _ = try client.response()
      #expect(!(try client.get("/list/2", host: "api.shop.test").isHit), "\(reference)")
    }
  }

  @Test(
    "follows an unsafe request that succeeds, of any method, and no other",
    arguments: [
      ("POST", 200, true), ("PUT", 204, true), ("DELETE", 200, true), ("PATCH", 200, true),
      ("M-SEARCH", 200, true),
      ("PROPPATCH", 207, true), ("LOCK", 200, true), ("POST", 303, true), ("POST", 400, false),
      ("PUT", 404, false),
      ("DELETE", 500, false), ("POST", 503, false), ("OPTIONS", 200, false), ("PROPFIND", 207, false),
      ("SEARCH", 200, false), ("REPORT", 200, false), ("HEAD", 200, false),
    ])
  func methods(method: String, status: Int, isGone: Bool) throws {
    let stage = try Stage { request, connection in
      guard request.method == "GET" else {
        return try connection.send(
          "HTTP/1.1 \(status) Scripted\r\n\(status == 204 ? "" : "Content-Length: 0\r\n")\r\n")
      }
      try connection.answer(200, ["Cache-Control: max-age=600"], "the body")
    }
    let client = try stage.daemon.connect()
    _ = try client.get("/a")
    try client.request(method, "/a", method == "HEAD" ? ["Cache-Control: no-cache"] : ["Content-Length: 0"])
    #expect(try client.response(to: method).status == status)
    // A HEAD's answer of another length is about another response: that is no invalidation, but as good as one.
    #expect(try client.get("/a").isHit == (method == "HEAD" ? false : !isGone))
  }

  @Test("takes all variants of its target")
  func variants() throws {
    let stage = try Stage { request, connection in
      try connection.answer(
        200, ["Cache-Control: max-age=600", "Vary: Accept-Language"], request["Accept-Language"] ?? "")
    }
    let client = try stage.daemon.connect()
    for language in ["en", "de", "fr"] { _ = try client.get("/a", ["Accept-Language: \(language)"]) }
    try client.request("POST", "/a", ["Content-Length: 0", "Accept-Language: en"])
    _ = try client.response()
    for language in ["en", "de", "fr"] {
      #expect(!(try client.get("/a", ["Accept-Language: \(language)"]).isHit))
    }
  }

  @Test(
    "keeps out what was asked for before it and comes after it",
    arguments: ["a small answer", "a growing answer", "a confirmation", "a revalidation behind"])
  func inTheAir(what: String) throws {
    let (arrived, gate) = (Gate(), Gate())
    let stage = try Stage { request, connection in
      if request.method == "PUT" { return try connection.answer(204) }
      let isFirst = request.number == 1
      if isFirst, what == "a confirmation" || what == "a revalidation behind" {
        let window = what == "a confirmation" ? "" : ", stale-while-revalidate=600"
        let fields = ["Cache-Control: max-age=10\(window)", "Age: 60", "ETag: \"v1\""]
        return try connection.answer(200, fields, "old")
      }
      let isHeld = !comesAfter(request)
      guard isHeld else { return try connection.answer(200, ["Cache-Control: max-age=600"], "new") }
      if what == "a growing answer" {
        try connection.send(
          "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\r\n")
        try connection.send("3\r\nold\r\n")
      }
      arrived.open()
      try gate.wait()
      switch what {
      case "a small answer": try connection.answer(200, ["Cache-Control: max-age=600"], "old")
      case "a growing answer": try connection.send("0\r\n\r\n")
      default:
        try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=600\r\n\r\n")
      }
    }
    if what == "a confirmation" || what == "a revalidation behind" { _ = try stage.get("/a") }
    let asking = try stage.daemon.connect()
    try asking.request("GET", "/a")
    try arrived.wait()
    let client = try stage.daemon.connect()
    try client.request("PUT", "/a", ["Content-Length: 0", "X-Now: new"])
    #expect(try client.response().status == 204)
    gate.open()
    #expect(try asking.response().text == "old")
    if what == "a revalidation behind" {
      // Nothing on the wire says when it has ended: whatever it does, the old one never comes back.
      for _ in 0..<20 { #expect(try client.get("/a", ["X-Now: new"]).text == "new") }
    }
    #expect(try client.get("/a", ["X-Now: new"]).text == "new")
    #expect(try client.get("/a", ["X-Now: new"]).isHit)
  }

  // MARK: POST

  struct Post: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var status = 200
    let fields: [String]
    var asked: [String] = []
    let isStored: Bool
  }

  static let posts: [Post] = [
    .init(
      testDescription: "9110 9.3.3 explicit freshness and its own target",
      fields: ["Cache-Control: max-age=600", "Content-Location: /a"], isStored: true),
    .init(
      testDescription: "9110 9.3.3 an Expires and its own target",
      fields: [
        "Expires: Fri, 01 Jan 2038 01:01:01 GMT", "Content-Location: /a",
      ], isStored: true),
    .init(
      testDescription: "9110 9.3.3 an empty reference is the target",
      fields: [
        "Cache-Control: max-age=600", "Content-Location: ",
      ], isStored: true),
    .init(
      testDescription: "9110 9.3.3 another target",
      fields: [
        "Cache-Control: max-age=600", "Content-Location: /b",
      ], isStored: false),
    .init(
      testDescription: "9110 9.3.3 another origin's",
      fields: [
        "Cache-Control: max-age=600", "Content-Location: http://elsewhere.test/a",
      ], isStored: false),
    .init(
      testDescription: "9110 9.3.3 no Content-Location", fields: ["Cache-Control: max-age=600"],
      isStored: false),
    .init(testDescription: "9110 9.3.3 no freshness", fields: ["Content-Location: /a"], isStored: false),
    .init(
      testDescription: "9110 9.3.3 freshness that is a guess",
      fields: [
        "Content-Location: /a", "Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT",
      ], isStored: false),
    .init(
      testDescription: "9111 5.2.2.5 no-store",
      fields: [
        "Cache-Control: max-age=600, no-store", "Content-Location: /a",
      ], isStored: false),
    .init(
      testDescription: "9111 3.5 Authorization",
      fields: ["Cache-Control: max-age=600", "Content-Location: /a"],
      asked: ["Authorization: alice"], isStored: false),
    .init(
      testDescription: "B5 an unkeyed field may have shaped it",
      fields: ["Cache-Control: max-age=600", "Content-Location: /a"], asked: ["X-Forwarded-Host: evil.test"],
      isStored: false),
    .init(
      testDescription: "9110 9.3.3 created elsewhere", status: 201,
      fields: [
        "Cache-Control: max-age=600", "Content-Location: /a",
      ], isStored: false),
  ]

  @Test(
    "a POST's answer serves GET and HEAD where it says that it is the target's own, and never a POST",
    arguments: posts)
  func post(_ row: Post) throws {
    let stage = try Stage { request, connection in
      let fields = request.method == "POST" ? row.fields : ["Cache-Control: max-age=600"]
      try connection.readBody()
      try connection.answer(row.status, fields, "\(request.method) \(request.number)")
    }
    let client = try stage.daemon.connect()
    _ = try client.get("/a")
    try client.send(
      (["POST /a HTTP/1.1", "Host: localhost", "Content-Length: 2"] + row.asked).joined(separator: "\r\n")
        + "\r\n\r\nhi")
    #expect(try client.response().text == "POST 2")
    let next = try client.get("/a")
    #expect(
      next.isHit == row.isStored && next.text == (row.isStored ? "POST 2" : "GET 3"), "\(next.head.raw)")
    try client.request("POST", "/a", ["Content-Length: 0"])
    #expect(!(try client.response().isHit))
  }
}

/// Whether a request came after the invalidation.
private func comesAfter(_ request: OriginRequest) -> Bool { request["X-Now"] == "new" }
