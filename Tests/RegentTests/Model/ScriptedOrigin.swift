// The origin of the property test: it does as the plan of the moment says, and keeps what it was asked and said. It
// stands where UpstreamProvider stands, and writes and reads heads as that one does; only the socket is missing.

import RegentCaching
import RegentConfig
import RegentHTTP
import RegentLoop
import RegentStorage
import Testing

@testable import Regent

/// How the origin answers until it is told otherwise.
struct Plan: Sendable {
  enum Confirmation { case rightly, always, never }

  /// Nobody answers at all.
  var isUnreachable = false
  var status = 200
  /// The fields of a whole response, and of a 304.
  var full = Lines()
  var notModified = Lines()
  var confirmation = Confirmation.rightly
  /// The content of the representation, and whether parts of it can be had.
  var content = ""
  var givesParts = true
  /// How long the answer takes, in seconds.
  var delay: Int64 = 0
}

/// What was planned and what happened.
struct Script: Sendable {
  var plan = Plan()
  var wall: Int64 = 0
  var serial = 0
  var told: [Told] = []

  /// What the origin says to a question.
  mutating func answer(_ asked: Asked) -> Told {
    var message = Told(asked: asked, requestTime: wall, responseTime: wall + plan.delay)
    defer { told.append(message) }
    if plan.isUnreachable { return message }
    if confirms(asked) {
      message.status = 304
      message.fields = plan.notModified
      return message
    }
    serial += 1
    message.status = plan.status
    message.serial = serial
    message.fields = plan.full
    message.fields.add("x-serial", "\(serial)")
    if asked.method == "HEAD" || plan.status == 204 || plan.status == 304 { return message }
    message.whole = plan.status == 200 && asked.method == "GET" ? plan.content : "content \(serial)"
    message.body = message.whole
    if asked.method == "GET", plan.status == 200, plan.givesParts { cut(&message) }
    return message
  }

  /// RFC 9110 section 14.2, for one range.
  private func cut(_ message: inout Told) {
    let asked = message.asked.fields
    if let condition = asked.first("if-range"), condition.hasPrefix("W/") || !names(condition) { return }
    guard let field = asked.first("range"), field.hasPrefix("bytes=") else { return }
    let ends = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    let length = plan.content.utf8.count
    guard ends.count == 2, ends[0] != nil || ends[1] != nil, !field.contains(",") else { return }
    let first = ends[0] ?? max(0, length - (ends[1] ?? 0))
    let last = ends[0] == nil ? length - 1 : min(length - 1, ends[1] ?? length)
    if ends[0] != nil, let last = ends[1], last < first { return }
    guard first <= last else {
      message.status = 416
      message.body = ""
      return message.fields.add("content-range", "bytes */\(length)")
    }
    message.status = 206
    message.fields.add("content-range", "bytes \(first)-\(last)/\(length)")
    message.body = String(Array(plan.content)[first...last])
  }

  private func names(_ validator: String) -> Bool {
    validator == plan.full.first("etag") || validator == plan.full.first("last-modified")
  }

  /// RFC 9110 section 13.1, for the representation that the plan's fields describe.
  private func confirms(_ asked: Asked) -> Bool {
    guard asked.method == "GET" || asked.method == "HEAD", plan.status == 200,
      asked.fields.has("if-none-match") || asked.fields.has("if-modified-since")
    else { return false }
    switch plan.confirmation {
    case .always: return true
    case .never: return false
    case .rightly:
      if let tags = asked.fields.first("if-none-match") {
        return plan.full.first("etag").map { members(of: [tags]).contains($0) } ?? false
      }
      return plan.full.has("last-modified")
        && plan.full.first("last-modified") == asked.fields.first("if-modified-since")
    }
  }
}

/// Plays the origin.
final class ScriptedOrigin: Provider {
  let name = "origin"
  let script = Lock(Script())
  private let identity: OriginIdentity
  private let done = Lock(0)

  init() throws { identity = OriginIdentity(try UpstreamURL("http://example.org")) }

  /// How many requests it is done with.
  var count: Int { done.withLock { $0 } }

  func perform(_ request: Request) async throws -> Response {
    defer { done.withLock { $0 += 1 } }
    if request.directives.onlyIfCached { throw Failure.onlyIfCached }
    if let response = try ask(request) { return response }
    if let response = try ask(request.withoutCandidate()) { return response }
    throw Failure.malformedResponse("Its 304 confirms a response that is not the stored one.")
  }

  private func ask(_ request: Request) throws -> Response? {
    var writer = MessageWriter()
    writer.head(asking: identity, request, via: PreparedLine(.via, Array("1.1 regent".utf8)))
    let question = Self.asked(writer.bytes)
    let message = script.withLock { $0.answer(question) }
    guard let status = message.status else { throw Failure.connectionRefused }
    let head = try Self.head(
      "HTTP/1.1 \(status) \r\n\(message.fields.text)content-length: \(message.body.utf8.count)\r\n\r\n")
    let received = Received(head, requestTime: message.requestTime, responseTime: message.responseTime)
    let body: ResponseBody = message.body.isEmpty ? .empty : .whole(Slice(Array(message.body.utf8)))
    return received.response(to: request, body)
  }

  private static func head(_ text: String) throws -> ResponseHead {
    var parser = ResponseParser()
    return try #require(try parser.parse(Array(text.utf8).span))
  }

  /// The request that these bytes are.
  private static func asked(_ bytes: [UInt8]) -> Asked {
    let lines = bytes.split(separator: 0x0A).map { String(decoding: $0.dropLast(), as: UTF8.self) }
    let words = lines[0].split(separator: " ")
    var asked = Asked(method: String(words[0]), target: String(words[1]))
    for line in lines.dropFirst() where !line.isEmpty {
      let parts = line.split(separator: ":", maxSplits: 1)
      asked.fields.add(parts[0].lowercased(), trimmed(String(parts[1])))
    }
    return asked
  }
}
