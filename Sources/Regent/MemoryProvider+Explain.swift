// What the memory cache holds for a request and would decide about it, told without moving or changing anything.

import RegentCaching
import RegentHTTP
import RegentStorage

extension MemoryProvider: Explainer {
  func explain(_ request: Request) async -> (lines: [String], answers: Bool) {
    let records = store.records(request.key)
    return ExplainedRecords(
      records.map { record in
        ExplainedRecord(
          head: record.head, bodyCount: record.bodyCount,
          fields: { .stored(shared: record.sharedHead, own: $0.lines) },
          parts: { self.explainParts(record, $0, request) })
      }
    ).explain(request)
  }
}
