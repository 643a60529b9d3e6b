// An origin that plays, on demand, every fault that an origin can make in plain text. Which one stands in the target,
// `/fault/NAME/…`; where it cuts and what it babbles follows from the seed and the target, so that a run can be had again.
// `/good/…` is answered well, and so is everything once the origin is mended.

import TestKit

/// What an origin does wrong.
enum Fault: String, CaseIterable, Sendable {
  case closesAtOnce, resetsAtOnce, closesInHead, resetsInHead, garbage, largeHead, badFraming
  case closesInBody, resetsInBody, closesInChunk, badChunk, longBody, secondResponse
  case manyInterim, endsAfterInterim, unasked101, unasked206, unasked304
  case silent, tricklesHead, stallsInBody, stallsInChunk

  /// How it shows to the client.
  enum Outcome: Equatable, Sendable {
    /// An answer of Regent's own.
    case refused(Int)
    /// A good head, and an end that is none.
    case cut
    /// A good answer: the fault lies behind it.
    case good
  }

  var outcome: Outcome {
    switch self {
    case .closesInBody, .resetsInBody, .closesInChunk, .badChunk, .stallsInBody, .stallsInChunk: .cut
    case .longBody, .secondResponse: .good
    case .silent, .tricklesHead: .refused(504)
    default: .refused(502)
    }
  }

  /// What it is counted as.
  var reason: String {
    switch self {
    case .closesAtOnce, .resetsAtOnce: "closed-before-response"
    case .closesInHead, .resetsInHead, .endsAfterInterim: "head-cut"
    case .garbage, .badFraming: "malformed-head"
    case .largeHead: "head-too-large"
    case .closesInBody, .resetsInBody, .closesInChunk: "body-cut"
    case .badChunk: "bad-chunk"
    case .longBody, .secondResponse: "extra-bytes"
    case .manyInterim: "too-many-interim"
    case .unasked101: "unasked-101"
    case .unasked206: "unasked-206"
    case .unasked304: "unasked-304"
    case .silent, .tricklesHead: "response-timeout"
    case .stallsInBody, .stallsInChunk: "body-timeout"
    }
  }

  /// The word in Proxy-Status (RFC 9209).
  var word: String {
    switch self {
    case .closesAtOnce, .resetsAtOnce: "http_response_incomplete"
    case .silent, .tricklesHead: "http_response_timeout"
    default: "http_protocol_error"
    }
  }

  /// Whether it holds its connection until the daemon's patience ends.
  var isSlow: Bool { reason.hasSuffix("timeout") }
}

/// The origin itself.
final class FaultyOrigin: Sendable {
  private let origin: Origin
  private let isMended = Shared(false)

  /// Patience for the daemon in front of it: its slow faults are over after a second.
  static let settings = [Setting.firstByte("1s"), Setting.betweenBytes("1s")]

  var url: String { origin.url }
  var requests: [OriginRequest] { origin.requests }

