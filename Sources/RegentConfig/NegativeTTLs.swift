// How long errors are fresh: a small table of statuses and durations, written { "404" = "1m", "5xx" = "5s" }, or
// 404=1m,5xx=5s on the command line.

public import RegentCaching

/// The lifetimes of errors, by status.
public struct NegativeTTLs: Sendable, Equatable {
  /// A row of the table.
  public struct Row: Sendable, Equatable {
    public var statuses: NegativeTTL.Statuses
    public var ttl: Duration
  }

  /// In the order of the statuses; a status that is in two rows has the narrower one's lifetime.
  public private(set) var rows: [Row] = []

  public init() {}
}

extension NegativeTTLs: KeyValue {
  static var expectation: String { "a table of statuses such as { \"404\" = \"1m\", \"5xx\" = \"5s\" }" }

  static func read(_ node: Node) throws(KeyFailure) -> NegativeTTLs {
    var table = NegativeTTLs()
    for (status, node) in try pairs(node).sorted(by: { $0.0 < $1.0 }) {
      guard let statuses = statuses(status) else {
        throw .refused(
          value: status.quoted, because: "a status is one from \"400\" to \"599\", \"4xx\" or \"5xx\"")
      }
      guard let ttl = node.string.flatMap({ Duration(configured: $0) }) else {
        throw .refused(value: node.shown, because: "it must be \(Duration.expectation)")
      }
      if table.rows.contains(where: { $0.statuses == statuses }) {
        throw .refused(value: status.quoted, because: "it is there twice")
      }
      table.rows.append(Row(statuses: statuses, ttl: ttl))
    }
    guard table.rows.count <= NegativeTTL.limit else {
      throw .refused(value: node.shown, because: "it has more than \(NegativeTTL.limit) rows")
    }
    return table
  }

  var toml: String? {
    guard !rows.isEmpty else { return nil }
    return "{ " + rows.map { "\($0.statuses.written.quoted) = \($0.ttl.toml ?? "")" }.joined(separator: ", ")
      + " }"
  }

  private static func pairs(_ node: Node) throws(KeyFailure) -> [(String, Node)] {
    if case .table(let table) = node { return table.map { ($0.key, $0.value) } }
    guard case .word = node, let words = node.array else { throw .mismatch(nearest: nil) }
    var pairs: [(String, Node)] = []
    for word in words {
      let parts = (word.string ?? "").split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw .mismatch(nearest: nil) }
      pairs.append((parts[0], .word(parts[1])))
    }
    return pairs
  }

  private static func statuses(_ text: String) -> NegativeTTL.Statuses? {
    switch text {
    case "4xx": return .init(first: 400, last: 499)
    case "5xx": return .init(first: 500, last: 599)
    default:
      guard text.utf8.count == 3, let status = UInt16(text) else { return nil }
      return .init(first: status, last: status)
    }
  }
}

extension NegativeTTL.Statuses {
  fileprivate var written: String { first == last ? "\(first)" : "\(first / 100)xx" }
}
