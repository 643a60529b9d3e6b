// One sequence: a domain with its rules, an origin, a clock and a model of what may be stored, from nothing on.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage
import Testing

@testable import Regent

/// Runs random exchanges one after the other and asks the model about each answer.
final class RandomRun {
  private let seed: UInt64
  private var world: World
  private let model: Model
  private var liveness = Liveness()
  private let origin: ScriptedOrigin
  private let chain: Chain
  private let domain: Domain
  private let meters = LoopMeters(domains: 1, providers: 2)
  private var tally = Tally()
  /// How many revalidations behind answers began.
  private var begun = 0
  private var journal: [(target: String, line: () -> String)] = []

  init(seed: UInt64) throws {
    self.seed = seed
    world = World(seed: seed)
    let rules = world.rules()
    model = Model(rules)
    origin = try ScriptedOrigin()
    let store = MemoryStore(budget: 8 << 20, maxObject: 1 << 20, shards: 1)
    chain = Chain.Builder().next(MemoryProvider(store: store)).next(origin).build()
    domain = Domain(number: 0, name: "model", policy: CachePolicy(rules), keyPrefix: [])
  }

  func run(exchanges: Int) async throws -> Tally {
    for _ in 0..<exchanges {
      world.step()
      try await exchange()
      tally.exchanges += 1
      if !tally.findings.isEmpty { break }
    }
    return tally
  }

  // MARK: One exchange

  private func exchange() async throws {
    let asked = world.request()
    let request = try request(asked)
    prepare(asked)
    let owed = liveness.owes(asked, model, now: world.wall)
    let response = await chain.respond(to: request)
    // As ClientConnection lets it leave.
    var boundaries = Boundaries(seed: 1, salt: 2)
    let leaving =
      request.routed.isConditional
      ? response.conditional(on: request).cut(for: request, &boundaries) : response
    let answer = Answer(leaving)
    let messages = takeMessages()
    model.dates = world.dates
    note(asked, answer, messages, behind: false)
    let why =
      model.forbids(answer, to: asked, after: messages, now: world.wall) ?? broken(owed, answer, messages)
    if let why { found(why, asked) }
    count(answer, messages)
    if owed == nil || why == nil { learn(messages, asked, answer.serial) }
    try await behind(asked, answer)
    world.wall += messages.last.map { $0.responseTime - $0.requestTime } ?? 0
  }

  private func prepare(_ asked: Asked) {
    let plan = world.plan(for: asked)
    origin.script.withLock {
      $0.plan = plan
      $0.wall = world.wall
    }
  }

  private func takeMessages() -> [Told] {
    origin.script.withLock {
      let told = $0.told
      $0.told = []
      return told
    }
  }

  private func learn(_ messages: [Told], _ asked: Asked, _ served: Int?) {
    model.exchanges += 1
    model.learn(messages, from: asked, about: served)
    liveness.learn(messages, asked, served, model)
  }

  /// Lets the revalidation behind the answer run to its end, if there is one.
  private func behind(_ asked: Asked, _ answer: Answer) async throws {
    guard let loop = EventLoop.current, meters.domains[0].revalidations.count > begun else { return }
    begun = meters.domains[0].revalidations.count
    prepare(asked)
    let before = origin.count
    while origin.count == before { await loop.yieldTurn() }
    await loop.yieldTurn()
    let messages = takeMessages()
    model.dates = world.dates
    note(asked, answer, messages, behind: true)
    // What is fetched behind an answer is asked without the client's wishes.
    var asked = asked
    asked.method = messages.last?.asked.method ?? "GET"
    asked.fields.all.removeAll { $0.name == "cache-control" || $0.name == "pragma" }
    learn(messages, asked, answer.serial)
  }

  private func broken(_ owed: Int?, _ answer: Answer, _ messages: [Told]) -> String? {
    guard let owed, owed != answer.serial || !messages.isEmpty else { return nil }
    return "Liveness: number \(owed) is stored and fresh, but the answer is number \(answer.serial ?? 0)"
  }

