// "Did you mean".

import Testing

@testable import RegentConfig

@Suite("The nearest name")
struct NearestTests {
  @Test(
    "edits are insertions, deletions, replacements and swaps of neighbours",
    arguments: [
      ("", "", 0), ("a", "", 1), ("", "abc", 3), ("memory", "memory", 0), ("memroy", "memory", 1),
      ("memry", "memory", 1), ("memoryy", "memory", 1), ("mamory", "memory", 1), ("kitten", "sitting", 3),
    ])
  func edits(left: String, right: String, edits: Int) {
    #expect(Nearest.edits(from: left, to: right) == edits)
    #expect(Nearest.edits(from: right, to: left) == edits)
  }

  @Test("the nearest name is at most three edits away, and shares something with what was written")
  func nearest() {
    let names = ["memory", "limits", "log", "server"]
    #expect(Nearest.candidate(to: "memroy", among: names) == "memory")
    #expect(Nearest.candidate(to: "sever", among: names) == "server")
    #expect(Nearest.candidate(to: "lgo", among: names) == "log")
    #expect(Nearest.candidate(to: "xyz", among: names) == nil)
    #expect(Nearest.candidate(to: "memories", among: names) == "memory")
    #expect(Nearest.candidate(to: "memorabilia", among: names) == nil)
    #expect(Nearest.candidate(to: String(repeating: "m", count: 100_000), among: names) == nil)
  }
}
