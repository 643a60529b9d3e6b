// What the tests of the product share: requests from text, responses and candidates in a line, providers that play.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage
import Testing

@testable import Regent

/// The moment at which the tests' requests arrive: Tue, 14 Nov 2023 22:13:20 GMT.
let arrival: Int64 = 1_700_000_000

/// The head of a request in text, without its last empty line.
func head(_ lines: String...) throws -> RequestHead {
  let bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  return try #require(try parse(bytes))
}

private func parse(_ bytes: [UInt8]) throws(ParseError) -> RequestHead? {
  var parser = RequestParser()
  return try parser.parse(bytes.span)
}

/// A request for a domain, as the server would make it.
func request(
  _ line: String = "GET / HTTP/1.1", _ fields: String..., domain: Int = 0, now: Int64 = 1_000_000_000,
  policy: CachePolicy = CachePolicy(), names: DomainNames = DomainNames(),
  meters: LoopMeters? = nil, refusal: Failure? = nil,
  candidate: Candidate? = nil,
  forwarded: FwdReason = .bypass
) throws -> Request {
  let text = ([line, "Host: example.org"] + fields).joined(separator: "\r\n")
  let head = try head(text)
  let path = head.fields.bytes[head.target.path]
  var key: [UInt8] = []
  CacheKey.appendTarget(path: path, query: head.target.query.map { head.fields.bytes[$0] }, onto: &key)
  let directives = RequestDirectives(head.fields)
  let routed = RoutedHead(
    head: head,
    domain: Domain(number: domain, name: "domain\(domain)", policy: policy, keyPrefix: [], names: names),
    path: head.target.path, query: head.target.query, key: RecordKey(key), directives: directives,
    refusal: refusal)
  return Request(
    routed, directives: directives, wall: arrival, now: now, body: nil,
    candidate: candidate, forwarded: forwarded,
    meters: meters ?? LoopMeters(domains: domain + 1, providers: 8))
}

/// Fields from lines of `Name: value`.
func fields(_ lines: String...) -> Fields { fields(lines) }

func fields(_ lines: [String]) -> Fields {
  var result = Fields()
  for line in lines {
    let parts = line.split(separator: ":", maxSplits: 1)
    let value = parts[1].drop { $0 == " " }
    if !result.append(named: parts[0].utf8, value.utf8) { Issue.record("\(line) cannot stand in a message") }
  }
  return result
}

func response(_ status: Int = 200, _ text: String = "") -> Response {
  Response(
    status: status, fields: .parsed(Fields()), body: text.isEmpty ? .empty : .whole(Slice(Array(text.utf8))))
}

/// A stored response that is stale by `staleness` seconds at ``arrival``.
func candidate(_ text: String = "stored", staleness: Int32 = 10, staleIfError: Int32 = 0) -> Candidate {
  let metadata = StoredMetadata(
    status: 200, responseTime: arrival - 100, date: arrival - 100, lifetime: 100 - staleness,
    staleIfError: staleIfError)
  return Candidate(metadata: metadata, fields: fields("X-From: store"), body: .whole(Slice(Array(text.utf8))))
}

extension Response {
  /// The body's bytes as text, where it is whole.
  var text: String {
    switch body {
    case .whole(let slice): String(decoding: slice.bytes, as: UTF8.self)
    case .composed(let pieces): String(decoding: pieces.slices.flatMap(\.bytes), as: UTF8.self)
    case .empty, .stream, .file: ""
    }
  }
}

/// What happened, in order, from any thread.
final class Journal: Sendable {
  private let lines = Lock<[String]>([])

  func note(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
  func count(_ line: String) -> Int { all.count { $0 == line } }
}

/// A provider that notes its calls and does as it is told.
final class Player: Provider {
  let name: String
  private let journal: Journal
  private let play: @Sendable (Request) async throws -> Response

  init(_ name: String, _ journal: Journal, _ play: @escaping @Sendable (Request) async throws -> Response) {
    (self.name, self.journal, self.play) = (name, journal, play)
  }

  func perform(_ request: Request) async throws -> Response {
    journal.note("perform \(name)")
    return try await play(request)
  }
}

/// A provider that also notes which responses it is handed.
final class Keeper: ResponseHandler {
  let name: String
  private let journal: Journal
  private let play: @Sendable (Request) async throws -> Response

  init(
    _ name: String, _ journal: Journal,
    _ play: @escaping @Sendable (Request) async throws -> Response = { _ in
      throw Unhandled()
    }
  ) {
    (self.name, self.journal, self.play) = (name, journal, play)
  }

  func perform(_ request: Request) async throws -> Response {
    journal.note("perform \(name)")
    return try await play(request)
  }

  func handle(_ response: Response, for request: Request) async {
    journal.note("handle \(name) \(response.status)")
  }
}

/// Runs `body` as a task on a loop of its own, which is stopped behind it.
func onLoop<Result: Sendable>(
  _ body: @escaping @Sendable (EventLoop) async throws -> Result
) async throws -> Result {
  let group = try LoopGroup(count: 1)
  defer { group.stop() }
  let loop = group.loops[0]
  return try await Task(executorPreference: loop) { try await body(loop) }.value
}
