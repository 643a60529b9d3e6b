// Message bodies, taken and refused, whole and in pieces (TRUST A4 to A7, A14, D3).

import TestKit
import Testing

@testable import RegentHTTP

/// How a body came out: its content and how much of the bytes belong to it, or what was wrong and where.
enum BodyOutcome: Equatable {
  case content(String, trailers: String = "", consumed: Int, complete: Bool)
  case refused(ParseError.Rule, at: Int)
}

/// Feeds pieces that begin where the last one ended; nothing is kept between them.
func feedBody(_ bytes: [UInt8], _ ends: [Int], _ framing: BodyFraming) -> BodyOutcome {
  var decoder = BodyDecoder(framing)
  var (content, trailers) = ([UInt8](), [UInt8]())
  var start = 0
  for end in ends {
    let piece = bytes.span.extracting(start..<end)
    var offset = 0
    do throws(ParseError) {
      reading: while true {
        switch try decoder.next(piece, at: &offset) {
        case .content(let range): content += Array(bytes[start + range.lowerBound..<start + range.upperBound])
        case .trailers(let range):
          trailers += Array(bytes[start + range.lowerBound..<start + range.upperBound])
        case .needMore: break reading
        case .end:
          return .content(
            text(content), trailers: text(trailers), consumed: start + offset, complete: decoder.isComplete)
        }
      }
    } catch {
      return .refused(error.rule, at: start + error.offset)
    }
    start += offset
    if offset != piece.count { return .refused(.incompleteBody, at: -1) }
  }
  return .content(text(content), trailers: text(trailers), consumed: start, complete: decoder.isComplete)
}

func agreeBody(_ bytes: [UInt8], _ framing: BodyFraming) -> BodyOutcome {
  let whole = feedBody(bytes, Pieces.whole(bytes.count), framing)
  #expect(feedBody(bytes, Pieces.single(bytes.count), framing) == whole, "byte by byte")
  for _ in 0..<4 {
    let seed = SeededGenerator.anySeed()
    #expect(feedBody(bytes, Pieces.random(bytes.count, seed: seed), framing) == whole, "seed \(seed)")
  }
  return whole
}

@Suite struct BodyTests {
  @Test("a broken chunked body is refused", arguments: sizes + extensions + tails + trailers)
  func refusedChunks(_ row: Row) {
    guard case .refused(let rule, _) = agreeBody(row.bytes, .chunked) else {
      Issue.record("\(row.id) was taken")
      return
    }
    #expect(rule == row.rule)
  }

  static let sizes: [Row] = [
    Row("A4 0x3", "0x3\r\nabc\r\n0\r\n\r\n", .invalidChunkSize),
    Row("A4 +3", "+3\r\nabc\r\n0\r\n\r\n", .invalidChunkSize),
    Row("A4 -3", "-3\r\nabc\r\n0\r\n\r\n", .invalidChunkSize),
    Row("A4 _3", "_3\r\nabc\r\n0\r\n\r\n", .invalidChunkSize),
    Row("A4 3_", "3_\r\nabc\r\n0\r\n\r\n", .invalidChunkSize),
    Row("A4 space 3", " 3\r\nabc\r\n0\r\n\r\n", .invalidChunkSize),
    Row("A4 3 space", "3 \r\nabc\r\n0\r\n\r\n", .invalidChunkExtension),
    Row("A4 3 tab", "3\t\r\nabc\r\n0\r\n\r\n", .invalidChunkExtension),
    Row("A4 empty", "\r\nabc\r\n0\r\n\r\n", .invalidChunkSize),
    Row("A4 g", "g\r\n", .invalidChunkSize),
    Row("A4 NUL", "3\u{00}\r\n", .invalidChunkSize),
    Row("A4 17 digits", "00000000000000003\r\n", .invalidChunkSize),
    Row("A4 16 F", "FFFFFFFFFFFFFFFF\r\n", .chunkSizeOverflow),
    Row("A4 2^63", "8000000000000000\r\n", .chunkSizeOverflow),
    Row("A4 sum over 2^63", "1\r\na\r\n7FFFFFFFFFFFFFFF\r\n", .chunkSizeOverflow),
    Row("A4 bare LF", "3\nabc\r\n0\r\n\r\n", .bareLineFeed),
    Row("A4 bare CR", "3\rabc", .bareCarriageReturn),
    Row("A4 LF alone", "\n", .bareLineFeed),
  ]

