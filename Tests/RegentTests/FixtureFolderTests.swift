// Paths below a folder of fixtures: a file beneath it, or nothing.

import TestKit
import Testing

@testable import Regent

@Suite("A folder of fixtures")
struct FixtureFolderTests {
  @Test(
    "names the file that a path means",
    arguments: [
      ("/", "index.html"), ("/a", "a"), ("/a/", "a/index.html"), ("/a/b.json", "a/b.json"), ("/...", "..."),
      ("/..a", "..a"), ("/a..", "a.."), ("/.hidden", ".hidden"), ("/a b", "a b"), ("/ä", "ä"),
      ("/a\\b", "a\\b"),
    ])
  func names(path: String, file: String) {
    #expect(FixtureFolder.relative(path) == file)
  }

  @Test(
    "has no name for a path that leads elsewhere, or could",
    arguments: [
      "", "a", "..", "../a", "/..", "/../", "/../a", "/a/..", "/a/../b", "/a/../../b", "/.", "/./a", "/a/.",
      "/a/./b", "//", "//a", "//etc/passwd", "/a//b", "/a//", "/%2e%2e/a", "/%2E%2E%2Fa", "/a%00", "/a%2f..",
      "/a\0", "/\0", "/a\0/../b", "/..\0", "*", "/%",
      // A mark that joins the slash before it makes one character of both, but not one byte.
      "/../\u{301}a", "/..\u{FE0F}/../\u{301}", "/a/\u{301}/..", "/..\u{20DD}/../\u{20DD}a", "/%\u{301}2e",
    ])
  func traversal(path: String) {
    #expect(FixtureFolder.relative(path) == nil)
  }

  @Test("lets no random path climb", arguments: 1...40)
  func random(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let pieces = ["/", "/", "..", ".", "a", "%2e", "\0", "\u{301}", "\u{200D}", "\\", "~", "\u{FE0F}", "b"]
    for _ in 0..<300 {
      let path = (0..<Int.random(in: 1...8, using: &random)).map { _ in
        pieces.randomElement(using: &random) ?? ""
      }
      guard let name = FixtureFolder.relative(path.joined()) else { continue }
      let parts = Array(name.utf8).split(separator: 0x2F, omittingEmptySubsequences: false).map(Array.init)
      let forbidden = ["", ".", ".."].map { Array($0.utf8) }
      #expect(parts.allSatisfy { !forbidden.contains($0) && !$0.contains(0) }, "seed \(seed)")
    }
  }
}
