// The only file that knows TOMLKit: from the text of a file to nodes. `SourceMap` must have read the
// text before, since TOMLKit hands it to C as it is: no NUL, and no deep nesting.

import TOMLKit

/// A TOML document that was refused.
struct TOMLRefusal: Error {
  let line: Int
  let sentence: String
}

enum TOMLText {
  /// The document's root table, unless reading its surface refused it.
  static func parse(_ text: String, after map: SourceMap) throws(TOMLRefusal) -> [String: Node] {
    if let refusal = map.refusal { throw refusal }
    do {
      return table(try TOMLTable(string: text))
    } catch let error as TOMLParseError {
      throw TOMLRefusal(line: error.source.begin.line, sentence: sentence(error.description))
    } catch {
      throw TOMLRefusal(line: 1, sentence: "this is not TOML")
    }
  }

  private static func sentence(_ description: String) -> String {
    let line = description.prefix { $0 != "\n" }
    return "this is not TOML: " + (line.last == "." ? line.dropLast() : line)
  }

  private static func table(_ table: TOMLTable) -> [String: Node] {
    var nodes: [String: Node] = [:]
    // Not TOMLKit's iterator: it unwraps each value by force.
    for key in table.keys {
      if let value = table[key] { nodes[key] = node(value) }
    }
    return nodes
  }

  private static func node(_ value: any TOMLValueConvertible) -> Node {
    if let text = value.string { return .string(text) }
    if let truth = value.bool { return .boolean(truth) }
    if let number = value.int { return .integer(number) }
    if let elements = value.array { return .array((0..<elements.count).map { node(elements[$0]) }) }
    if let keys = value.table { return .table(table(keys)) }
    return .other(value.type == .double ? "a floating-point number" : "a \(value.type.description)")
  }
}
