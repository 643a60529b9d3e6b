// What may be chosen about a disk store.

import RegentLoop

/// Monotonic nanoseconds and wall seconds, as of one step of the writer.
struct DiskTime: Sendable {
  var now: Int64
  var wall: Int64
}

/// How often a block is verified before its bytes are sent.
public enum DiskVerification: Sendable {
  case always
  /// Once since the start; then it may be sent from the page cache as it lies there.
  case once
}

/// The sizes and times of a disk store.
public struct DiskOptions: Sendable {
  /// The most bytes that everything in the directory takes together.
  public var budget: Int
  /// The length of a segment file in bytes: 64 MiB, or less for a small budget and more for one over 64 GiB.
  public var segmentSize: Int
  /// The longest body, in bytes, that is taken.
  public var maxObject: Int
  /// How many bytes may wait to be written before more are refused.
  public var queueLimit = 32 << 20
  /// How long written responses may be without being brought to the disk, in nanoseconds.
  public var syncInterval: Int64 = 30_000_000_000
  /// How long a lookup, a read of a body, and a body that is to be stored wait for the disk, in nanoseconds.
  public var readLimit: Int64 = 250_000_000
  public var bodyLimit: Int64 = 10_000_000_000
  public var writeLimit: Int64 = 1_000_000_000
  public var verify = DiskVerification.always
  /// How much of a segment may be written anew when it goes, in hundredths.
  public var reinsertion = 50

  /// How much of a segment is looked through, and of the index written down, between two pieces of other work.
  var scanPiece = 8 << 20
  var snapshotPiece = 1 << 20
  /// How much of a segment, in bytes, the page cache is to hold as one piece: the first write to it fills it, with zeros
  /// where there are no records yet. At most so many zeros more go to the disk with a sync.
  var pagePiece = 256 << 10
  /// Monotonic nanoseconds, for how long what was seen of a body counts.
  var clock: @Sendable () -> Int64 = { LoopClock.current.now }

  public init(budget: Int, maxObject: Int = 1 << 30) {
    self.budget = max(1 << 20, budget)
    segmentSize = max(128 << 10, min(max(64 << 20, budget / 1024), self.budget / 8)) & ~4095
    self.maxObject = maxObject
  }

  /// The longest piece of a body that is written as one record.
  var extentSize: Int { min(DiskFormat.inlineLimit, segmentSize / 4) }
}
