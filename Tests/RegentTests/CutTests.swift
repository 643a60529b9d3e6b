// Bodies put together from others, boundaries, and what becomes of a response as it leaves cut (RFC 9110 section 14).

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage
import TestKit
import Testing

@testable import Regent

@Suite("Pieces of bodies")
struct BodyPiecesTests {
  private let digits = Slice(Array("0123456789".utf8))

  @Test("random cuts of pieces are the same cuts of their bytes")
  func cuts() throws {
    let seed = SeededGenerator.anySeed()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      var pieces = BodyPieces()
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        let range = self.range(within: 10, &random)
        bytes += digits.bytes[range]
        let isStream = Bool.random(using: &random)
        let slice = Slice(digits.block, range)
        pieces.append(isStream ? .stream(BodyStream(whole: [digits]), range) : .slice(slice))
      }
      #expect(pieces.count == bytes.count)
      let range = range(within: bytes.count, &random)
      var cut = BodyPieces()
      cut.append(range, of: pieces)
      #expect(cut.count == range.count)
      #expect(cut.slices.flatMap(\.bytes) == Array(bytes[range]))
    }
  }

  private func range(within count: Int, _ random: inout SeededGenerator) -> Range<Int> {
    let start = Int.random(in: 0...count, using: &random)
    return start..<Int.random(in: start...count, using: &random)
  }

  @Test("one reader serves ascending ranges of one body; what was dropped cannot be opened")
  func open() async throws {
    let stream = BodyStream(expected: 10, window: 4)
    var pieces = BodyPieces()
    pieces.append(.stream(stream, 1..<2))
    pieces.append(.slice(digits))
    pieces.append(.stream(stream, 4..<6))
    let open = try #require(OpenPieces(pieces))
    guard case .reader(let first, _) = open.pieces[0], case .reader(let second, _) = open.pieces[2] else {
      Issue.record("no readers")
      return
    }
    #expect(first === second)
    #expect(stream.tryAppend(digits) == .accepted)
    _ = try await first.next()
    first.leave()
    #expect(OpenPieces(pieces) == nil)
  }

  @Test("boundaries are repeated by a seed, and by nothing else")
  func boundaries() {
    var (one, same, other) = (
      Boundaries(seed: 1, salt: 2), Boundaries(seed: 1, salt: 2), Boundaries(seed: 1, salt: 3)
    )
    let first = one.next()
    #expect(first.count == 32 && first == same.next() && first != other.next())
    #expect(first != one.next())
    #expect(first.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    var (fresh, another) = (Boundaries(), Boundaries())
    #expect(fresh.next() != another.next())
  }
}

@Suite("Responses that leave cut")
struct CutTests {
  private func cut(_ response: Response, _ requestFields: String..., method: String = "GET") throws
    -> Response
  {
    var boundaries = Boundaries(seed: 1, salt: 2)
    let fields = requestFields + Array(repeating: "X-Padding: a", count: 2 - min(2, requestFields.count))
    return try response.cut(for: request("\(method) / HTTP/1.1", fields[0], fields[1]), &boundaries)
  }

  private func stored(_ text: String, _ status: Int = 200) -> Response {
    Response(
      status: status, fields: .parsed(fields("ETag: \"a\"", "Content-Type: text/a")),
      body: .whole(Slice(Array(text.utf8))))
  }

  @Test("one range is a slice of what is stored, not a copy")
  func slice() throws {
    let whole = stored("0123456789")
    let part = try cut(whole, "Range: bytes=2-4")
    #expect(part.status == 206 && part.text == "234")
    #expect(part.fields.parsed.first(.contentRange).map { Array($0) } == Array("bytes 2-4/10".utf8))
    guard case .whole(let all) = whole.body, case .whole(let slice) = part.body else {
      Issue.record("no slices")
      return
    }
    #expect(all.block === slice.block)
  }

  @Test("what is no 200, no GET, or of unknown length stays as it is")
  func untouched() throws {
    #expect(try cut(stored("0123456789", 404), "Range: bytes=2-4").status == 404)
    #expect(try cut(stored("0123456789", 206), "Range: bytes=2-4").text == "0123456789")
    #expect(try cut(stored("0123456789"), "Range: bytes=2-4", method: "POST").text == "0123456789")
    var endless = stored("")
    endless.body = .stream(BodyStream(expected: nil))
    #expect(try cut(endless, "Range: bytes=2-4").status == 200)
  }

  @Test("a stored Content-Range of a 200 does not leave beside the one that counts")
  func oneContentRange() throws {
    var lying = stored("0123456789")
    lying.fields = .parsed(fields("Content-Range: bytes 0-1/2"))
    #expect(try cut(lying, "Range: bytes=2-4").fields.parsed.all(.contentRange).count == 1)
  }

  @Test("stored parts are cut by their places in the whole")
  func parts() throws {
    var response = stored("23478", 206)
    response.parts = Parts([2..<5, 7..<9], complete: 10)
    #expect(try cut(response, "Range: bytes=3-4").text == "34")
    #expect(try cut(response, "Range: bytes=8-8").text == "8")
    #expect(try cut(response, "Range: bytes=10-").status == 416)
    let several = try cut(response, "Range: bytes=8-8,2-2")
    let bytes = try #require(BodyPieces(several.body)).slices.flatMap(\.bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains("Content-Range: bytes 8-8/10\r\n\r\n8\r\n--"))
    #expect(text.contains("Content-Range: bytes 2-2/10\r\n\r\n2\r\n--"))
    #expect(several.fields.parsed.all(.contentType).count == 1)
  }

  @Test("a 416 leaves a body that arrives unread: its writer is told")
  func unread() throws {
    let stream = BodyStream(expected: 10)
    var response = stored("")
    response.body = .stream(stream)
    #expect(try cut(response, "Range: bytes=10-").status == 416)
    #expect(stream.tryAppend(Slice([1])) == .abandoned)
  }
}
