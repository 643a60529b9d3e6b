// What a successful unsafe request makes untrue beside what is stored for its own key (RFC 9111 section 4.4).

import RegentCaching
import RegentHTTP
import RegentStorage

extension Request {
  /// The keys of which nothing stored is an answer any more, but for the request's own. Where keys hold more than their
  /// target there are none: the targets become other ones instead.
  func keysInvalidated(by response: Response) -> [RecordKey] {
    var keys: [RecordKey] = []
    if domain.generations != nil { invalidate(path: pathBytes, query: queryBytes, &keys) }
    let fields = response.fields.parsed
    for reference in fields.all(.location) + fields.all(.contentLocation) {
      for target in targets(namedBy: reference) where key(of: target) != key {
        invalidate(path: target.path[...], query: target.query.map { $0[...] }, &keys)
      }
    }
    return keys
  }

  private func invalidate(path: ArraySlice<UInt8>, query: ArraySlice<UInt8>?, _ keys: inout [RecordKey]) {
    let target = domain.targetKey(path: path, query: query, for: head.fields)
    if let generations = domain.generations { return generations.invalidate(target) }
    keys.append(RecordKey(target))
  }
}
