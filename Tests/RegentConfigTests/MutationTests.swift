// Any bytes whatever: mutations of good files must end in a configuration or in errors, never in a trap.
// The TOML parser is C++ with assertions of its own; `Surface` refuses what would set them off.

import TestKit
import Testing

@testable import RegentConfig

@Suite("Mutated files")
struct MutationTests {
  /// The corners of TOML, none of which is a key of Regent.
  static let corners = #"""
    a = -1_000.25e-3
    b = [ {x = 1.5e3, y = [0x1F, 0o7, 0b1, nan, -inf]}, {z = +7} ]
    [t."q r".'s']
    k.'l'."m" = '''a'''
    [[u . v]] # c
    w = """x\
      y"""
    [[u.v.w]]
    _-1 = { }
    d = [
      true, # e
    ]
    """#

  static let pieces = [
    "[", "]", "{", "}", "\"", "'", "\"\"\"", "'''", "=", ".", ",", "#", "\n", "\r", "\t", " ", "\\",
    "\\u00e9",
    "\\U0001F600", "\u{0}", "\u{7F}", "é", "[[", "9", "-", "+", "_", ":", "T", "e", "x", "0x", "inf", "true",
    "2026-01-01", "T", "07:32",
  ]

  @Test(
    "no mutation of a good file traps the reader, and every refusal names a line that exists",
    arguments: [ReadingTests.file, Self.corners])
  func mutations(file: String) {
    let seed = SeededGenerator.anySeed()
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      let text = Self.mutated(file, by: &random)
      let lines = text.utf8.count { $0 == 0x0A } + 1
      do {
        _ = try Configuration.parse(text, file: "f")
      } catch {
        #expect(!error.errors.isEmpty, "seed \(seed)")
        #expect(
          error.errors.allSatisfy { $0.line.map { 1...(lines + 1) ~= $0 } == true },
          "seed \(seed): \(error) \(text)")
      }
    }
  }

  private static func mutated(_ text: String, by random: inout SeededGenerator) -> String {
    var characters = Array(text)
    for _ in 0...Int.random(in: 0..<4, using: &random) {
      let place = Int.random(in: 0..<characters.count, using: &random)
      let end = min(characters.count, place + Int.random(in: 0..<6, using: &random))
      characters.replaceSubrange(place..<end, with: Array(pieces.randomElement(using: &random) ?? ""))
    }
    return String(characters)
  }
}
