// What a successful unsafe request makes untrue beside what is stored for its own key (RFC 9111 section 4.4).

import RegentCaching
import RegentHTTP
import RegentStorage

extension Request {
  /// The keys of which nothing stored is an answer any more, but for the request's own. Where keys hold more than their
  /// target there are none: ``renewTargets(named:)`` makes the targets other ones instead.
  func keysInvalidated(by response: Response) -> [RecordKey] {
    domain.generations == nil ? targetsNamed(by: response).map { RecordKey($0) } : []
  }

  /// Makes all that is stored for the request's target, and for those that its response names, unfindable, where their
  /// keys hold more than the target. To be called once for a response, before any cache sees it.
  func renewTargets(named response: Response) {
    guard let generations = domain.generations else { return }
    generations.invalidate(domain.targetKey(path: pathBytes, query: queryBytes, for: head.fields))
    for target in targetsNamed(by: response) { generations.invalidate(target) }
  }

  /// The keys of the targets that a response names, but for the request's own.
  private func targetsNamed(by response: Response) -> [[UInt8]] {
    let fields = response.fields.parsed
    return (fields.all(.location) + fields.all(.contentLocation)).flatMap { reference in
      targets(namedBy: reference).map { key(of: $0) }.filter { $0 != key }.map(\.bytes)
    }
  }
}
