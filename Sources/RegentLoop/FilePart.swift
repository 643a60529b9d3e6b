// Parts of files that are sent from the page cache, without coming into the process. A loop must not wait for a disk, nor
// send what nobody verified: so a part is sent only for a moment after it was looked at.

import CLibevent
import Glibc

/// Some bytes of a file that were looked at, to be sent from where they lie.
public struct FilePart: Sendable {
  public let file: RandomFile
  public private(set) var range: Range<Int>
  /// When it was looked at, in monotonic nanoseconds.
  private let looked: Int64
  public var count: Int { range.count }

  public init(file: RandomFile, range: Range<Int>, looked: Int64) {
    (self.file, self.range, self.looked) = (file, range, looked)
  }

  /// What is behind its first `count` bytes.
  public func dropping(_ count: Int) -> FilePart {
    var rest = self
    rest.range = range.lowerBound + count..<range.upperBound
    return rest
  }

  /// After so many nanoseconds the page cache may hold something else: what was known of it is void.
  public static let freshness: Int64 = 100_000_000

  func isStale(_ now: Int64) -> Bool { now &- looked >= Self.freshness }
}

extension ByteStream {
  /// Whether parts of files can be sent as they are: not where they have to be encrypted first.
  public var sendsFiles: Bool { tls == nil }

  /// Sends what the kernel takes of a part of a file, without waiting for the peer. SIGPIPE must be ignored.
  public func send(_ part: FilePart) -> Attempt {
    precondition(sendsFiles, "a file's bytes would leave unencrypted")
    guard descriptor >= 0 else { return .failed(.closed) }
    while true {
      let result = regent_send_file(descriptor, part.file.descriptor, part.range.lowerBound, part.count)
      if result > 0 {
        sentCount &+= result
        return .bytes(result)
      }
      // The file is shorter than it was: what was promised cannot be sent.
      if result == 0 {
        return part.count == 0 ? .bytes(0) : .failed(.system(SystemError(call: "sendfile", code: EIO)))
      }
      if errno == EAGAIN { return .wouldBlock }
      if errno != EINTR { return .failed(.system(SystemError(call: "sendfile", code: errno))) }
    }
  }

  /// Sends what the kernel takes of a part of a file that is in the page cache, without waiting: how many bytes. None where it was
  /// looked at too long ago, and where there is trouble, which ``write(_:from:stall:)`` meets again.
  public func writeAtOnce(_ part: FilePart) -> Int {
    guard !part.isStale(loop.clock.now), case .bytes(let count) = send(part) else { return 0 }
    return count
  }

  /// Sends a part of a file that is in the page cache; waits, at most `stall` at a time, while the peer does not take it.
  /// How many bytes were sent: all, or those until 100 ms after it was looked at: the rest is to be looked at again.
  public func write(_ part: FilePart, from sent: Int = 0, stall: Duration) async throws(StreamError) -> Int {
    var rest = part.dropping(sent)
    while rest.count > 0, !rest.isStale(loop.clock.now) {
      switch send(rest) {
      case .bytes(let count):
        rest = rest.dropping(count)
      case .wouldBlock:
        setDeadline(in: stall)
        try await writable()
        setDeadline(nil)
      case .end: throw .closed
      case .failed(let error): throw error
      }
    }
    return part.count - rest.count
  }
}