  static let extensions: [Row] = [
    Row("A5 LF in extension", "3;a\n\r\nabc", .bareLineFeed),
    Row("A5 LF in value", "3;a=b\nabc", .bareLineFeed),
    Row("A5 CR in extension", "3;a\rb\r\nabc", .bareCarriageReturn),
    Row("A5 NUL in extension", "3;a\u{00}\r\nabc", .invalidChunkExtension),
    Row("A5 quoted CRLF", "3;a=\"\r\n\"\r\nabc", .invalidChunkExtension),
    Row("A5 quoted LF", "3;a=\"\n\"\r\nabc", .bareLineFeed),
    Row("A5 quoted pair CR", "3;a=\"\\\r\"\r\nabc", .invalidChunkExtension),
    Row("A5 quote never ends", "3;a=\"b\r\nabc", .invalidChunkExtension),
    Row("A5 text after quote", "3;a=\"b\"c\r\nabc", .invalidChunkExtension),
    Row("A5 empty name", "3;\r\nabc", .invalidChunkExtension),
    Row("A5 empty name, value", "3;=b\r\nabc", .invalidChunkExtension),
    Row("A5 two semicolons", "3;;a\r\nabc", .invalidChunkExtension),
    Row("A5 empty value", "3;a=\r\nabc", .invalidChunkExtension),
    Row("A5 space inside", "3;a b\r\nabc", .invalidChunkExtension),
    Row("A5 space at the end", "3;a \r\nabc", .invalidChunkExtension),
    Row("A5 257 bytes", "3;\(String(repeating: "a", count: 256))\r\nabc", .chunkExtensionTooLong),
    Row("A5 1 MiB", "3;\(String(repeating: "a", count: 1 << 20))\r\nabc", .chunkExtensionTooLong),
    Row(
      "A5 200 B on each of 50",
      String(repeating: "1;\(String(repeating: "a", count: 199))\r\nx\r\n", count: 50), .chunkExtensionTooLong
    ),
  ]

  static let tails: [Row] = [
    Row("A6 X after data", "3\r\nabcX", .missingChunkEnd),
    Row("A6 no CRLF", "3\r\nabc0\r\n\r\n", .missingChunkEnd),
    Row("A6 LF only", "3\r\nabc\n0\r\n\r\n", .missingChunkEnd),
    Row("A6 CR only", "3\r\nabc\r0\r\n\r\n", .missingChunkEnd),
    Row("A6 CRLF CRLF", "3\r\nabc\r\n\r\n0\r\n\r\n", .invalidChunkSize),
  ]

  static let trailers: [Row] = [
    Row("A7 bare LF end", "0\r\n\n", .bareLineFeed),
    Row("A7 bare LF line", "0\r\nA: b\n\r\n", .bareLineFeed),
    Row("A7 bare CR end", "0\r\n\rX", .bareCarriageReturn),
    Row("A7 bare CR line", "0\r\nA: b\rX", .bareCarriageReturn),
    Row("A7 64 KiB", "0\r\nA: \(String(repeating: "b", count: 64 << 10))\r\n\r\n", .trailersTooLarge),
    Row("A7 64 KiB of lines", "0\r\n\(String(repeating: "A: b\r\n", count: 10_000))\r\n", .trailersTooLarge),
    Row("A7 obs-fold", "0\r\nA: b\r\n c\r\n\r\n", .malformedTrailer),
    Row("A7 empty name", "0\r\n: b\r\n\r\n", .malformedTrailer),
    Row("A7 no colon", "0\r\nA\r\n\r\n", .malformedTrailer),
    Row("A7 space before colon", "0\r\nA : b\r\n\r\n", .malformedTrailer),
    Row("A7 NUL", "0\r\nA: \u{00}\r\n\r\n", .malformedTrailer),
    Row("A7 smuggled request", "0\r\nGET / HTTP/1.1\r\n\r\n", .malformedTrailer),
  ]

  @Test("a chunked body is read to its exact end", arguments: taken)
  func takenChunks(_ row: Row, _ content: String) {
    let end = row.bytes.count
    let next = row.bytes + Array("GET / HTTP/1.1\r\n".utf8)
    #expect(agreeBody(next, .chunked) == .content(content, consumed: end, complete: true))
  }

  static let taken: [(Row, String)] = [
    (Row("empty", "0\r\n\r\n"), ""),
    (Row("one", "3\r\nabc\r\n0\r\n\r\n"), "abc"),
    (Row("zeros", "0003\r\nabc\r\n0000000000000000\r\n\r\n"), "abc"),
    (Row("both cases", "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n"), "01234567890123456789a"),
    (Row("CRLF in data", "4\r\n\r\n\r\n\r\n0\r\n\r\n"), "\r\n\r\n"),
    (Row("A5 extension", "3;a\r\nabc\r\n0;b=c\r\n\r\n"), "abc"),
    (Row("A5 quoted", "3;a=\"b;\\\"c \t\";d\r\nabc\r\n0\r\n\r\n"), "abc"),
    (Row("A5 bad white space", "3 ; a = b ;c\t=\t\"d\" ;e\r\nabc\r\n0\r\n\r\n"), "abc"),
    (Row("A5 256 bytes", "3;\(String(repeating: "a", count: 255))\r\nabc\r\n0\r\n\r\n"), "abc"),
  ]

