// Canned answers from the configuration or a folder: an origin that is always there, for trying Regent out and for
// working without a network. Its answers are cached by the same rules as anybody's.

import RegentCaching
import RegentConfig
import RegentHTTP
import RegentLoop

/// Answers with the fixtures of the request's domain.
public final class FixturesProvider: Provider {
  public let name = "fixtures"
  private let fixtures: [[String: Prepared]]
  private let folders: [FixtureFolder?]

  private struct Prepared: Sendable {
    let status: Int
    let fields: Fields
    let body: Slice
    let delay: Duration?
    let age: Int32?
  }

  /// Reads the fixtures' files once; `configuration` was checked before.
  init(_ configuration: Configuration, files: BlockingPool) throws(SystemError) {
    var all: [[String: Prepared]] = []
    for domain in configuration.domains {
      var prepared: [String: Prepared] = [:]
      for fixture in domain.fixtures { prepared[fixture.path] = try Self.prepare(fixture) }
      all.append(prepared)
    }
    fixtures = all
    folders = configuration.domains.map { domain in domain.folder.map { FixtureFolder($0, files: files) } }
  }

  private static func prepare(_ fixture: Fixture) throws(SystemError) -> Prepared {
    var fields = Fields()
    for field in fixture.fields {
      let known = FieldName(Array(field.name.utf8)[...])
      if known == .other {
        fields.append(named: field.name.utf8, field.value.utf8)
      } else {
        fields.append(known, field.value.utf8)
      }
    }
    if !fields.contains(.contentType) { fields.append(.contentType, "text/plain; charset=utf-8".utf8) }
    let body: Slice
    switch fixture.body {
    case .text(let text): body = Slice(Array(text.utf8))
    case .file(let path): body = Slice(try FileReader.read(path, limit: FixtureFolder.largestFile))
    }
    return Prepared(
      status: fixture.status, fields: fields, body: body, delay: fixture.delay, age: fixture.age?.wholeSeconds
    )
  }

  public func perform(_ request: Request) async throws -> Response {
    guard request.domain.number < fixtures.count else { throw Unhandled() }
    let path = String(decoding: request.pathBytes, as: UTF8.self)
    if let fixture = fixtures[request.domain.number][path] { return try await answer(fixture, request) }
    if let folder = folders[request.domain.number], let response = await folder.answer(path, request) {
      return response
    }
    throw Unhandled()
  }

  private func answer(_ fixture: Prepared, _ request: Request) async throws -> Response {
    try request.mayFetch()
    if let delay = fixture.delay, let loop = EventLoop.current { await loop.sleep(for: delay) }
    var fields = fixture.fields
    if let age = fixture.age, age > 0 { fields.append(.age, "\(age)".utf8) }
    return Response(fetched: fixture.status, fields: fields, body: .whole(fixture.body), request)
  }
}

extension Request {
  /// Throws for a request that wants stored responses only (RFC 9111 section 5.2.1.7).
  func mayFetch() throws(Failure) {
    if directives.onlyIfCached { throw .onlyIfCached }
  }
}

extension Response {
  /// A response as an origin on this machine gives it, with what the caches need to know.
  init(fetched status: Int, fields: Fields, body: ResponseBody, _ request: Request) {
    let now = EventLoop.current?.clock.wall ?? request.wall
    var fields = fields
    if !fields.contains(.date) {
      var date: [UInt8] = []
      HTTPDate.append(now, to: &date)
      fields.append(.date, date)
    }
    self.init(
      status: status, fields: .parsed(fields), body: body,
      cacheStatus: CacheStatus(.forwarded(request.forwarded), detail: request.cause?.detail ?? .none))
    storability = Storability.decide(
      method: request.method, requestFields: request.head.fields, requestDirectives: request.directives,
      status: UInt16(clamping: status), responseFields: fields, policy: request.domain.policy)
    if case .refuse(let reason) = storability, request.forwarded != .bypass, request.forwarded != .method {
      cacheStatus.detail = .refused(reason)
    }
    guard storability.keeps else { return }
    fields = request.domain.policy.stripped(fields, storability)
    self.fields = .parsed(fields)
    let known = StoredMetadata(
      status: UInt16(clamping: status), fields: fields, requestFields: request.head.fields, requestTime: now,
      responseTime: now, policy: request.domain.policy, hasQuery: request.query != nil)
    metadata = known
    cacheStatus.ttl = known.remainingFreshness(policy: request.domain.policy, now: now)
  }
}
