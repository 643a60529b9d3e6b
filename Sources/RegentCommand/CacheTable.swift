// How `regent cache ls` lays out what is stored: a line for each response, whose last column may be as long as it is.

import Regent

enum CacheTable {
  private static let widths = [6, 9, 11, 6, 15, 28]

  static let heading = line(["STATUS", "AGE", "SIZE", "HITS", "FRESHNESS", "DECISION"], "URL")

  static func row(_ response: ArchivedResponse) -> String {
    let selecting = response.selecting.isEmpty ? "" : "  (\(response.selecting.joined(separator: "; ")))"
    let scope = response.isPrivate ? "  (private)" : ""
    return line(
      [
        "\(response.status)", Figures.time(response.age), Figures.size(response.size),
        response.hits.map { "\($0)\($0 == 255 ? "+" : "")" } ?? "-", freshness(response.remaining),
        decision(response),
      ], response.url + scope + selecting)
  }

  private static func freshness(_ remaining: Int) -> String {
    remaining > 0 ? "fresh \(Figures.time(remaining))" : "stale \(Figures.time(-remaining))"
  }

  /// The decision in a few words.
  static func decision(_ response: ArchivedResponse) -> String {
    switch response.decision {
    case .serve: "serve"
    case .serveStale: "stale: \(response.reason)"
    case .validate: "ask: \(response.reason)"
    case .never: "never: \(response.reason)"
    }
  }

  private static func line(_ cells: [String], _ last: String) -> String {
    var line = ""
    for (cell, width) in zip(cells, widths) {
      line += cell + String(repeating: " ", count: max(1, width - cell.count))
    }
    return line + last
  }
}
