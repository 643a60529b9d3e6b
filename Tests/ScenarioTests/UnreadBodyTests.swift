// Bodies that an origin sends and nobody reads: a 304 in their place, a stale answer in their place, or a revalidation
// behind a client's back. None of them may keep its connection to the origin, of which there are few.

import Testing

@Suite("Bodies that nobody reads")
struct UnreadBodyTests {
  /// What makes the daemon leave a body unread, by the answers before it and the request that meets it.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let first: [String]
    let status: Int
    let fields: [String]

    static let all = [
      Case(
        testDescription: "a client's own copy is current", first: ["Cache-Control: no-store"], status: 200,
        fields: ["If-None-Match: \"v\""]),
      Case(
        testDescription: "a revalidation behind brings what may not be stored",
        first: ["Cache-Control: max-age=1, stale-while-revalidate=600", "Age: 60"], status: 200, fields: []),
      Case(
        testDescription: "a stale answer takes an error's place",
        first: ["Cache-Control: max-age=1, stale-if-error=600", "Age: 60"], status: 503, fields: []),
    ]
  }

  @Test("a body that is left unread gives its connection free", arguments: Case.all)
  func unread(_ kind: Case) throws {
    let large = String(repeating: "z", count: 3_000_000)
    let stage = try Stage(set: ["limits.origin-connections=2"], workers: 1) { request, connection in
      if request.target == "/last" { return try connection.answer(200, [], "served") }
      if request.number == 1 { return try connection.answer(200, kind.first, "first") }
      try connection.answer(kind.status, ["Cache-Control: no-store", "ETag: \"v\""], large)
    }
    for number in 0..<5 {
      _ = try stage.get("/\(number)")
      #expect([200, 304].contains(try stage.get("/\(number)", kind.fields).status))
      #expect(eventually { stage.origin.count("/\(number)") == 2 })
    }
    #expect(try stage.get("/last").text == "served")
  }
}
