// "Did you mean": the valid name that is the fewest edits away from a written one.

enum Nearest {
  /// The most edits between a slip of the hand and what was meant.
  static let farthest = 3

  /// The candidate nearest to `name`, at most three edits away and sharing something with it.
  static func candidate(to name: String, among candidates: [String]) -> String? {
    var best: (candidate: String, edits: Int)?
    for candidate in candidates {
      let edits = edits(from: name, to: candidate)
      let most = min(farthest, max(name.utf8.count, candidate.utf8.count) - 1)
      if edits <= most, edits < best?.edits ?? .max { best = (candidate, edits) }
    }
    return best?.candidate
  }

  /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
  static func edits(from left: String, to right: String) -> Int {
    let left = Array(left.utf8.prefix(64))
    let right = Array(right.utf8.prefix(64))
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (row, a) in left.enumerated() {
      var current = [row + 1]
      for (column, b) in right.enumerated() {
        var edits = min(last[column + 1] + 1, current[column] + 1, last[column] + (a == b ? 0 : 1))
        if row > 0, column > 0, a == right[column - 1], left[row - 1] == b {
          edits = min(edits, beforeLast[column - 1] + 1)
        }
        current.append(edits)
      }
      (beforeLast, last) = (last, current)
    }
    return last.last ?? left.count
  }
}
