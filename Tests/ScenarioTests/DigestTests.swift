// What origins say of their content's digests (RFC 9530), and what is stored of content that is something else: nothing,
// by nobody. Every client gets the bytes that the origin sent.

import TestKit
import Testing

@Suite("Digests of content")
struct DigestTests {
  /// How a body comes, and whether that is before its head goes on.
  enum Framing: CaseIterable, Sendable {
    case empty, whole, streamed, chunked, smallChunks, untilClose

    var count: Int {
      switch self {
      case .empty: 0
      case .whole, .smallChunks: 10
      case .streamed, .chunked, .untilClose: 300_000
      }
    }

    var isKnownAtOnce: Bool { self == .empty || self == .whole }

    func send(_ fields: [String], _ body: [UInt8], _ connection: OriginConnection) throws {
      var lines = ["HTTP/1.1 200 OK", "Cache-Control: max-age=600"] + fields
      switch self {
      case .empty, .whole, .streamed: lines.append("Content-Length: \(body.count)")
      case .chunked, .smallChunks: lines.append("Transfer-Encoding: chunked")
      case .untilClose: lines.append("Connection: close")
      }
      let head = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
      if isKnownAtOnce { return try connection.send(head + body) }
      try connection.send(head)
      switch self {
      case .empty, .whole: break
      case .streamed: for part in body.parts(50_000) { try connection.send(part) }
      case .chunked, .smallChunks:
        for part in body.parts(self == .chunked ? 70_000 : 3) {
          try connection.send(Array("\(String(part.count, radix: 16))\r\n".utf8) + part + [13, 10])
        }
        try connection.send("0\r\n\r\n")
      case .untilClose:
        try connection.send(body)
        connection.close()
      }
    }
  }

  struct Case: CustomTestStringConvertible, Sendable {
    let framing: Framing
    let field: String
    var testDescription: String { "\(framing), \(field)" }

    static let all = Framing.allCases.flatMap { framing in
      ["Content-Digest", "Repr-Digest"].map { Case(framing: framing, field: $0) }
    }
  }

  private static func content(_ count: Int) -> [UInt8] { Pattern(for: "digest").bytes(count: count) }

  private static func mismatches(_ stage: Stage) throws -> (faults: Int, notStored: Int) {
    let faults = try stage.daemon.figures("origins", "faults")
    let notStored = try stage.daemon.figures("domains", "default", "not-stored")
    return (faults["digest-mismatch"] ?? 0, notStored["digest-mismatch"] ?? 0)
  }

  @Test("what is as it should be is stored", arguments: Case.all)
  func right(_ row: Case) throws {
    let body = Self.content(row.framing.count)
    let stage = try Stage { _, connection in
      try row.framing.send(["\(row.field): \(SHA256.member(body))"], body, connection)
    }
    let first = try stage.get("/a")
    #expect(isSame(first.body, body) && first.cacheStatus.contains("; stored"), "\(first.head.raw)")
    #expect(try eventually { try stage.get("/a").isHit })
    let second = try stage.get("/a")
    #expect(isSame(second.body, body) && second[row.field] == SHA256.member(body))
    #expect(try Self.mismatches(stage) == (0, 0))
  }

