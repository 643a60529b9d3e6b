// The table of failures: what a client is told of each, and which of them a stale response may stand in for.

import RegentCaching
import RegentHTTP
import RegentLoop
import Testing

@testable import Regent

@Suite("A failure")
struct FailureTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let failure: Failure
    let status: Int
    let word: String
    /// Whether the origin could not be reached, so that a stored response may answer.
    let isOrigins: Bool

    init(_ failure: Failure, _ status: Int, _ word: String, _ isOrigins: Bool) {
      (self.failure, self.status, self.word, self.isOrigins) = (failure, status, word, isOrigins)
    }

    var testDescription: String { "\(failure)" }
  }

  static let rows = [
    Row(.misdirected(host: "evil.test", domains: 2), 421, "destination_not_found", false),
    Row(.methodNotAllowed, 405, "http_request_denied", false),
    Row(.connectionsExhausted, 503, "proxy_internal_response", false),
    Row(.unhandled, 502, "destination_not_found", false),
    Row(.onlyIfCached, 504, "http_request_denied", false),
    Row(.provider("it broke"), 500, "proxy_internal_error", false),
    Row(.requestTimedOut, 408, "http_request_error", false),
    Row(.malformedRequest("No."), 400, "http_request_error", false),
    Row(.loopDetected, 508, "proxy_loop_detected", false),
    Row(.nameNotFound("no such name"), 502, "dns_error", true),
    Row(.proxyRefused("it answered 407"), 502, "destination_unavailable", true),
    Row(.nameTimedOut, 504, "dns_timeout", true),
    Row(.connectionRefused, 502, "connection_refused", true),
    Row(.connectionTimedOut, 504, "connection_timeout", true),
    Row(.connectionFailed("no route"), 502, "destination_unavailable", true),
    Row(.tls(.certificate("expired")), 502, "tls_certificate_error", true),
    Row(.tls(.handshake("no TLS")), 502, "tls_protocol_error", true),
    Row(.tls(.record("bad")), 502, "tls_protocol_error", true),
    Row(.tls(.configuration("none")), 502, "tls_protocol_error", true),
    Row(.closedBeforeResponse, 502, "http_response_incomplete", true),
    Row(.responseCut, 502, "http_response_incomplete", true),
    Row(.responseTimedOut, 504, "http_response_timeout", true),
    Row(.malformedResponse("No."), 502, "http_protocol_error", true),
    Row(.overloaded, 503, "connection_limit_reached", true),
    Row(.originTrouble(429), 429, "destination_unavailable", false),
    Row(.tls(.timedOut), 504, "connection_timeout", true),
    Row(.circuitOpen(seconds: 4, because: "It did."), 503, "destination_unavailable", true),
    Row(.deadlinePassed, 504, "http_response_timeout", true),
    Row(.clientLeft, 408, "http_request_error", false),
    Row(.foreignPage, 403, "http_request_denied", false),
    Row(.tunnelsExhausted, 503, "connection_limit_reached", false),
  ]

  @Test("has its status, its word of RFC 9209 and a sentence", arguments: rows)
  func table(row: Row) {
    #expect(row.failure.status == row.status)
    #expect(row.failure.proxyStatus == row.word)
    #expect((row.failure.originFailure == .unreachable) == row.isOrigins)
    #expect(row.failure.sentence.hasSuffix(".") && row.failure.sentence.first?.isUppercase == true)
  }

  @Test("makes a text of one line or more that nobody stores", arguments: rows)
  func answers(row: Row) throws {
    let response = row.failure.response(to: try request())
    let fields = response.fields.parsed
    #expect(response.status == row.status && response.failure == row.failure)
    #expect(fields.first(.cacheControl)?.elementsEqual("no-store".utf8) == true)
    #expect(
      response.text.hasPrefix("\(row.status) \(StatusLines.reason(row.status)): \(row.failure.sentence)\n"))
    #expect(response.storability != .store && response.cacheStatus.outcome == .forwarded(.bypass))
    #expect(fields.contains(.allow) == (row.status == 405))
    #expect(fields.contains(.retryAfter) == (row.status == 503))
  }

  @Test("of every kind is in the table")
  func complete() {
    #expect(Set(Self.rows.map { Self.kind($0.failure) }) == Set(1...27))
  }

  // A new failure breaks the build here, and then belongs into the table.
  private static func kind(_ failure: Failure) -> Int {
    switch failure {
    case .misdirected: 1
    case .methodNotAllowed: 2
    case .connectionsExhausted: 3
    case .unhandled: 4
    case .onlyIfCached: 5
    case .provider: 6
    case .requestTimedOut: 7
    case .malformedRequest: 8
    case .nameNotFound: 9
    case .connectionRefused: 10
    case .connectionTimedOut: 11
    case .connectionFailed: 12
    case .tls: 13
    case .closedBeforeResponse: 14
    case .responseTimedOut: 15
    case .malformedResponse: 16
    case .overloaded: 17
    case .originTrouble: 21
    case .circuitOpen: 18
    case .deadlinePassed: 19
    case .clientLeft: 20
    case .loopDetected: 22
    case .nameTimedOut: 23
    case .tunnelsExhausted: 24
    case .foreignPage: 26
    case .proxyRefused: 25
    case .responseCut: 27
    }
  }

  @Test(
    "of an origin that is left alone, or wants to be, says for how long",
    arguments: [
      .circuitOpen(seconds: 17, because: "It did."), .originTrouble(503, seconds: 17),
      .originTrouble(429, seconds: 17),
    ] as [Failure])
  func leftAlone(failure: Failure) throws {
    let fields = failure.response(to: try request()).fields.parsed
    #expect(fields.all(.retryAfter).map { String(decoding: $0, as: UTF8.self) } == ["17"])
  }

  @Test("of a host that no domain has says how to add one, and counts in good English")
  func misdirected() throws {
    let text = Failure.misdirected(host: "new.test", domains: 1).response(to: try request()).text
    #expect(text.contains("Regent serves 1 domain, and none answers at \"new.test\"."))
    #expect(text.contains("hosts = [\"new.test\"]"))
    #expect(Failure.misdirected(host: "a", domains: 0).sentence.contains("0 domains"))
  }

  @Test(
    "while connecting is what the stream's error means",
    arguments: [
      (.timedOut, .connectionTimedOut), (.nameTimedOut, .nameTimedOut),
      (.proxyRefused("no"), .proxyRefused("no")),
      (.nameNotFound("none"), .nameNotFound("none")),
      (.tls(.handshake("no")), .tls(.handshake("no"))),
      (.system(SystemError(call: "connect", code: 111)), .connectionRefused),
      (
        .system(SystemError(call: "connect", code: 101)), .connectionFailed("Network is unreachable")
      ),
    ] as [(StreamError, Failure)])
  func connecting(error: StreamError, failure: Failure) {
    #expect(Failure(connecting: error) == failure)
  }

  @Test(
    "while an answer is awaited is what the stream's error means",
    arguments: [
      (.timedOut, .responseTimedOut), (.tls(.record("no")), .tls(.record("no"))),
      (.system(SystemError(call: "read", code: 104)), .closedBeforeResponse),
      (.closed, .closedBeforeResponse),
      (.truncated, .closedBeforeResponse),
    ] as [(StreamError, Failure)])
  func awaiting(error: StreamError, failure: Failure) {
    #expect(Failure(awaiting: error) == failure)
  }
}
