// What any cache holds for a request, in lines: its variants, the one that is selected, and the decision about it.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

/// A stored response that is to be explained.
struct ExplainedRecord {
  let head: Slice
  let bodyCount: Int
  let fields: (RecordHead) -> ResponseFields
  /// What parts can do, where the record holds parts.
  let parts: (RecordHead) -> (line: String, answers: Bool)?
}

/// All that is stored under a key, most recently stored first.
struct ExplainedRecords {
  private let records: [ExplainedRecord]

  init(_ records: [ExplainedRecord]) { self.records = records }

  /// What they are and what is decided, in lines; and whether one would answer.
  func explain(_ request: Request) -> (lines: [String], answers: Bool) {
    if request.domain.policy.kind == .networkOnly {
      return (["decision: \(Reuse.no(reason: .networkOnly).explanation) (fwd=bypass)"], false)
    }
    guard !records.isEmpty else { return (["nothing is stored under this key (fwd=uri-miss)"], false) }
    var lines = ["\(records.count) stored under this key"]
    let choice = chosen(request)
    for (number, record) in records.enumerated() {
      guard let head = RecordHead(record.head) else { continue }
      let selects = RecordHead.selects(record.head, request.head.fields)
      let others = selects ? "another one is preferred to it" : "its Vary selects other requests"
      lines.append("variant \(number + 1): " + (number == choice ? "this request selects it" : others))
      lines += describe(record, head).map { "  " + $0 }
    }
    guard let choice, let chosen = RecordHead(records[choice].head) else {
      return (lines + ["decision: no variant is for this request (fwd=vary-miss)"], false)
    }
    let told = decide(chosen, request)
    guard let parts = records[choice].parts(chosen) else { return (lines + told.lines, told.answers) }
    return (lines + told.lines + [parts.line], told.answers && parts.answers)
  }

  /// The place of the record that a request would find: the store's own choice among those that it selects.
  private func chosen(_ request: Request) -> Int? {
    var best: Int?
    for (place, record) in records.enumerated() where RecordHead.selects(record.head, request.head.fields) {
      guard let known = best else {
        best = place
        continue
      }
      if RecordHead.isPreferred(record.head, to: records[known].head) { best = place }
    }
    return best
  }

  private func describe(_ record: ExplainedRecord, _ head: RecordHead) -> [String] {
    ["status \(head.metadata.status), \(record.bodyCount) bytes"] + record.fields(head).parsed.shown
  }

  private func decide(_ head: RecordHead, _ request: Request) -> (lines: [String], answers: Bool) {
    let policy = request.domain.policy
    let reuse = Reuse.decide(head.metadata, request: request.directives, policy: policy, now: request.wall)
    var answers = false
    switch reuse {
    case .serve, .serveStale: answers = true
    case .validate, .no: break
    }
    return (Explanation.lines(head.metadata, reuse, policy: policy, now: request.wall), answers)
  }
}
