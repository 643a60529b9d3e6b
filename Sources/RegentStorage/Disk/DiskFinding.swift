// What is found to be wrong in a cache's directory: where, and what.

public import RegentLoop

/// A place of a cache's directory that is not as it was written.
public struct DiskFinding: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    /// Bytes are not those that were written.
    case damage
    /// The last record of a segment was not written to its end: by a crash, or because it is being written.
    case uncommitted
    /// The system cannot read it.
    case unreadable
  }
  public let kind: Kind
  /// The file's name in its folder.
  public let file: String
  /// Where in the file it begins, in bytes.
  public let offset: Int
  /// What does not fit, in a few words.
  public let reason: String

  init(_ kind: Kind = .damage, segment: UInt32, offset: Int, _ reason: String) {
    self.init(kind, file: DiskName.segment(segment), offset: offset, reason)
  }

  init(_ kind: Kind = .damage, file: String, offset: Int, _ reason: String) {
    (self.kind, self.file, self.offset, self.reason) = (kind, file, offset, reason)
  }

  init(_ position: DiskPosition, _ reason: String) {
    self.init(segment: position.segment, offset: position.offset, reason)
  }

  /// Whether it is about a record of a segment, and not about a file as a whole.
  var isOfRecord: Bool { file.hasSuffix(".segment") && offset >= DiskFormat.page }

  /// Whether it is damage, and not merely what was not written to its end.
  var isDamage: Bool { kind != .uncommitted }
  /// Whether it is, beside a writer, what that is about to do.
  var isOfWriter: Bool { kind == .uncommitted && offset == 0 }
}

/// Why a directory cannot be read as a cache's.
public enum DiskArchiveFailure: Error, Sendable, Equatable {
  /// There is no such directory.
  case absent
  /// It is no folder, or a link to one.
  case noFolder
  /// It is a folder, but no cache's.
  case foreign
  /// It was written by a version of another format: this one.
  case otherVersion(Int)
  /// It has no identity yet, as when nothing was ever written, or a damaged one: all else in it is void.
  case noIdentity
  case damagedIdentity
  case system(SystemError)
}
