// The table of requests that the daemon must refuse, by the classes of TRUST.md section 1. A row that a head alone
// condemns must not reach the origin at all.

import Testing

/// One class of messages that are refused alike.
struct Refused: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let statuses: Set<Int>
  let isRefusedByItsHead: Bool
  let messages: [String]

  /// What an attacker would like to have executed.
  static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
  static let post = "POST /refused HTTP/1.1\r\nHost: localhost\r\n"

  static let all = [
    byHead(
      "A1 Content-Length and Transfer-Encoding together",
      fields: [
        "Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3",
        "content-LENGTH: 3\r\nTRANSFER-encoding: ChunkeD",
      ], body: "0\r\n\r\n"),
    byHead(
      "A2 a Content-Length that is no number of ours",
      fields: [
        "", "+3", "-0", "-3", "0x3", "3_0", "3,4", "3, 4", "3 3", "3\u{0B}", "\u{0B}3", "3.0", "1e1",
        "\u{FF13}",
        "9223372036854775808", "18446744073709551619", String(repeating: "9", count: 400),
      ].map { "Content-Length: \($0)" } + ["Content-Length: 3\r\nContent-Length: 4"], body: "abc"),
    byHead(
      "A3 a Transfer-Encoding other than chunked alone", statuses: [400, 501],
      fields: [
        "xchunked", "chunked, chunked", "chunked, identity", "identity", "gzip, chunked", "gzip",
        "chunked;q=1",
        ", chunked", "chunked,", "", "\u{0B}chunked", "\u{0C}chunked", "chunked\0", "\"chunked\"",
        "x\r\n chunked",
        "chunked\r\nTransfer-Encoding: chunked", "identity\r\nTransfer-Encoding: chunked",
      ].map { "Transfer-Encoding: \($0)" } + ["Transfer-Encoding : chunked", "Transfer-Encoding\t: chunked"],
      body: "3\r\nabc\r\n0\r\n\r\n"),
    byHead(
      "A3 chunked coding in HTTP/1.0",
      messages: [
        "POST /refused HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
      ]),
    byBody(
      "A4 a chunk size that is not hexadecimal digits alone",
      bodies: [
        "0x3\r\nabc\r\n", "+3\r\nabc\r\n", "-3\r\nabc\r\n", "_3\r\nabc\r\n", "3_\r\nabc\r\n", " 3\r\nabc\r\n",
        "3 \r\nabc\r\n", "\r\nabc\r\n", "g\r\nabc\r\n", "00000000000000003\r\nabc\r\n",
        "FFFFFFFFFFFFFFFF\r\nabc",
        "FFFFFFFFFFFFFFFFF\r\nabc", "10000000000000003\r\nabc", "3\r\nabc\r\n7FFFFFFFFFFFFFFF\r\n",
      ]),
    byBody(
      "A5 a chunk extension that is malformed or large",
      bodies: [
        "3;a\nb\r\nabc\r\n", "3;a\rb\r\nabc\r\n", "3;a=\"x\r\ny\"\r\nabc\r\n", "3;a=\0\r\nabc\r\n",
        "3;a=\(String(repeating: "x", count: 300))\r\nabc\r\n",
        "3;\(String(repeating: "x", count: 1 << 20))\r\nabc\r\n",
        String(repeating: "1;\(String(repeating: "x", count: 200))\r\na\r\n", count: 100),
      ]),
    byBody(
      "A6 a chunk that does not end where it says",
      bodies: [
        "3\r\nabcX", "3\r\nabcd\r\n", "3\r\nabc\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabc\r\r\n",
        "3\r\nabc\r\n\r\n",
        "3\r\nabc0\r\n\r\n",
      ]),
    byBody(
      "A7 trailers that are malformed or large", statuses: [400, 431],
      bodies: [
        "0\r\nX: y\n\r\n", "0\r\n: y\r\n\r\n", "0\r\nA B: y\r\n\r\n", "0\r\n folded\r\n\r\n", "0\r\n\n",
        "0\n\r\n",
        "0\r\nX: \(String(repeating: "y", count: 64 << 10))\r\n\r\n",
      ]),
    byHead(
      "A11 a field that is no field",
      fields: [
        ": x", "A B: x", "A : x", "A\t: x", "A\0: x", "A: x\0y", "A: x\ry", "A: x\ny", "A\u{7F}: x",
        "A: x\u{7F}y",
        "A: x\r\n folded", "A: x\r\n\tfolded", "\u{E9}: x", "no colon", "(A): x", "A: x\u{01}", " A: x",
      ], body: ""),
    byHead(
      "A11 lines that end wrongly or begin with white space",
      messages: [
        "GET /refused HTTP/1.1\nHost: localhost\n\n", "\nGET /refused HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /refused HTTP/1.1\r\nHost: localhost\n\r\n",
        "GET /refused HTTP/1.1\r\n Host: localhost\r\n\r\n",
        " GET /refused HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /refused HTTP/1.1\r\r\nHost: localhost\r\n\r\n",
        "GET  /refused HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET\t/refused HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /refused HTTP/1.1 \r\nHost: localhost\r\n\r\n",
        "GET /ref\u{E9}used HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /a#b HTTP/1.1\r\nHost: localhost\r\n\r\n", "G(T /refused HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET refused HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /a\0b HTTP/1.1\r\nHost: localhost\r\n\r\n",
      ]),
    byHead(
      "A14 a version that is not 1.0 or 1.1", statuses: [400, 505],
      messages: [
        "HTTP/1.10", "HTTP/4294967297.1", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/1", "HTTP/+1.1",
        "HTTP/1.1.1",
      ]
      .map { "GET /refused \($0)\r\nHost: localhost\r\n\r\n" } + ["GET /refused\r\nHost: localhost\r\n\r\n"]),
    byHead(
      "B1 a Host that is missing, repeated or not a host",
      messages: [
        "", "Host: localhost\r\nHost: localhost\r\n", "Host: localhost\r\nHost: evil\r\n",
        "Host: localhost, evil\r\n",
        "Host: user@localhost\r\n", "Host: localhost/path\r\n", "Host:\r\n", "Host: localhost:65536\r\n",
        "Host: localhost:x\r\n", "Host: local host\r\n", "Host: [::1\r\n", "Host: [::1%25eth0]\r\n",
      ].map { "GET /refused HTTP/1.1\r\n\($0)\r\n" }),
    byHead(
      "B1 an absolute target that contradicts Host",
      messages: [
        "GET http://localhost/refused HTTP/1.1\r\nHost: evil\r\n\r\n",
        "GET http://evil/refused HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET http://user:pass@localhost/refused HTTP/1.1\r\nHost: localhost\r\n\r\n",
      ]),
    byHead(
      "C1 a Connection that names what frames or routes the message",
      messages: ["Host", "Content-Length", "Transfer-Encoding", "Cache-Control", "Authorization", "Cookie"]
        .map { "GET /refused HTTP/1.1\r\nHost: localhost\r\nConnection: \($0)\r\n\r\n" }),
    byHead(
      "D2 a head, a line or a number of fields over the limit", statuses: [414, 431],
      messages: [
        "GET /refused HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 9 << 10))\r\n\r\n",
        "GET /\(String(repeating: "x", count: 9 << 10)) HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /refused HTTP/1.1\r\nHost: localhost\r\n\((0..<101).map { "X\($0): y\r\n" }.joined())\r\n",
        "GET /refused HTTP/1.1\r\nHost: localhost\r\n"
          + (0..<5).map { "X\($0): \(String(repeating: "y", count: 7 << 10))\r\n" }.joined() + "\r\n",
      ]),
  ]

  private static func byHead(
    _ name: String, statuses: Set<Int> = [400], fields: [String], body: String
  ) -> Refused {
    byHead(name, statuses: statuses, messages: fields.map { "\(post)\($0)\r\n\r\n\(body)" })
  }

  private static func byHead(_ name: String, statuses: Set<Int> = [400], messages: [String]) -> Refused {
    Refused(testDescription: name, statuses: statuses, isRefusedByItsHead: true, messages: messages)
  }

  private static func byBody(_ name: String, statuses: Set<Int> = [400], bodies: [String]) -> Refused {
    let messages = bodies.map { "\(post)Transfer-Encoding: chunked\r\n\r\n\($0)" }
    return Refused(testDescription: name, statuses: statuses, isRefusedByItsHead: false, messages: messages)
  }
}
