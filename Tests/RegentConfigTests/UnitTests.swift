// Sizes and durations: every accepted spelling, and what must be refused rather than guessed.

import Testing

@testable import RegentConfig

@Suite("Units")
struct UnitTests {
  @Test(
    "a size is a number and a binary or decimal unit",
    arguments: [
      ("0", 0), ("512", 512), ("512 B", 512), ("1kB", 1_000), ("64 KiB", 65_536), ("64KiB", 65_536),
      ("256 MiB", 268_435_456), ("10 MB", 10_000_000), ("1 GiB", 1_073_741_824), ("2 GB", 2_000_000_000),
      ("1 TiB", 1_099_511_627_776), ("1 TB", 1_000_000_000_000), ("1.5 KiB", 1_536), ("0.25 MiB", 262_144),
      ("9223372036854775807", .max),
    ])
  func sizes(text: String, bytes: Int) { #expect(ByteCount(text)?.bytes == bytes) }

  @Test(
    "a size that is negative, unknown, inexact or too large is refused",
    arguments: [
      "", " ", "-1", "+1", "- 1 KiB", "KiB", "1 kib", "1 KB", "1 mb", "1 Kib", "1  KiB", " 1", "1 ", "1 KiB ",
      "1.", ".5 KiB", "1. KiB", "1.5", "0.3 KiB", "1,5 KiB", "0x10", "1e3", "1_000", "1 parsec", "٣ KiB",
      "9223372036854775808", "8388608 TiB", "9999999999999999999999999 B", "1.0000000000000000000001 TiB",
    ])
  func badSizes(text: String) { #expect(ByteCount(text) == nil) }

  @Test("a size is written in its largest whole unit, and reads back the same")
  func writtenSizes() {
    for (bytes, text) in [
      (0, "0 B"), (1, "1 B"), (1_000, "1000 B"), (1_024, "1 KiB"), (1_536, "1536 B"), (32 << 20, "32 MiB"),
      (1 << 40, "1 TiB"),
    ] {
      #expect(ByteCount(bytes: bytes).description == text)
      #expect(ByteCount(text)?.bytes == bytes)
    }
  }

  @Test(
    "a duration is a number and a unit",
    arguments: [
      ("0s", Duration.zero), ("250ms", .milliseconds(250)), ("10s", .seconds(10)), ("10 s", .seconds(10)),
      ("5m", .seconds(300)), ("2h", .seconds(7_200)), ("7d", .seconds(604_800)),
      ("1.5s", .milliseconds(1_500)),
      ("10us", .microseconds(10)), ("36500d", .seconds(36_500 * 86_400)),
    ])
  func durations(text: String, duration: Duration) { #expect(Duration(configured: text) == duration) }

  @Test(
    "a duration without unit, below zero, or out of range is refused",
    arguments: [
      "", "10", "-1s", "s", "1 minute", "5M", "1.5us", "36501d", "9223372036854775807d", "1s1s", "1:30", "∞",
    ])
  func badDurations(text: String) { #expect(Duration(configured: text) == nil) }

  @Test("a duration is written in its largest whole unit, and reads back the same")
  func writtenDurations() {
    for text in ["0s", "250ms", "10s", "5m", "90s", "2h", "7d", "1us"] {
      #expect(Duration(configured: text)?.configured == text)
    }
  }
}
