// The jobs that are ready on a loop, oldest first. Its array keeps its memory while jobs come and go.

/// A queue of jobs, emptied from the front.
struct JobQueue {
  private var jobs: [UnownedJob] = []
  private var first = 0

  mutating func append(_ job: UnownedJob) { jobs.append(job) }

  /// Takes out the oldest job.
  mutating func next() -> UnownedJob? {
    guard first < jobs.count else {
      if first > 0 {
        jobs.removeAll(keepingCapacity: jobs.capacity <= 4096)
        first = 0
      }
      return nil
    }
    defer { first &+= 1 }
    return jobs[first]
  }
}
