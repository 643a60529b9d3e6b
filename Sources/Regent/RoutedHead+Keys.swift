// A head in a domain whose owner has rules for its keys: they are applied once, here, so that all that follows keys,
// selects, stores and sends on the same bytes. A request whose answer is never stored goes on as it came, and is keyed
// by the rules all the same: that is how it invalidates.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

extension Domain {
  /// The key of a target under the domain's rules, for those who send these credentials; without the keyed fields.
  func targetKey(
    path: some Collection<UInt8>, query: ArraySlice<UInt8>?, for request: Fields
  ) -> [UInt8] {
    var key = keyStart(request, room: path.count + (query?.count ?? 0) + 8)
    if hasKeyRules {
      CacheKey.appendTarget(path: path, query: keyRules.query(query), onto: &key)
    } else {
      CacheKey.appendTarget(path: path, query: query, onto: &key)
    }
    return key
  }

  /// The head as the domain's rules want it keyed and sent on.
  func routed(_ head: RequestHead, path: Range<Int>) -> RoutedHead {
    let isStorable = head.method == .get || head.method == .head
    let (head, query) = isStorable ? rewritten(head) : (head, head.target.query)
    let bytes = head.fields.bytes
    var key = targetKey(
      path: path.isEmpty ? [0x2F] : bytes[path], query: query.map { bytes[$0] }, for: head.fields)
    if let generations {
      CacheKey.append(component: generations.current(of: key), onto: &key)
      keyRules.appendFields(of: head.fields, onto: &key)
    }
    return RoutedHead(
      head: head, domain: self, path: path, query: query, key: RecordKey(key),
      directives: policy.honoursRequestDirectives ? RequestDirectives(head.fields) : .none)
  }

  /// The head with its query and its negotiation fields as the rules spell them, and where the query lies.
  private func rewritten(_ head: RequestHead) -> (RequestHead, Range<Int>?) {
    var bytes = head.fields.bytes
    var lines = head.fields.lines
    for field in keyRules.normalizes where head.fields.contains(field.name) {
      let value = head.fields.all(field.name).joined(separator: [0x2C])
      guard let normalized = field.normalized(value),
        let first = lines.firstIndex(where: { $0.name == field.name })
      else { continue }
      let range = bytes.count..<(bytes.count + normalized.count)
      bytes += normalized
      let line = FieldLine(name: field.name, nameRange: lines[first].nameRange, valueRange: range)
      lines.removeAll { $0.name == field.name }
      lines.insert(line, at: first)
    }
    var query: Range<Int>?
    if let asked = head.target.query, let kept = keyRules.query(head.fields.bytes[asked]) {
      query = bytes.count..<(bytes.count + kept.count)
      bytes += kept
    }
    guard let rewritten = head.with(Fields(bytes: bytes, lines: lines)) else {
      return (head, head.target.query)
    }
    return (rewritten, query)
  }
}