  @Test("what is something else goes to its client, is counted, and is not stored", arguments: Case.all)
  func wrong(_ row: Case) throws {
    let body = Self.content(row.framing.count)
    let other = SHA256.member(body + [1])
    let stage = try Stage { _, connection in
      try row.framing.send(["\(row.field): \(other)"], body, connection)
    }
    for number in 1...2 {
      let answer = try stage.get("/a")
      #expect(isSame(answer.body, body) && answer[row.field] == other, "\(answer.head.raw)")
      #expect(answer.cacheStatus.contains("fwd=uri-miss"), "\(answer.head.raw)")
      #expect(answer.cacheStatus.contains("; stored") != row.framing.isKnownAtOnce, "\(answer.head.raw)")
      #expect(
        answer.cacheStatus.contains("detail=digest-mismatch") == row.framing.isKnownAtOnce,
        "\(answer.head.raw)")
      #expect(try eventually { try Self.mismatches(stage) == (number, number) })
    }
    #expect(stage.origin.count("/a") == 2)
    #expect(try stage.daemon.figures("memory")["entries"] == 0)
    #expect(stage.daemon.log.contains("default: a response is not what its digest says, and is not stored"))
  }

  @Test(
    "one algorithm that is not met is enough, and what cannot be checked is as if it were not there",
    arguments: [
      (
        "sha-512=:3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==:",
        true
      ),
      (
        "sha-512=:3b81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==:",
        false
      ),
      ("sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:", true),
      (
        "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:, "
          + "sha-512=:3b81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==:",
        false
      ),
      ("md5=:AAAAAAAAAAAAAAAAAAAAAA==:", true), ("sha-256=:AAAA:", true), ("sha-256=\"no\"", true),
      ("sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:, &", true), ("", true),
    ])
  func algorithms(_ digest: String, isStored: Bool) throws {
    let stage = try Stage { _, connection in
      try connection.answer(200, ["Cache-Control: max-age=600", "Repr-Digest: \(digest)"], "abc")
    }
    #expect(try stage.get("/a").text == "abc")
    #expect(try stage.get("/a").isHit == isStored)
  }

  /// What an origin says of its trailers, and what comes there.
  struct Trailers: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let announced: String
    let lines: [String]
    let isMet: Bool

    static let content = Array("some content".utf8)
    static let (right, wrong) = (SHA256.member(content), SHA256.member([]))
    static let all = [
      Trailers("one that is met", "Content-Digest", ["Content-Digest: \(right)"], true),
      Trailers("one that is not", "Content-Digest", ["Content-Digest: \(wrong)"], false),
      Trailers("of the representation", "Expires, repr-digest", ["X: y", "repr-digest: \(wrong)"], false),
      Trailers(
        "two, of which one is not met", "Repr-Digest, Content-Digest",
        ["Repr-Digest: \(right)", "Content-Digest: \(wrong)"], false),
      Trailers("announced, and none comes", "Repr-Digest", [], true),
      Trailers("what cannot be checked", "Repr-Digest", ["Repr-Digest: sha-256=:AAAA:"], true),
      Trailers("what was not announced", "Expires", ["Repr-Digest: \(wrong)"], true),
    ]

    init(_ description: String, _ announced: String, _ lines: [String], _ isMet: Bool) {
      (testDescription, self.announced, self.lines, self.isMet) = (description, announced, lines, isMet)
    }
  }

  @Test("in trailers hold as in the head, where they were announced", arguments: Trailers.all, [true, false])
  func trailers(_ row: Trailers, inPieces: Bool) throws {
    let stage = try Stage { _, connection in
      let size = String(Trailers.content.count, radix: 16)
      let head = ["HTTP/1.1 200 OK", "Cache-Control: max-age=600", "Transfer-Encoding: chunked"]
      let lines = head + ["Trailer: \(row.announced)", "", size]
      let message =
        Array((lines.joined(separator: "\r\n") + "\r\n").utf8) + Trailers.content
        + Array((["", "0"] + row.lines + ["", ""]).joined(separator: "\r\n").utf8)
      for part in inPieces ? message.parts(7) : [message] { try connection.send(part) }
    }
    let first = try stage.get("/a")
    #expect(first.body == Trailers.content && first["Trailer"] == nil, "\(first.head.raw)")
    #expect(try Self.mismatches(stage) == (row.isMet ? 0 : 1, row.isMet ? 0 : 1))
    let second = try stage.get("/a")
    #expect(second.isHit == row.isMet && second.body == Trailers.content, "\(second.head.raw)")
  }

  @Test("of what is not stored all the same nothing is worked out")
  func notStored() throws {
    let stage = try Stage { _, connection in
      try connection.answer(200, ["Cache-Control: no-store", "Repr-Digest: \(SHA256.member([]))"], "abc")
    }
    let answer = try stage.get("/a")
    #expect(answer.cacheStatus.contains("detail=response-no-store"), "\(answer.head.raw)")
    #expect(try Self.mismatches(stage) == (0, 0))
  }

  @Test(
    "those who wait for the same get it, too, and whoever comes later asks again", arguments: [10, 300_000])
  func followers(_ count: Int) throws {
    let body = Self.content(count)
    let (asked, gate) = (Gate(), Gate())
    let stage = try Stage { request, connection in
      if request.number == 1 {
        asked.open()
        try gate.wait()
      }
      try Framing.streamed.send(["Repr-Digest: \(SHA256.member([]))"], body, connection)
    }
    let first = try stage.daemon.connect()
    try first.request("GET", "/a")
    try asked.wait()
    let others = try (0..<5).map { _ in try stage.daemon.connect() }
    for other in others { try other.request("GET", "/a") }
    #expect(try eventually { try stage.flight("waiting") == 5 })
    gate.open()
    for client in [first] + others { #expect(isSame(try client.response().body, body)) }
    #expect(stage.origin.requests.count == 1)
    #expect(try eventually { try Self.mismatches(stage).faults == 1 })
    #expect(isSame(try stage.get("/a").body, body))
    #expect(stage.origin.requests.count == 2)
  }

  @Test("an answer that is not what it should be leaves what is stored as it was", arguments: [10, 300_000])
  func revalidation(_ count: Int) throws {
    let body = Self.content(count)
    let stage = try Stage(workers: 1) { request, connection in
      let fields = [
        "Cache-Control: max-age=0, must-revalidate", "ETag: \"\(request.number)\"",
        "X-Number: \(request.number)",
      ]
      if request.number == 3 {
        #expect(request["If-None-Match"] == "\"1\"")
        return try connection.send(
          "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Digest: \(SHA256.member([]))\r\n\r\n")
      }
      let digest = SHA256.member(request.number == 1 ? body : [])
      let lines = ["HTTP/1.1 200 OK", "Content-Length: \(count)", "Repr-Digest: \(digest)"] + fields
      try connection.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
    }
    #expect(try stage.get("/a")["X-Number"] == "1")
    #expect(try eventually { try stage.daemon.figures("memory")["entries"] == 1 })
    #expect(try stage.get("/a")["X-Number"] == "2")
    let third = try stage.get("/a")
    // A 304's own digests are about content that it does not carry.
    #expect(third["X-Number"] == "1" && third.cacheStatus.contains("fwd-status=304"), "\(third.head.raw)")
    #expect(isSame(third.body, body))
    #expect(try Self.mismatches(stage).faults == 1)
  }

  @Test("the answer to a HEAD has digests of content that it does not carry")
  func head() throws {
    let body = Self.content(5000)
    let stage = try Stage(workers: 1) { request, connection in
      let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5000\r\n"
      try connection.send("\(head)Content-Digest: \(SHA256.member(body))\r\nETag: \"v\"\r\n\r\n")
      if request.method == "GET" { try connection.send(body) }
    }
    for _ in 0..<2 {
      let client = try stage.daemon.connect()
      try client.request("HEAD", "/a")
      #expect(try client.response(to: "HEAD").status == 200)
    }
    #expect(isSame(try stage.get("/a").body, body))
    #expect(try eventually { try stage.get("/a").isHit })
    #expect(try Self.mismatches(stage) == (0, 0))
  }

  // MARK: Parts

  private static let fresh = ["Cache-Control: max-age=600", "ETag: \"v1\""]

  @Test("a part is stored if it is what its Content-Digest says", arguments: [10, 300_000], [true, false])
  func part(_ count: Int, isRight: Bool) throws {
    let content = Content("part", count: count)
    let digest = SHA256.member(isRight ? Array(content.bytes[2...]) : content.bytes)
    // Repr-Digest is about the whole, which nobody has.
    let fields = Self.fresh + ["Content-Digest: \(digest)", "Repr-Digest: \(SHA256.member([]))"]
    let stage = try Stage(workers: 1) { request, connection in try content.answer(request, connection, fields)
    }
    let first = try stage.get("/a", ["Range: bytes=2-"])
    #expect(first.status == 206 && isSame(first.body, Array(content.bytes[2...])))
    if !isRight { #expect(try eventually { try Self.mismatches(stage).faults == 1 }) }
    let second = try stage.get("/a", ["Range: bytes=3-"])
    #expect(second.isHit == isRight && isSame(second.body, Array(content.bytes[3...])), "\(second.head.raw)")
    // Of a piece of it the digest would be another.
    #expect((second["Content-Digest"] == nil) == isRight, "\(second.head.raw)")
  }

  @Test("a range of what is stored has no Content-Digest, which would be the whole's")
  func range() throws {
    let content = Content("range", count: 1000)
    let digests = [
      "Content-Digest: \(SHA256.member(content.bytes))", "Repr-Digest: \(SHA256.member(content.bytes))",
    ]
    let stage = try Stage(workers: 1) { _, connection in
      try content.send(200, Self.fresh + digests, content.bytes[...], connection)
    }
    #expect(try stage.get("/a")["Content-Digest"] != nil)
    for range in ["0-9", "0-9,20-29"] {
      let cut = try stage.get("/a", ["Range: bytes=\(range)"])
      #expect(cut.status == 206 && cut.isHit && cut["Content-Digest"] == nil, "\(cut.head.raw)")
      #expect(cut["Repr-Digest"] == SHA256.member(content.bytes))
    }
    #expect(try stage.get("/a")["Content-Digest"] != nil)
  }

  @Test("what parts become is stored if it is what Repr-Digest says", arguments: [true, false])
  func joined(isRight: Bool) throws {
    let content = Content("joined", count: 300_000)
    let fields = Self.fresh + ["Repr-Digest: \(SHA256.member(isRight ? content.bytes : []))"]
    let stage = try Stage(workers: 1) { request, connection in
      try content.answer(request, connection, request["Range"] == nil ? Self.fresh : fields)
    }
    for range in ["100000-", "0-99999"] {
      #expect(try stage.get("/a", ["Range: bytes=\(range)"]).status == 206)
    }
    guard !isRight else { return #expect(try eventually { try stage.get("/a").isHit }) }
    #expect(try eventually { try Self.mismatches(stage) == (1, 1) })
    #expect(try eventually { try stage.daemon.figures("memory")["entries"] == 0 })
    let whole = try stage.get("/a")
    #expect(whole.status == 200 && isSame(whole.body, content.bytes) && !whole.isHit, "\(whole.head.raw)")
    #expect(stage.origin.requests.last?["Range"] == nil)
  }

  @Test(
    "what completes parts is stored with them if it is what it should be", arguments: [10, 300_000],
    [true, false])
  func completing(_ count: Int, isRight: Bool) throws {
    let content = Content("completing", count: count)
    let half = count / 2
    let stage = try Stage(workers: 1) { request, connection in
      let digest = SHA256.member(isRight || request.number != 2 ? Array(content.bytes[half...]) : [])
      let own = request.number == 2 ? ["Content-Digest: \(digest)"] : []
      try content.answer(request, connection, Self.fresh + own)
    }
    #expect(try stage.get("/a", ["Range: bytes=0-\(half - 1)"]).status == 206)
    let whole = try stage.get("/a")
    #expect(whole.status == 200 && isSame(whole.body, content.bytes), "\(whole.head.raw)")
    #expect(whole["Content-Digest"] == nil, "\(whole.head.raw)")
    if !isRight { #expect(try eventually { try Self.mismatches(stage).faults == 1 }) }
    let again = try stage.get("/a")
    #expect(again.isHit == isRight && isSame(again.body, content.bytes), "\(again.head.raw)")
  }
}

extension DigestTests {
  @Test(
    "the disk stores what is as it should be, and nothing else", arguments: Framing.allCases, [true, false])
  func disk(_ framing: Framing, isRight: Bool) throws {
    let body = Self.content(framing.count)
    let folder = try TemporaryFolder()
    let stage = try Stage(set: ["disk.path=\(folder.path("cache"))"]) { _, connection in
      try framing.send(["Repr-Digest: \(SHA256.member(isRight ? body : body + [1]))"], body, connection)
    }
    #expect(isSame(try stage.get("/a").body, body))
    guard !isRight else { return #expect(try eventually { try stage.daemon.disk("insertions") == 1 }) }
    #expect(try eventually { try Self.mismatches(stage).faults == 1 })
    #expect(try !stage.get("/a").isHit)
    #expect(try stage.daemon.disk("insertions") == 0 && stage.daemon.figures("memory")["entries"] == 0)
  }

  @Test(
    "nor does any cache store what was completed and is not what Repr-Digest says", arguments: [10, 300_000])
  func completed(_ count: Int) throws {
    let content = Content("completed", count: count)
    let folder = try TemporaryFolder()
    let stage = try Stage(set: ["disk.path=\(folder.path("cache"))"], workers: 1) { request, connection in
      let digest = request.number < 3 ? SHA256.member([]) : SHA256.member(content.bytes)
      try content.answer(request, connection, Self.fresh + ["Repr-Digest: \(digest)"])
    }
    #expect(try stage.get("/a", ["Range: bytes=0-\(count / 2)"]).status == 206)
    #expect(isSame(try stage.get("/a").body, content.bytes))
    #expect(try eventually { try Self.mismatches(stage).faults >= 1 })
    #expect(try eventually { try stage.daemon.figures("memory")["entries"] == 0 })
    #expect(try stage.daemon.disk("insertions") == 0)
    let whole = try stage.get("/a")
    #expect(!whole.isHit && isSame(whole.body, content.bytes), "\(whole.head.raw)")
    #expect(try eventually { try stage.get("/a").isHit })
  }
}

extension [UInt8] {
  fileprivate func parts(_ count: Int) -> [[UInt8]] {
    stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
  }
}