  @Test("trailers are no content, and told of as they came", arguments: ["", "3\r\nabc\r\n"])
  func takenTrailers(chunks: String) throws {
    let lines =
      "Content-Length: 5\r\nTransfer-Encoding: x\r\nHost: b\r\nAuthorization:\r\nrepr-digest:  a \r\n"
    let bytes = Array("\(chunks)0\r\n\(lines)\r\n".utf8)
    let content = chunks.isEmpty ? "" : "abc"
    #expect(
      agreeBody(bytes + Array("GET /".utf8), .chunked)
        == .content(content, trailers: lines, consumed: bytes.count, complete: true))
    let fields = try Fields(trailers: Array(lines.utf8))
    #expect(
      fields.lines.map(\.name) == [.contentLength, .transferEncoding, .host, .authorization, .reprDigest])
    #expect(fields.first(.reprDigest).map { text(Array($0)) } == "a")
  }

  @Test("trailers of more lines than a head may have are no fields, nor is what a decoder refused")
  func fieldsOfTrailers() throws {
    #expect(try Fields(trailers: []).lines.isEmpty)
    let line = "a: b\r\n"
    #expect(try Fields(trailers: Array(String(repeating: line, count: 100).utf8)).lines.count == 100)
    for wrong in [String(repeating: line, count: 101), "a: b", "a: b\r\n\r\n", "a b\r\n", "a: b\n"] {
      #expect(throws: ParseError.self) { try Fields(trailers: Array(wrong.utf8)) }
    }
  }

  @Test("content of a known length ends with its last byte")
  func length() {
    let bytes = Array("abcdefGET".utf8)
    #expect(agreeBody(bytes, .length(6)) == .content("abcdef", consumed: 6, complete: true))
    #expect(agreeBody(bytes, .length(0)) == .content("", consumed: 0, complete: true))
    #expect(agreeBody(bytes, .none) == .content("", consumed: 0, complete: true))
    #expect(agreeBody(bytes, .length(10)) == .content("abcdefGET", consumed: 9, complete: false))
    #expect(agreeBody(bytes, .untilClose) == .content("abcdefGET", consumed: 9, complete: false))
  }

  @Test("the end of the connection completes nothing but content until close")
  func ended() throws {
    var open = BodyDecoder(.untilClose)
    try open.inputEnded()
    #expect(open.isComplete)
    var done = BodyDecoder(.length(0))
    try done.inputEnded()
    for framing in [BodyFraming.length(1), .chunked] {
      var decoder = BodyDecoder(framing)
      #expect(throws: ParseError(.incompleteBody, at: 0)) { try decoder.inputEnded() }
    }
  }

  @Test("A15 behind a broken chunk nothing is read")
  func poisoned() {
    let bytes = Array("3\r\nabcX3\r\nabc\r\n".utf8)
    var decoder = BodyDecoder(.chunked)
    var offset = 0
    _ = try? decoder.next(bytes.span, at: &offset)
    for _ in 0..<3 {
      #expect(throws: ParseError(.missingChunkEnd, at: 6)) { try decoder.next(bytes.span, at: &offset) }
    }
  }

  @Test("what remains is known for a length alone")
  func remaining() throws {
    var decoder = BodyDecoder(.length(5))
    var offset = 1
    #expect(try decoder.next([0, 1, 2].span, at: &offset) == .content(1..<3))
    #expect(decoder.remaining == 3)
    #expect(try decoder.next([0, 1, 2].span, at: &offset) == .needMore)
    #expect(BodyDecoder(.chunked).remaining == nil)
  }

  @Test("a million chunks of one byte cost one step each, without recursion")
  func manyChunks() throws {
    let count = 1 << 20
    let bytes =
      Array(repeatElement(Array("1\r\nX\r\n".utf8), count: count).joined()) + Array("0\r\n\r\n".utf8)
    var decoder = BodyDecoder(.chunked)
    var offset = 0
    var steps = 0
    while case .content = try decoder.next(bytes.span, at: &offset) { steps += 1 }
    #expect(steps == count)
    #expect(decoder.isComplete)
    #expect(offset == bytes.count)
  }
}
