// A parser that has understood heads before understands the next one as a new parser does, whatever the lines that they
// share: all bytes are compared.

import TestKit
import Testing

@testable import RegentHTTP

/// One origin's responses, one like the other.
private struct Heads {
  var random: SeededGenerator
  private static let lines = [
    "Server: nginx", "server: nginx", "Date: Sun, 06 Nov 1994 08:49:37 GMT",
    "Date: Sun, 06 Nov 1994 08:49:38 GMT",
    "Content-Length: 5", "Content-Length: 7", "Content-Length:5", "Content-Length: x",
    "Transfer-Encoding: chunked",
    "Connection: close", "Connection: keep-alive", "Connection: ,", "X-A: 1", "X-A:1", "X-A: 1 ", "X-A: 12",
    "X-B : 1",
    "ETag: \"1\"", "ETag: \"2\"", ": x", "X-C: \u{1}", "Keep-Alive: 1",
    "X-Long: \(String(repeating: "x", count: 60))",
  ]
  private static let starts = [
    "HTTP/1.1 200 OK", "HTTP/1.1 200 Okay", "HTTP/1.0 200 OK", "HTTP/1.1 304 Not Modified", "HTTP/1.1 200",
    "HTTP/2 200 OK",
  ]

  mutating func next(after last: [String]) -> [String] {
    var lines = last
    if lines.isEmpty || Int.random(in: 0..<20, using: &random) == 0 {
      let count = Int.random(in: 0...6, using: &random)
      lines = [Self.starts[0]] + (0..<count).map { _ in Self.lines.randomElement(using: &random) ?? "" }
    }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let place = Int.random(in: 0..<lines.count, using: &random)
      if place == 0 {
        lines[0] = Self.starts.randomElement(using: &random) ?? ""
      } else if Bool.random(using: &random) {
        lines[place] = Self.lines.randomElement(using: &random) ?? ""
      } else {
        lines.remove(at: place)
      }
    }
    return lines
  }
}

@Suite struct KnownLinesTests {
  @Test("a head that is like the last one is understood as by a parser that knows none")
  func property() {
    let seed = SeededGenerator.anySeed()
    var heads = Heads(random: SeededGenerator(seed: seed))
    let limits = MessageLimits(head: 220, line: 70, fields: 5)
    var parser = ResponseParser(limits: limits)
    var lines: [String] = []
    var understood = 0
    for _ in 0..<20_000 {
      lines = heads.next(after: lines)
      let bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\nbody HTTP/1.1").utf8)
      let ends = Pieces.random(bytes.count, seed: heads.random.next())
      let outcome = feed(&parser, bytes, Bool.random(using: &heads.random) ? [bytes.count] : ends)
      #expect(outcome == feedResponse(bytes, [bytes.count], limits), "\(lines), seed \(seed)")
      if case .head = outcome { understood += 1 } else { parser.reset() }
    }
    #expect(understood > 5000)
  }

  @Test(
    "a line is written with a known name as Regent spells it, another one as it came, and a value without blanks"
  )
  func spelling() throws {
    let head = "HTTP/1.1 200 OK\r\netag:  \"a\" \r\nSERVER: x\r\nX-aB:b\r\nVary: c\r\nx-c: d\r\nDate:\r\n\r\n"
    var parser = ResponseParser()
    let fields = try #require(try parser.parse(Array(head.utf8).span)).fields
    var written: [UInt8] = []
    for line in fields.lines { fields.append(line, onto: &written) }
    let expected = "ETag: \"a\"\r\nServer: x\r\nX-aB: b\r\nVary: c\r\nx-c: d\r\nDate: \r\n"
    #expect(text(written) == expected)
  }

  private func equal(_ bytes: [UInt8], _ range: Range<Int>, _ other: [UInt8], _ start: Int) -> Bool {
    bytes.span.equals(range, other.span, from: start)
  }

  @Test("spans are equal where all their bytes are, at any offset and length")
  func equal() {
    let seed = SeededGenerator.anySeed()
    var random = SeededGenerator(seed: seed)
    for _ in 0..<5000 {
      let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      var other = (0..<Int.random(in: 0...9, using: &random)).map { _ in UInt8(7) } + bytes + [1, 2]
      let start = other.count - bytes.count - 2
      #expect(equal(bytes, 0..<bytes.count, other, start), "seed \(seed)")
      #expect(!equal(bytes, 0..<bytes.count, other, start + 3), "seed \(seed)")
      guard !bytes.isEmpty else { continue }
      let place = Int.random(in: 0..<bytes.count, using: &random)
      other[start + place] ^= 1
      #expect(!equal(bytes, 0..<bytes.count, other, start), "seed \(seed)")
      #expect(equal(bytes, 0..<place, other, start), "seed \(seed)")
    }
  }
}