  private func count(_ answer: Answer, _ messages: [Told]) {
    tally.owed = liveness.owed
    if answer.status == 304 { tally.notModified += 1 }
    let isCut = answer.status == 206 && messages.last?.body != answer.body
    if isCut || answer.status == 200 && messages.last?.status == 206 { tally.parts += 1 }
    guard let serial = answer.serial, messages.last?.serial != serial else { return }
    tally.stored += 1
    if messages.last?.status == 304 { tally.confirmed += 1 }
    if answer.isStale { tally.stale += 1 }
  }

  // MARK: What is told of a finding

  private func note(_ asked: Asked, _ answer: Answer, _ messages: [Told], behind: Bool) {
    let wall = world.wall
    journal.append((asked.target, { Self.line(asked, answer, messages, wall, behind) }))
  }

  private func found(_ why: String, _ asked: Asked) {
    let lines = journal.filter { $0.target == asked.target }.suffix(12).map { $0.line() }
    tally.findings.append(
      """
      \(why)
      sequence seed \(seed), exchange \(tally.exchanges), \(model.rules)
      \(lines.joined(separator: "\n"))
      """)
  }

  private static func line(
    _ asked: Asked, _ answer: Answer, _ messages: [Told], _ wall: Int64, _ behind: Bool
  ) -> String {
    func flat(_ lines: Lines) -> String {
      lines.all.map { "\($0.name): \($0.value)" }.joined(separator: "; ")
    }
    var text = "  \(wall)\(behind ? " behind" : "") \(asked.method) \(asked.target) [\(flat(asked.fields))]"
    for message in messages {
      text += "\n    origin after \(message.responseTime - message.requestTime) s: "
      text += "\(message.status.map { "\($0)" } ?? "unreachable") [\(flat(message.fields))]"
      if message.isConditional { text += " to a condition" }
    }
    if behind { return text }
    return text + "\n    answer: \(answer.status) \(answer.status == 304 ? "" : answer.body) age "
      + "\(answer.age.map { "\($0)" } ?? "-") [\(flat(answer.fields))] \(answer.story.map { "\($0)" } ?? "")"
  }
}

// MARK: Between the model's words and Regent's

extension RandomRun {
  private func request(_ asked: Asked) throws -> Request {
    let text = "\(asked.method) \(asked.target) HTTP/1.1\r\nhost: example.org\r\n\(asked.fields.text)\r\n"
    var parser = RequestParser()
    let head = try #require(try parser.parse(Array(text.utf8).span))
    var key: [UInt8] = []
    CacheKey.appendTarget(
      path: head.fields.bytes[head.target.path], query: head.target.query.map { head.fields.bytes[$0] },
      onto: &key)
    let directives = RequestDirectives(head.fields)
    let (path, query) = (head.target.path, head.target.query)
    let routed = RoutedHead(
      head: head, domain: domain, path: path, query: query, key: RecordKey(key), directives: directives)
    return Request(
      routed, directives: directives, wall: world.wall, now: Int64(tally.exchanges + 1) * 1_000_000_000,
      body: nil,
      meters: meters)
  }
}

extension Answer {
  init(_ response: Response) {
    let parsed = response.fields.parsed
    var lines = Lines()
    for line in parsed.lines {
      lines.add(
        String(decoding: parsed.name(of: line), as: UTF8.self).lowercased(),
        String(decoding: parsed.value(of: line), as: UTF8.self))
    }
    self.init(
      status: response.status, fields: lines, body: response.text, age: response.age.map(Int64.init),
      isStale: response.cacheStatus.detail.isStale, story: response.cacheStatus)
  }
}

extension CacheDetail {
  fileprivate var isStale: Bool {
    if case .stale = self { true } else { false }
  }
}

extension CachePolicy {
  fileprivate init(_ rules: Rules) {
    self.init(
      kind: Kind(rawValue: rules.kind) ?? .http, ttl: rules.ttl.map { Int32($0) },
      stale: rules.stale.map { Int32($0) }, staleIfError: rules.staleIfError.map { Int32($0) })
  }
}
