// The article "Your first provider", compiled and run. Its code stands here word for word, and a test compares both.

import Foundation
import RegentCaching
import RegentHTTP
import RegentStorage
import Synchronization
import Testing

@testable import Regent

/// Answers `/ping`, for monitoring, without asking any origin.
struct Ping: Provider {
  let name = "ping"

  func perform(_ request: Request) async throws -> Response {
    guard request.pathBytes.elementsEqual("/ping".utf8) else { throw Unhandled() }
    return Response(status: 200, text: "pong\n")
  }
}

/// Counts how often nobody found what was asked for.
final class MissingPaths: ResponseHandler {
  let name = "missing"
  let count = Atomic<Int>(0)

  func perform(_ request: Request) async throws -> Response { throw Unhandled() }

  func handle(_ response: Response, for request: Request) async {
    if response.status == 404 { count.add(1, ordering: .relaxed) }
  }
}

/// The origin of this test: it has nothing.
private struct EmptyOrigin: Provider {
  let name = "origin"

  func perform(_ request: Request) async throws -> Response { Response(status: 404, text: "No.\n") }
}

@Suite("Your first provider")
struct FirstProviderTests {
  private let github = RequestDomain(0)
  private let registry = RequestDomain(70)
  private let missing = MissingPaths()

  private var chain: Chain {
    let store = MemoryStore(budget: 1 << 20, maxObject: 1 << 10)
    let origin = EmptyOrigin()
    let chain = Chain.Builder()
      .next(MemoryProvider(store: store))
      .next(missing)
      .next(Ping(), domains: [github, registry])
      .next(origin)
      .build()
    return chain
  }

  private func request(_ path: String, domain number: Int) throws -> Request {
    var parser = RequestParser(limits: MessageLimits())
    let head = try #require(try parser.parse(Array("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n".utf8).span))
    let routed = RoutedHead(
      head: head, domain: Domain(number: number, name: "a", policy: CachePolicy(), keyPrefix: []),
      path: head.target.path, query: nil, key: RecordKey(Array(path.utf8)), directives: .none)
    return Request(
      routed, directives: .none, wall: 1_000_000, now: 1, body: nil,
      meters: LoopMeters(domains: number + 1, providers: 4))
  }

  @Test("it answers the requests of its domains, also of those beyond the 64th", arguments: [0, 70])
  func answers(domain: Int) async throws {
    #expect(await chain.respond(to: try request("/ping", domain: domain)).status == 200)
    #expect(missing.count.load(ordering: .relaxed) == 0)
  }

  @Test(
    "it is not asked for other domains, nor does it answer other paths", arguments: [("/ping", 1), ("/", 0)])
  func passes(path: String, domain: Int) async throws {
    #expect(await chain.respond(to: try request(path, domain: domain)).status == 404)
    #expect(missing.count.load(ordering: .relaxed) == 1)
  }

  @Test("the article's code is the code of this test")
  func article() throws {
    let tests = try String(contentsOfFile: #filePath, encoding: .utf8)
    let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..").standardized
    let article = try String(
      contentsOf: root.appendingPathComponent("Sources/Regent/Regent.docc/FirstProvider.md"), encoding: .utf8)
    let blocks = article.components(separatedBy: "```swift\n").dropFirst()
      .compactMap { $0.components(separatedBy: "```\n").first }
    #expect(blocks.count == 3)
    let code = words(tests)
    for block in blocks { #expect(code.contains(words(block)), "\(block)") }
  }

  /// The text with each run of white space as one blank: indentation is not the article's matter.
  private func words(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}
