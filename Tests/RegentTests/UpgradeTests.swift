// Which protocols a request may go on with, and which 101 is an answer to that: tables of heads.

import RegentHTTP
import Testing

@testable import Regent

@Suite("Upgrades")
struct UpgradeTests {
  struct Offer: Sendable {
    let lines: [String]
    var permitted = ["websocket"]
    let offered: String?
  }

  private static let connection = "Connection: Upgrade"
  private static let keyLine = "Sec-WebSocket-Key: "

  @Test(
    "what a request offers is what its domain lists of it, in the request's order",
    arguments: [
      Offer(lines: ["GET / HTTP/1.1", connection, "Upgrade: websocket"], offered: "websocket"),
      Offer(
        lines: ["GET / HTTP/1.1", "Connection: keep-alive, upgrade", "Upgrade: WebSocket"],
        offered: "WebSocket"),
      Offer(lines: ["GET / HTTP/1.1", connection, "Upgrade: h2c, websocket"], offered: "websocket"),
      Offer(
        lines: ["GET / HTTP/1.1", connection, "Upgrade: h2c", "Upgrade: websocket"], offered: "websocket"),
      Offer(lines: ["GET / HTTP/1.1", connection, "Upgrade: h2c"], offered: nil),
      Offer(lines: ["GET / HTTP/1.1", connection, "Upgrade: websocket, h2c"], permitted: [], offered: nil),
      Offer(
        lines: ["GET / HTTP/1.1", connection, "Upgrade: b/2 , ,a/1"], permitted: ["a", "b"],
        offered: "b/2, a/1"),
      Offer(lines: ["GET / HTTP/1.1", connection, "Upgrade: websocketx"], offered: nil),
      Offer(lines: ["GET / HTTP/1.1", "Upgrade: websocket"], offered: nil),
      Offer(lines: ["GET / HTTP/1.1", connection], offered: nil),
      Offer(lines: ["GET / HTTP/1.0", connection, "Upgrade: websocket"], offered: nil),
      Offer(lines: ["GET / HTTP/1.1", connection, "Upgrade: websocket", "Content-Length: 1"], offered: nil),
      Offer(
        lines: ["GET / HTTP/1.1", connection, "Upgrade: websocket", "Content-Length: 0"], offered: "websocket"
      ),
      Offer(
        lines: ["GET / HTTP/1.1", connection, "Upgrade: websocket", "Transfer-Encoding: chunked"],
        offered: nil),
      Offer(lines: ["POST / HTTP/1.1", connection, "Upgrade: websocket"], offered: nil),
      Offer(lines: ["GET / HTTP/1.1", connection, "Upgrade: websocket", keyLine], offered: nil),
      Offer(
        lines: ["GET / HTTP/1.1", connection, "Upgrade: websocket", keyLine + "a", keyLine + "a"],
        offered: nil),
      Offer(lines: ["POST / HTTP/1.1", connection, "Upgrade: tcp"], permitted: ["tcp"], offered: "tcp"),
    ])
  func offered(_ row: Offer) throws {
    let key =
      row.lines.contains { $0.hasPrefix(Self.keyLine) } ? [] : [Self.keyLine + "dGhlIHNhbXBsZSBub25jZQ=="]
    let head = try head((row.lines + key + ["Host: a"]).joined(separator: "\r\n"))
    let offered = Upgrade.offered(head, permitted: row.permitted)
    #expect(offered.map { String(decoding: $0, as: UTF8.self) } == row.offered, "\(row.lines)")
  }

  struct Acceptance: Sendable {
    let lines: [String]
    var offered = "websocket"
    let chosen: String?
  }

