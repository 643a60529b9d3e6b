// A private domain between clients with credentials and an origin that answers each by them; and what becomes of
// cookies in shared ones (TRUST B7, F6).

import Testing

@Suite("Two users never see each other's answers")
struct PrivateDomainTests {
  private static let name = "default"

  /// An origin that answers everyone by name, with the directives that the path asks for.
  private func stage(_ settings: String...) throws -> Stage {
    try Stage(set: settings.map { "domain.\(Self.name).\($0)" }) { request, connection in
      let directives =
        switch request.target {
        case "/private": ["Cache-Control: private, max-age=60"]
        case "/fresh": ["Cache-Control: max-age=60"]
        case "/guessed": ["Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT"]
        case "/stale": ["Cache-Control: private, max-age=1, stale-while-revalidate=900", "Age: 9"]
        case "/cookie": ["Cache-Control: max-age=60", "Set-Cookie: id=\(request.number)"]
        default: ["ETag: \"\(request["Authorization"] ?? "none")\"", "Cache-Control: private, no-cache"]
        }
      let who = [request["Authorization"], request["Cookie"]].compactMap(\.self).joined(separator: "+")
      try connection.answer(200, directives, who.isEmpty ? "nobody" : who)
    }
  }

  private static let users = [
    ["Authorization: alice"], ["Authorization: bob"], ["Cookie: carol"], ["Cookie: dave"],
    ["Authorization: alice", "Cookie: carol"], ["Authorization: alice", "Cookie: dave"], [],
  ]

  @Test(
    "in a private domain each user is served from a store of one's own",
    arguments: ["/private", "/fresh", "/guessed", "/stale", "/validated"])
  func privateDomain(path: String) throws {
    let stage = try stage("scope=private")
    for round in 0..<3 {
      for user in Self.users.shuffled() {
        let response = try stage.get(path, user)
        let name = user.map { $0.drop { $0 != ":" }.dropFirst(2) }.joined(separator: "+")
        #expect(response.text == (name.isEmpty ? "nobody" : name))
        if round > 0, !user.isEmpty, path != "/validated" {
          #expect(response.isHit, "\(user) \(response.head.raw)")
        }
      }
    }
  }

  @Test("in a private domain, who sends no credentials is given nothing that is private")
  func nobody() throws {
    let stage = try stage("scope=private")
    for _ in 0..<2 {
      #expect(try !stage.get("/private", ["X-Api-Key: one"]).isHit)
      #expect(try !stage.get("/private").isHit)
    }
    _ = try stage.get("/fresh")
    #expect(try stage.get("/fresh").isHit)
  }

  @Test("an unsafe request ends what is stored for its own sender")
  func invalidation() throws {
    let stage = try stage("scope=private")
    for user in [["Cookie: alice"], ["Cookie: bob"]] { _ = try stage.get("/private", user) }
    let client = try stage.daemon.connect()
    try client.request("POST", "/private", ["Cookie: alice", "Content-Length: 0"])
    _ = try client.response(to: "POST")
    #expect(try !stage.get("/private", ["Cookie: alice"]).isHit)
    #expect(try stage.get("/private", ["Cookie: bob"]).isHit)
  }

  @Test(
    "in a shared domain, what Cookie or Authorization brought is nobody else's, whatever the domain's settings",
    arguments: [
      ["ttl=1h"], ["policy=cache-first", "ttl=1h"], ["policy=cache-then-network"],
      ["stale=1h", "ttl-min=1h"],
    ])
  func sharedDomain(settings: [String]) throws {
    let stage = try Stage(set: settings.map { "domain.\(Self.name).\($0)" }) { request, connection in
      let who = request["Cookie"] ?? request["Authorization"] ?? "nobody"
      try connection.answer(200, ["Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT"], who)
    }
    for user in ["Cookie: alice", "Cookie: bob", "Authorization: carol", "Cookie: alice"] {
      #expect(try user.hasSuffix(stage.get("/a", [user]).text))
    }
    #expect(try stage.get("/a").text == "nobody")
  }

  @Test("a cookie is stored, stripped or refused as the domain says")
  func setCookie() throws {
    let stored = try stage()
    #expect(try stored.get("/cookie")["Set-Cookie"] == "id=1")
    #expect(try stored.get("/cookie")["Set-Cookie"] == "id=1")
    let stripped = try stage("set-cookie=strip")
    #expect(try stripped.get("/cookie")["Set-Cookie"] == nil)
    let hit = try stripped.get("/cookie")
    #expect(hit.isHit && hit["Set-Cookie"] == nil)
    let refused = try stage("set-cookie=refuse")
    #expect(try refused.get("/cookie")["Set-Cookie"] == "id=1")
    #expect(try refused.get("/cookie")["Set-Cookie"] == "id=2")
    #expect(try refused.get("/cookie").cacheStatus.contains("detail=set-cookie-refused"))
  }

  @Test("a domain may take no notice of clients' directives, only-if-cached among them")
  func requestDirectives() throws {
    let stage = try stage("request-directives=false")
    #expect(try stage.get("/fresh", ["Cache-Control: only-if-cached"]).status == 200)
    for directive in ["no-cache", "max-age=0", "no-store", "min-fresh=900"] {
      #expect(try stage.get("/fresh", ["Cache-Control: \(directive)"]).isHit)
    }
    #expect(try stage.get("/fresh", ["Pragma: no-cache"]).isHit)
    #expect(stage.origin.requests.count == 1)
  }

  @Test("targeted fields are obeyed, and passed on")
  func targeted() throws {
    let stage = try Stage { request, connection in
      try connection.answer(200, ["Cache-Control: no-store", "CDN-Cache-Control: max-age=60"], "a")
    }
    _ = try stage.get("/a")
    let hit = try stage.get("/a")
    #expect(hit.isHit && hit["CDN-Cache-Control"] == "max-age=60" && hit["Cache-Control"] == "no-store")
  }

  @Test("negative-ttl stores errors, and no others")
  func negative() throws {
    let stage = try Stage(set: ["domain.\(Self.name).negative-ttl=404=1m"]) { request, connection in
      try connection.answer(request.target == "/404" ? 404 : 500, [], "\(request.number)")
    }
    #expect(try stage.get("/404").text == stage.get("/404").text)
    #expect(try stage.get("/500").text != stage.get("/500").text)
  }
}
