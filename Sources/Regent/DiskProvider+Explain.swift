// What the disk cache holds for a request and would decide about it, told without counting a hit.

import RegentCaching
import RegentStorage

extension DiskProvider: Explainer {
  func explain(_ request: Request) async -> (lines: [String], answers: Bool) {
    guard mayKeep(request) else {
      return (["what is one client's own, or never stored, is not kept here (fwd=bypass)"], false)
    }
    let state = store.statistics.state
    let records = await store.records(store.key(request.key.bytes), now: request.now)
    let explained = ExplainedRecords(
      records.map { record in
        ExplainedRecord(
          head: record.head, bodyCount: record.bodyCount,
          fields: { .stored(shared: nil, own: $0.lines) }, parts: { _ in nil })
      })
    var (lines, answers) = explained.explain(request)
    if state != .healthy { lines.insert(state.sentence, at: 0) }
    if !store.mayTrust(wall: request.wall) {
      lines.append("the clock is more than a day behind what was written: it is validated first")
      answers = false
    }
    return (lines, answers)
  }
}