  @Test(
    "a 101 matches if it names, in Upgrade and Connection, what was offered and announces no content",
    arguments: [
      Acceptance(lines: [connection, "Upgrade: websocket"], chosen: "websocket"),
      Acceptance(lines: ["Connection: x, upgrade", "Upgrade: WebSocket"], chosen: "WebSocket"),
      Acceptance(lines: [connection, "Upgrade: b/2"], offered: "a/1, b/2", chosen: "b/2"),
      Acceptance(lines: [connection, "Upgrade: b"], offered: "a/1, b/2", chosen: nil),
      Acceptance(lines: [connection, "Upgrade: websocket, h2c"], chosen: nil),
      Acceptance(lines: [connection, "Upgrade: h2c"], chosen: nil),
      Acceptance(lines: [connection, "Upgrade:"], chosen: nil),
      Acceptance(lines: [connection], chosen: nil),
      Acceptance(lines: ["Upgrade: websocket"], chosen: nil),
      Acceptance(lines: ["Connection: keep-alive", "Upgrade: websocket"], chosen: nil),
      Acceptance(lines: [connection, "Upgrade: websocket", "Content-Length: 0"], chosen: nil),
      Acceptance(lines: [connection, "Upgrade: websocket", "Transfer-Encoding: chunked"], chosen: nil),
    ])
  func accepted(_ row: Acceptance) throws {
    let head = try #require(try answer("HTTP/1.1", row.lines))
    let chosen = Upgrade.accepted(head, offered: Array(row.offered.utf8))
    #expect(chosen.map { String(decoding: $0, as: UTF8.self) } == row.chosen, "\(row.lines)")
  }

  @Test(
    "a WebSocket's 101 answers the request's own key (RFC 6455 section 1.3)",
    arguments: [
      (["dGhlIHNhbXBsZSBub25jZQ=="], ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="], true),
      (["x3JJHMbDL1EzLkh9GBhXDw=="], ["HSmrc0sMlYUkAGmm5OPpG2HaGWk="], true),
      (["dGhlIHNhbXBsZSBub25jZQ=="], ["S3pPLMBiTxaQ9kYGzzhZRbK+xOo="], false),
      (["dGhlIHNhbXBsZSBub25jZQ=="], ["HSmrc0sMlYUkAGmm5OPpG2HaGWk="], false),
      (["dGhlIHNhbXBsZSBub25jZQ=="], [], false), (["dGhlIHNhbXBsZSBub25jZQ=="], [""], false),
      (
        ["dGhlIHNhbXBsZSBub25jZQ=="], ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="],
        false
      ),
      ([], ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="], false), ([], ["Kfh9QIsMVZcl6xEPYxPHzW8SZ8w="], false),
    ])
  func answered(keys: [String], answers: [String], isAnswered: Bool) throws {
    let request = try head(
      (["GET / HTTP/1.1", "Host: a"] + keys.map { Self.keyLine + $0 }).joined(separator: "\r\n"))
    let response = try #require(try answer("HTTP/1.1", answers.map { "Sec-WebSocket-Accept: \($0)" }))
    #expect(WebSocketKey.isAnswered(by: response.fields, to: request.fields) == isAnswered)
  }

  @Test(
    "a 101 is a WebSocket's by its own name",
    arguments: [
      ("websocket", true), ("WebSocket", true), ("a/1, websocket/13", true), ("websockets", false),
      ("tcp", false), ("", false),
    ])
  func webSocket(chosen: String, isWebSocket: Bool) {
    #expect(Upgrade.isWebSocket(Array(chosen.utf8)) == isWebSocket)
  }

  @Test("an HTTP/1.0 server cannot switch")
  func http10() throws {
    let head = try #require(try answer("HTTP/1.0", [Self.connection, "Upgrade: websocket"]))
    #expect(Upgrade.accepted(head, offered: Array("websocket".utf8)) == nil)
  }

  private func answer(_ version: String, _ lines: [String]) throws -> ResponseHead? {
    let text = (["\(version) 101 Switching Protocols"] + lines).joined(separator: "\r\n") + "\r\n\r\n"
    var parser = ResponseParser()
    return try parser.parse(Array(text.utf8).span)
  }
}
