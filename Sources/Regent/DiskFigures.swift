// The disk cache's figures as /stats shows them.

import RegentStorage

extension DiskStatistics {
  func write(_ json: inout JSONWriter) {
    json.value("state", state.word)
    if let failure = state.failure { json.value("because", "\(failure)") }
    json.value("recovering", isRecovering ? 1 : 0)
    json.value("entries", entries)
    json.value("index-bytes", indexBytes)
    json.value("bytes", bytes)
    json.value("budget", budget)
    json.value("segments", segments)
    json.value("hits", hits)
    json.value("misses", misses)
    json.value("insertions", insertions)
    json.value("refusals", refusals)
    json.value("outdated", outdated)
    json.value("removals", removals)
    json.value("evicted-segments", evictions)
    json.value("reinsertions", reinsertions)
    json.value("written-bytes", writtenBytes)
    json.value("reinserted-bytes", reinsertedBytes)
    json.value("write-amplification", thousandths: Int((writeAmplification * 1000).rounded()))
    json.value("damages", damages)
    json.value("read-errors", readErrors)
    json.value("write-errors", writeErrors)
    json.value("slow-reads", slowReads)
    json.value("file-bytes", fileBytes)
    json.value("file-verified-bytes", verifiedBytes)
    json.value("timeouts", timeouts)
    json.value("stuck-reads", stuckReads)
    json.value("queued-bytes", queuedBytes)
    json.value("fills", fills)
    json.value("fills-given-up", fillsGivenUp)
  }
}
