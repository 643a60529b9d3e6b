// Every request head that must be refused, by the class of TRUST.md that it belongs to.

import Testing

@testable import RegentHTTP

private func get(_ fields: String) -> String { "GET /a HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n" }
private func post(_ fields: String) -> String { "POST /a HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n" }

@Suite struct RefusedRequestTests {
  @Test("a request with broken framing is refused", arguments: framing + lengths)
  func refusedFraming(_ row: Row) { refuses(row) }

  @Test("a request with broken lines or fields is refused", arguments: syntax)
  func refusedSyntax(_ row: Row) { refuses(row) }

  @Test("a request with a broken request line is refused", arguments: requestLines)
  func refusedRequestLine(_ row: Row) { refuses(row) }

  @Test("a request whose host is missing, repeated, malformed or contradicted is refused", arguments: hosts)
  func refusedHost(_ row: Row) { refuses(row) }

  @Test("a request that abuses Connection or Expect is refused", arguments: connections)
  func refusedConnection(_ row: Row) { refuses(row) }

  private func refuses(_ row: Row) {
    let outcome = agree(row.bytes) { feedRequest($0, $1) }
    #expect(outcome.rule == row.rule, "\(outcome)")
  }

  static let framing: [Row] = [
    Row(
      "A1 CL then TE", post("Content-Length: 3\r\nTransfer-Encoding: chunked"),
      .contentLengthAndTransferEncoding),
    Row(
      "A1 TE then CL", post("Transfer-Encoding: chunked\r\nContent-Length: 3"),
      .contentLengthAndTransferEncoding),
    Row(
      "A1 any case", post("content-LENGTH: 3\r\ntransfer-encoding: CHUNKED"),
      .contentLengthAndTransferEncoding),
    Row(
      "A1 CL and TE identity", post("Content-Length: 3\r\nTransfer-Encoding: identity"),
      .contentLengthAndTransferEncoding),
    Row("A3 TE: xchunked", post("Transfer-Encoding: xchunked"), .unsupportedTransferCoding),
    Row("A3 TE: identity", post("Transfer-Encoding: identity"), .unsupportedTransferCoding),
    Row("A3 TE: gzip, chunked", post("Transfer-Encoding: gzip, chunked"), .unsupportedTransferCoding),
    Row("A3 TE: chunked, chunked", post("Transfer-Encoding: chunked, chunked"), .malformedTransferEncoding),
    Row("A3 TE: chunked, identity", post("Transfer-Encoding: chunked, identity"), .malformedTransferEncoding),
    Row("A3 TE: chunked;q=1", post("Transfer-Encoding: chunked;q=1"), .malformedTransferEncoding),
    Row("A3 TE: leading comma", post("Transfer-Encoding: ,chunked"), .malformedTransferEncoding),
    Row("A3 TE: trailing comma", post("Transfer-Encoding: chunked,"), .malformedTransferEncoding),
    Row("A3 TE: empty", post("Transfer-Encoding:"), .malformedTransferEncoding),
    Row("A3 TE: quoted", post("Transfer-Encoding: \"chunked\""), .malformedTransferEncoding),
    Row("A3 TE: chu nked", post("Transfer-Encoding: chu nked"), .malformedTransferEncoding),
    Row(
      "A3 TE twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
      .repeatedTransferEncoding),
    Row(
      "A3 TE twice, identity", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
      .repeatedTransferEncoding),
    Row("A3 TE by obs-fold", post("Transfer-Encoding:\r\n chunked"), .malformedTransferEncoding),
    Row("A3 TE then obs-fold", post("Transfer-Encoding: chunked\r\n , identity"), .obsoleteFold),
    Row("A3 TE: VT", post("Transfer-Encoding: \u{0B}chunked"), .controlCharacter),
    Row("A3 TE: FF", post("Transfer-Encoding: chunked\u{0C}"), .controlCharacter),
    Row("A3 TE: NUL", post("Transfer-Encoding: chunked\u{00}"), .nul),
    Row("A3 TE with space before the colon", post("Transfer-Encoding : chunked"), .spaceBeforeColon),
    Row("A3 TE on 1.0", "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncodingInHTTP10),
  ]

  static let lengths: [Row] =
    [
      "", "+3", "-0", "-3", "0x3", "3_0", "3,3", "3, 3", "3,4", "3 4", "3;", "3.0", "\"3\"", "٣",
      "9007199254740993",
      "9223372036854775807", "9223372036854775808", "18446744073709551619", "3\t4",
      String(repeating: "9", count: 400),
    ].map { Row("A2 Content-Length: \($0.prefix(20))", post("Content-Length: \($0)"), .invalidContentLength) }
    + [
      Row("A2 VT after", post("Content-Length: 3\u{0B}"), .controlCharacter),
      Row("A2 NUL after", post("Content-Length: 3\u{00}"), .nul),
      Row("A2 twice the same", post("Content-Length: 3\r\nContent-Length: 3"), .repeatedContentLength),
      Row("A2 twice different", post("Content-Length: 3\r\nContent-Length: 4"), .repeatedContentLength),
      Row("A2 obs-fold", post("Content-Length: 3\r\n 4"), .obsoleteFold),
    ]

  static let syntax: [Row] = [
    Row("A11 empty name", get(": x"), .emptyFieldName),
    Row("A11 space in name", get("A B: x"), .invalidFieldName),
    Row("A11 space before colon", get("A : x"), .spaceBeforeColon),
    Row("A11 tab before colon", get("A\t: x"), .spaceBeforeColon),
    Row("A11 no colon", get("A"), .missingColon),
    Row("A11 obs-fold", get("A: x\r\n y"), .obsoleteFold),
    Row("A11 obs-fold with tab", get("A: x\r\n\ty"), .obsoleteFold),
    Row("A11 leading space line", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", .obsoleteFold),
    Row("A11 UTF-8 name", get("Ä: x"), .invalidFieldName),
    Row("A11 NUL in name", get("A\u{00}B: x"), .nul),
    Row("A11 NUL in value", get("User: admin\u{00}x"), .nul),
    Row("A11 DEL in name", get("A\u{7F}B: x"), .controlCharacter),
    Row("A11 DEL in value", get("A: x\u{7F}y"), .controlCharacter),
    Row("A11 bell in value", get("A: x\u{07}y"), .controlCharacter),
    Row("A11 escape in value", get("A: x\u{1B}y"), .controlCharacter),
    Row("A11 bare CR in name", get("A\rB: x"), .bareCarriageReturn),
    Row("A11 bare CR in value", get("A: x\ry"), .bareCarriageReturn),
    Row("A11 CR CR LF", get("A: x\r"), .bareCarriageReturn),
    Row("A11 bare LF ends a field", "GET / HTTP/1.1\r\nHost: a\nB: c\r\n\r\n", .bareLineFeed),
    Row("A11 bare LF ends the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", .bareLineFeed),
    Row("A11 bare LF ends the head", "GET / HTTP/1.1\r\nHost: a\r\n\n", .bareLineFeed),
    Row("A11 quotes in name", get("A\"B: x"), .invalidFieldName),
    Row("A11 brackets in name", get("A[0]: x"), .invalidFieldName),
    Row("A11 slash in name", get("A/B: x"), .invalidFieldName),
    Row("A11 space before the request line", " GET / HTTP/1.1\r\n", .invalidMethod),
    Row("A11 two empty lines before", "\r\n\r\nGET / HTTP/1.1\r\n", .emptyLineBeforeStart),
    Row("A11 bare LF before", "\nGET / HTTP/1.1\r\n", .bareLineFeed),
    Row("early: NUL in an unfinished line", "GET / HTTP/1.1\r\nHost: a\u{00}", .nul),
    Row("early: LF in an unfinished line", "GET / HTTP/1.1\r\nHost: a\n", .bareLineFeed),
    Row("early: TLS hello", bytes: [0x16, 0x03, 0x01, 0x02, 0x00], .controlCharacter),
  ]

  static let requestLines: [Row] = [
    Row("A14 0.9", "GET /\r\n\r\n", .malformedRequestLine),
    Row("A14 HTTP/0.9", "GET / HTTP/0.9\r\n\r\n", .unsupportedVersion),
    Row("A14 HTTP/1.10", "GET / HTTP/1.10\r\n\r\n", .unsupportedVersion),
    Row("A14 HTTP/1.2", "GET / HTTP/1.2\r\n\r\n", .unsupportedVersion),
    Row("A14 HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .unknownMethod),
    Row("A14 HTTP/2", "GET / HTTP/2\r\n\r\n", .unsupportedVersion),
    Row("A14 HTTP/01.1", "GET / HTTP/01.1\r\n\r\n", .unsupportedVersion),
    Row("A14 HTTP/4294967297.1", "GET / HTTP/4294967297.1\r\n\r\n", .unsupportedVersion),
    Row("version: http/1.1", "GET / http/1.1\r\n\r\n", .malformedVersion),
    Row("version: HTTP/", "GET / HTTP/\r\n\r\n", .malformedVersion),
    Row("version: HTTP/1.1 and space", "GET / HTTP/1.1 \r\n\r\n", .malformedVersion),
    Row("version: HTTP/1.x", "GET / HTTP/1.x\r\n\r\n", .malformedVersion),
    Row("version: XTTP", "GET / XTTP/1.1\r\n\r\n", .malformedVersion),
    Row("two spaces", "GET  / HTTP/1.1\r\n\r\n", .malformedRequestLine),
    Row("two spaces after", "GET /  HTTP/1.1\r\n\r\n", .malformedVersion),
    Row("tab", "GET\t/ HTTP/1.1\r\n\r\n", .invalidMethod),
    Row("space in target", "GET /a b HTTP/1.1\r\n\r\n", .malformedVersion),
    Row("method alone", "GET\r\n\r\n", .malformedRequestLine),
    Row("C3 PUSH", "PUSH / HTTP/1.1\r\n\r\n", .unknownMethod),
    Row("C3 BAN", "BAN / HTTP/1.1\r\n\r\n", .unknownMethod),
    Row("C3 gEt", "gEt / HTTP/1.1\r\n\r\n", .unknownMethod),
    Row("C3 33 letters", String(repeating: "A", count: 33) + " / HTTP/1.1\r\n\r\n", .unknownMethod),
    Row("C3 GET(", "GET( / HTTP/1.1\r\n\r\n", .invalidMethod),
    Row("C3 asterisk with GET", "GET * HTTP/1.1\r\n\r\n", .targetNotForMethod),
    Row("B4 fragment", "GET /a#b HTTP/1.1\r\n\r\n", .invalidTarget),
    Row("B4 NUL", "GET /a\u{00} HTTP/1.1\r\n\r\n", .nul),
    Row("B4 control", "GET /a\u{01} HTTP/1.1\r\n\r\n", .controlCharacter),
    Row("B4 not ASCII", "GET /ä HTTP/1.1\r\n\r\n", .invalidTarget),
    Row(
      "B4 overlong UTF-8", bytes: Array("GET /".utf8) + [0xC0, 0xAF] + Array(" HTTP/1.1\r\n\r\n".utf8),
      .invalidTarget),
    Row("target: no slash", "GET a HTTP/1.1\r\n\r\n", .invalidTarget),
    Row("target: query alone", "GET ?a HTTP/1.1\r\n\r\n", .invalidTarget),
    Row("target: authority with GET", "GET a:80 HTTP/1.1\r\n\r\n", .invalidTarget),
    Row("target: ftp", "GET ftp://a/ HTTP/1.1\r\n\r\n", .unsupportedScheme),
    Row("target: javascript", "GET javascript:alert HTTP/1.1\r\n\r\n", .invalidTarget),
    Row("target: http:a", "GET http:a HTTP/1.1\r\n\r\n", .invalidTarget),
    Row("target: http:/", "GET http:/ HTTP/1.1\r\n\r\n", .invalidTarget),
    Row("A10 CONNECT without port", "CONNECT a HTTP/1.1\r\n\r\n", .targetNotForMethod),
    Row("A10 CONNECT to a path", "CONNECT /a HTTP/1.1\r\n\r\n", .malformedHost),
  ]

  static let hosts: [Row] =
    [
      Row("B1 no Host", "GET / HTTP/1.1\r\n\r\n", .missingHost),
      Row("B1 no Host in absolute form", "GET http://a/ HTTP/1.1\r\n\r\n", .missingHost),
      Row("B1 two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", .repeatedHost),
      Row("B1 two same Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", .repeatedHost),
      Row("B1 two Hosts on 1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", .repeatedHost),
      Row("B1 absolute form, other Host", "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", .hostMismatch),
      Row("B1 absolute form, other port", "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n", .hostMismatch),
      Row("B1 https, port 80", "GET https://a/ HTTP/1.1\r\nHost: a:80\r\n\r\n", .hostMismatch),
      Row("B1 user information", "GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n", .userInformation),
      Row("B1 empty authority", "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n", .malformedHost),
      Row("B1 comma in authority", "GET http://a,b/ HTTP/1.1\r\nHost: a\r\n\r\n", .malformedHost),
    ]
    + [
      "", "a,b", "a, b", "a b", "u@a", "u:p@a", "a/b", "/", "a?b", "a#b", "a\\b", "a:", "a:080", "a:0",
      "a:65536",
      "a:+80", "a:80a", "a:80:80", ":80", "[::1", "::1", "[::1%eth0]", "[::1%25eth0]", "[1:2:3:4:5:6:7]",
      "[::1::2]",
      "[12345::]", "[:1]", "[1:]", "[]", "[::1]a", "[::1]:", "[v1.a]", "[::1.2.3]", "[::1.2.3.256]",
      "[::01.2.3.4]",
      "[1:2:3:4:5:6:7:1.2.3.4]", "[::1.2.3.4:5]",
      ".", "..", ".a", "a..b", "a..", "a%20b", "ä", "a\tb", "http://a", "*.a",
      String(repeating: "a", count: 257),
    ].map { Row("B1 Host: \($0.prefix(30))", "GET / HTTP/1.1\r\nHost: \($0)\r\n\r\n", .malformedHost) }

  static let connections: [Row] =
    [
      "Host", "host", "Content-Length", "Transfer-Encoding", "Cookie", "Authorization", "Cache-Control",
      "X-Forwarded-For",
      "X-Forwarded-Proto", "X-Forwarded-Anything", "Range", "Vary", "Via", "Date", "Expect", "If-None-Match",
    ].flatMap { name in
      [
        Row("C1 Connection: \(name)", get("Connection: \(name)"), .protectedConnectionOption),
        Row(
          "C1 Connection: close, \(name)", get("Connection: close ,\t\(name),"), .protectedConnectionOption),
      ]
    } + [
      Row(
        "C1 200 tokens", get("Connection: " + Array(repeating: "a", count: 200).joined(separator: ",")),
        .tooManyConnectionOptions),
      Row(
        "C1 33 tokens in 33 lines",
        get(Array(repeating: "Connection: a", count: 33).joined(separator: "\r\n")), .tooManyConnectionOptions
      ),
      Row("C1 not a token", get("Connection: a b"), .malformedConnection),
      Row("C1 parameter", get("Connection: close;q=1"), .malformedConnection),
      Row("A12 unknown expectation", get("Expect: tea"), .unsupportedExpectation),
      Row("A12 empty expectation", get("Expect:"), .unsupportedExpectation),
    ]
}
