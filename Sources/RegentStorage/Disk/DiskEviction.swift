// Which responses of the segment that goes are written anew. Pure; the simulator in the tests runs the same.

/// The choice of what outlives its segment.
enum DiskEviction {
  /// The entries to be written anew, in the order in which they were first written: those that were hit since, the most
  /// recently hit first, as far as they fit into `quota` bytes.
  ///
  /// - Parameter now: The time of the log, as ``DiskEntry/touched`` counts it.
  static func kept(of entries: [DiskEntry], quota: Int, now: UInt16) -> [DiskEntry] {
    let used = entries.filter { $0.hits > 0 }
      .sorted { (now &- $0.touched, -$0.hits) < (now &- $1.touched, -$1.hits) }
    var left = quota
    var kept: [DiskEntry] = []
    for entry in used where entry.lengthBound <= left {
      left -= entry.lengthBound
      kept.append(entry)
    }
    return kept.sorted { $0.location < $1.location }
  }

  /// The time of the log: sixteenths of segments.
  static func time(_ position: DiskPosition, segmentSize: Int) -> UInt16 {
    UInt16(truncatingIfNeeded: Int(position.segment) * 16 + position.offset * 16 / segmentSize)
  }
}
