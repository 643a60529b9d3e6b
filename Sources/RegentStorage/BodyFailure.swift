// How a body can end, and what its writer and readers are told. Closed: a new case must be thought about everywhere.

public import RegentLoop

/// Why a body has no proven end. Whatever was read of such a body is never whole.
public enum BodyFailure: Error, Sendable, Equatable {
  /// The origin closed or reset its connection before the body's end.
  case originClosedEarly
  /// The origin fell silent for too long.
  case originTimedOut
  /// The body's framing is malformed.
  case malformed
  /// The writer went away without finishing, or gave up.
  case aborted
  /// The waiting task itself was cancelled; the body may be well.
  case cancelled
  /// The reader was too slow for the others, and they went on without it; the body may be well.
  case outpaced
}

/// What became of bytes that were offered to a body.
public enum AppendOutcome: Sendable, Equatable {
  case accepted
  /// There is no room in the window now; nothing was taken.
  case full
  /// Nobody reads or keeps the body, or it has ended already: the writer may stop.
  case abandoned
}

/// How a kept body ended.
public enum BodyCompletion: Sendable, Equatable {
  /// The body is whole and has this many bytes.
  case finished(Int)
  case failed(BodyFailure)
  /// The body came to its proven end, but is not what it should be: nobody keeps it.
  case refuted
  /// The body outgrew the keeper's limit in bytes, or the budget; it was let go.
  case tooLarge(Int)
}

/// What a reader finds without waiting.
public enum BodyBytes: Sendable {
  case slices([Slice])
  /// The proven end.
  case end
  /// Nothing yet.
  case none
}
