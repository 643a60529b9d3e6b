// Every response head that must be refused: an origin is held to the same grammar as a client.

import Testing

@testable import RegentHTTP

private func ok(_ fields: String) -> String { "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n" }

@Suite struct RefusedResponseTests {
  @Test("a response that breaks the grammar is refused", arguments: rows)
  func refused(_ row: Row) {
    let outcome = agree(row.bytes) { feedResponse($0, $1) }
    #expect(outcome.rule == row.rule, "\(outcome)")
  }

  static let rows: [Row] = framing + syntax + lines

  static let framing: [Row] =
    [
      Row(
        "A1 CL then TE", ok("Content-Length: 3\r\nTransfer-Encoding: chunked"),
        .contentLengthAndTransferEncoding),
      Row(
        "A1 TE then CL", ok("Transfer-Encoding: chunked\r\nContent-Length: 3"),
        .contentLengthAndTransferEncoding),
      Row("A3 TE: xchunked", ok("Transfer-Encoding: xchunked"), .unsupportedTransferCoding),
      Row("A3 TE: gzip", ok("Transfer-Encoding: gzip"), .unsupportedTransferCoding),
      Row("A3 TE: gzip, chunked", ok("Transfer-Encoding: gzip, chunked"), .unsupportedTransferCoding),
      Row("A3 TE: chunked, chunked", ok("Transfer-Encoding: chunked, chunked"), .malformedTransferEncoding),
      Row("A3 TE: chunked, identity", ok("Transfer-Encoding: chunked, identity"), .malformedTransferEncoding),
      Row(
        "A3 TE twice", ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        .repeatedTransferEncoding),
      Row("A3 TE empty", ok("Transfer-Encoding: "), .malformedTransferEncoding),
      Row("A3 TE on 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncodingInHTTP10),
      Row(
        "A16 302 with broken TE", "HTTP/1.1 302 Found\r\nTransfer-Encoding: chunked,\r\n\r\n",
        .malformedTransferEncoding),
      Row("A2 twice the same", ok("Content-Length: 3\r\nContent-Length: 3"), .repeatedContentLength),
      Row("A2 twice different", ok("Content-Length: 3\r\nContent-Length: 4"), .repeatedContentLength),
      Row("C1 Connection: Content-Length", ok("Connection: Content-Length"), .protectedConnectionOption),
      Row("C1 Connection: Cache-Control", ok("Connection: close, cache-control"), .protectedConnectionOption),
      Row("C1 Connection: Vary", ok("Connection: Vary"), .protectedConnectionOption),
    ]
    + ["", "+3", "-0", "0x3", "3_0", "3,3", "3, 3", "9007199254740993", "99999999999999999999"].map {
      Row("A2 Content-Length: \($0)", ok("Content-Length: \($0)"), .invalidContentLength)
    }

  static let syntax: [Row] = [
    Row("A11 empty name", ok(": x"), .emptyFieldName),
    Row("A11 space in name", ok("A B: x"), .invalidFieldName),
    Row("A11 space before colon", ok("A : x"), .spaceBeforeColon),
    Row("A11 no colon", ok("A"), .missingColon),
    Row("A11 obs-fold", ok("A: x\r\n y"), .obsoleteFold),
    Row("A11 leading white space line", "HTTP/1.1 200 OK\r\n\tA: x\r\n\r\n", .obsoleteFold),
    Row("A11 UTF-8 name", ok("Ä: x"), .invalidFieldName),
    Row("A11 NUL in name", ok("A\u{00}: x"), .nul),
    Row("A11 NUL in value", ok("A: x\u{00}"), .nul),
    Row("A11 DEL in value", ok("A: x\u{7F}"), .controlCharacter),
    Row("A11 bare CR", ok("A: x\ry"), .bareCarriageReturn),
    Row("A11 bare LF", "HTTP/1.1 200 OK\r\nA: x\nB: y\r\n\r\n", .bareLineFeed),
    Row("A11 bare LF head", "HTTP/1.1 200 OK\nA: x\n\n", .bareLineFeed),
    Row("A11 NUL in reason", "HTTP/1.1 200 O\u{00}K\r\n\r\n", .nul),
  ]

  static let lines: [Row] = [
    Row("status 099", "HTTP/1.1 099 X\r\n\r\n", .invalidStatus),
    Row("status 000", "HTTP/1.1 000 X\r\n\r\n", .invalidStatus),
    Row("status 600", "HTTP/1.1 600 X\r\n\r\n", .invalidStatus),
    Row("status 999", "HTTP/1.1 999 X\r\n\r\n", .invalidStatus),
    Row("status 20", "HTTP/1.1 20 X\r\n\r\n", .malformedStatusLine),
    Row("status 2000", "HTTP/1.1 2000 X\r\n\r\n", .malformedStatusLine),
    Row("status +20", "HTTP/1.1 +20 X\r\n\r\n", .malformedStatusLine),
    Row("status two spaces", "HTTP/1.1  200 OK\r\n\r\n", .malformedStatusLine),
    Row("status tab", "HTTP/1.1 200\tOK\r\n\r\n", .malformedStatusLine),
    Row("status missing", "HTTP/1.1\r\n\r\n", .malformedStatusLine),
    Row("status empty", "HTTP/1.1 \r\n\r\n", .malformedStatusLine),
    Row("version HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", .unsupportedVersion),
    Row("version HTTP/1.10", "HTTP/1.10 200 OK\r\n\r\n", .unsupportedVersion),
    Row("version ICY", "ICY 200 OK\r\n\r\n", .malformedVersion),
    Row("empty line before", "\r\nHTTP/1.1 200 OK\r\n\r\n", .malformedVersion),
    Row("left-over content before", "xHTTP/1.1 200 OK\r\n\r\n", .malformedVersion),
  ]
}