  init(seed: UInt64) throws {
    let isMended = isMended
    origin = try Origin { request, connection in
      var generator = SeededGenerator(
        seed: request.target.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
      let parts = request.target.split(separator: "/")
      if !isMended.value, parts.first == "fault", let fault = Fault(rawValue: String(parts[1])) {
        return try Self.play(fault, request, connection, &generator)
      }
      try Self.answerWell(request, connection, &generator)
    }
  }

  /// From now on it makes no fault.
  func mend() { isMended.update { $0 = true } }

  /// The content of a good answer.
  static func content(of target: String) -> [UInt8] {
    var generator = SeededGenerator(seed: target.utf8.reduce(7) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    let largest = [0, 100, 5000, 70_000, 600_000].randomElement(using: &generator) ?? 0
    return Pattern(for: target).bytes(count: Int.random(in: 0...largest, using: &generator))
  }

  private static func answerWell(
    _ request: OriginRequest, _ connection: OriginConnection, _ generator: inout SeededGenerator
  ) throws {
    let received = try connection.readBody()
    let body = request.method == "GET" ? content(of: request.target) : received
    let life = request.target.contains("/kept/") ? "max-age=60" : "no-store"
    let head = "HTTP/1.1 200 OK\r\nCache-Control: \(life)\r\n"
    guard Bool.random(using: &generator) else {
      return try connection.send(Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body)
    }
    var bytes = Array("\(head)Transfer-Encoding: chunked\r\n\r\n".utf8)
    var rest = body[...]
    while !rest.isEmpty {
      let chunk = rest.prefix(Int.random(in: 1...200_000, using: &generator))
      bytes += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [13, 10]
      rest = rest.dropFirst(chunk.count)
    }
    try connection.send(bytes + Array("0\r\n\r\n".utf8))
  }

  private static let ok = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"
  private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"

  private static func play(
    _ fault: Fault, _ request: OriginRequest, _ connection: OriginConnection,
    _ generator: inout SeededGenerator
  ) throws {
    let body = content(of: request.target)
    let part = Int.random(in: 1...900, using: &generator)
    let whole = Array((ok + "Content-Length: \(body.count)\r\n\r\n").utf8) + body
    let long = ok + "Content-Length: 1000\r\n\r\n" + String(repeating: "x", count: part)
    let head = String((ok + "X: y\r\n").dropLast(Int.random(in: 1...40, using: &generator)))
    let chunk = chunked + "400\r\n" + String(repeating: "x", count: part)
    switch fault {
    case .closesAtOnce: connection.close()
    case .resetsAtOnce: connection.reset()
    case .closesInHead: try leave(head, connection)
    case .resetsInHead: try leave(head, connection, byReset: true)
    case .garbage: try leave(babble(&generator) + "\r\n\r\n", connection)
    case .badFraming: try leave(ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc", connection)
    case .largeHead: try leave(ok + "X: \(String(repeating: "x", count: 70_000))\r\n\r\n", connection)
    case .closesInBody: try leave(long, connection)
    case .resetsInBody: try leave(long, connection, byReset: true)
    case .closesInChunk: try leave(chunk, connection)
    case .badChunk: try leave(chunked + "3\r\nabcX0\r\n\r\n", connection)
    case .longBody: try connection.send(whole + Array(babble(&generator).utf8))
    case .secondResponse: try connection.send(whole + Array((ok + "Content-Length: 4\r\n\r\nevil").utf8))
    case .manyInterim:
      let count = Int.random(in: 9...50, using: &generator)
      try connection.send(String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: count))
      try connection.send(whole)
    case .endsAfterInterim: try leave("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", connection)
    case .unasked101: try connection.send(Opening.answer() + "evil")
    case .unasked206:
      try connection.send(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/9\r\nContent-Length: 4\r\n\r\nevil")
    case .unasked304: try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\n\r\n")
    case .silent: _ = try connection.receive()
    case .tricklesHead: try trickle(ok + String(repeating: "X: y\r\n", count: 90), connection)
    case .stallsInBody:
      try connection.send(long)
      _ = try connection.receive()
    case .stallsInChunk:
      try connection.send(chunk)
      _ = try connection.receive()
    }
  }

  private static func leave(_ text: String, _ connection: OriginConnection, byReset: Bool = false) throws {
    try connection.send(text)
    if byReset { connection.reset() } else { connection.close() }
  }

  /// A byte each 100 ms, until the daemon has had enough.
  private static func trickle(_ text: String, _ connection: OriginConnection) throws {
    for byte in text.utf8 {
      if connection.socket.isReadable(within: 100) { return connection.close() }
      try connection.send([byte])
    }
    connection.close()
  }

  /// Something that is no HTTP, and no empty line.
  private static func babble(_ generator: inout SeededGenerator) -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyz :/<>")
    return "!"
      + String(
        (0..<Int.random(in: 1...60, using: &generator)).map { _ in
          letters.randomElement(using: &generator) ?? "?"
        })
  }
}
