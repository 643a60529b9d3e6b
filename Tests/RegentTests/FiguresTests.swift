// What is counted and how it is written: latencies in buckets, and JSON.

import TestKit
import Testing

@testable import Regent

@Suite("The histogram of latencies")
struct LatencyHistogramTests {
  private static let limit: Int64 = 1 << 38

  @Test("puts each value into a bucket whose upper bound is at most an eighth above it", arguments: 1...20)
  func bound(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    for _ in 0..<500 {
      let value = Int64.random(in: 0..<(1 << Int64.random(in: 1...38, using: &random)), using: &random)
      let upper = LatencyHistogram.upperBound(LatencyHistogram.bucket(value))
      #expect(upper >= value && upper - value <= value / 8, "seed \(seed), value \(value)")
    }
  }

  @Test("has buckets without a hole and without an overlap")
  func contiguous() {
    var last: Int64 = -1
    for bucket in 0..<(36 * 8) {
      let upper = LatencyHistogram.upperBound(bucket)
      #expect(upper > last)
      #expect(LatencyHistogram.bucket(last + 1) == bucket && LatencyHistogram.bucket(upper) == bucket)
      last = upper
    }
    #expect(last == Self.limit - 1)
  }

  @Test("takes any value there is", arguments: [Int64.min, -1, 0, 1, 1 << 38, 1 << 50, .max])
  func extremes(value: Int64) {
    let histogram = LatencyHistogram()
    histogram.record(value)
    #expect(histogram.counts.reduce(0, +) == 1)
    let found = LatencyHistogram.quantile(1, of: histogram.counts)
    #expect(found == min(max(value, 0), Self.limit - 1))
  }

  @Test("gives quantiles that are at most an eighth above the true ones", arguments: 1...20)
  func quantiles(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let histogram = LatencyHistogram()
    let values = (0..<Int.random(in: 1...2000, using: &random)).map { _ in
      Int64.random(in: 0..<(1 << Int64.random(in: 1...36, using: &random)), using: &random)
    }.sorted()
    for value in values { histogram.record(value) }
    for part in [0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1] {
      let place = max(1, Int((Double(values.count) * part).rounded(.up)))
      let (exact, found) = (values[place - 1], LatencyHistogram.quantile(part, of: histogram.counts))
      #expect(found >= exact && found - exact <= exact / 8, "seed \(seed), part \(part)")
    }
  }

  @Test("counts a value as often as it is told, and gives 0 where nothing was counted")
  func times() {
    let histogram = LatencyHistogram()
    #expect(LatencyHistogram.quantile(0.5, of: histogram.counts) == 0)
    histogram.record(3, times: 99)
    histogram.record(1000, times: 1)
    #expect(LatencyHistogram.quantile(0.99, of: histogram.counts) == 3)
    #expect(LatencyHistogram.quantile(1, of: histogram.counts) >= 1000)
    #expect(LatencyHistogram.quantile(0, of: histogram.counts) == 3)
  }
}

@Suite("The writer of JSON")
struct JSONWriterTests {
  private func text(_ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    write(&writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  @Test("indents objects and arrays, and separates what they hold")
  func layout() {
    let json = text { json in
      json.object { json in
        json.value("a", 1)
        json.object("b") { $0.value("c", "d") }
        json.array("e") { json in
          json.value(nil, -2)
          json.value(nil, "f")
          json.object { _ in }
        }
        json.object("g") { _ in }
      }
    }
    #expect(
      json == """
        {
          "a": 1,
          "b": {
            "c": "d"
          },
          "e": [
            -2,
            "f",
            {}
          ],
          "g": {}
        }
        """)
  }

  @Test(
    "escapes what JSON or a page around it could stumble over (RFC 8259 section 7)",
    arguments: [
      ("plain", "plain"), ("\"", "\\\""), ("\\", "\\\\"), ("\n", "\\u000a"), ("\r\n", "\\u000d\\u000a"),
      ("\0", "\\u0000"), ("\u{1F}", "\\u001f"), ("\u{7F}", "\\u007f"), ("</script>", "\\u003c/script>"),
      ("ä€😀", "ä€😀"), ("\u{2028}", "\u{2028}"), ("", ""), ("/", "/"),
    ])
  func escapes(plain: String, escaped: String) {
    #expect(text { $0.value(nil, plain) } == "\"\(escaped)\"")
    let object = text { json in json.object { $0.value(plain, 1) } }
    #expect(object == "{\n  \"\(escaped)\": 1\n}")
  }

  @Test("writes every integer", arguments: [Int.min, -1, 0, Int.max])
  func integers(number: Int) {
    #expect(text { $0.value(nil, number) } == "\(number)")
  }
}
