// Parts of files that are sent from the page cache, without coming into the process. A loop must not wait for a disk, nor
// send what nobody verified: so a part is looked at before it is sent, and again after each long wait for the peer.

import CLibevent
import Glibc

/// Some bytes of a file, to be sent from where they lie.
public struct FilePart: Sendable {
  public let file: RandomFile
  public let range: Range<Int>
  public var count: Int { range.count }

  public init(file: RandomFile, range: Range<Int>) { (self.file, self.range) = (file, range) }

  func dropping(_ count: Int) -> FilePart {
    FilePart(file: file, range: range.lowerBound + count..<range.upperBound)
  }
}

extension ByteStream {
  /// After a wait of so many nanoseconds the page cache may hold something else: what was known of it is void.
  public static let fileStaleness: Int64 = 50_000_000

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

  /// Sends a part of a file that is in the page cache; waits, at most `stall` at a time, while the peer does not take it.
  /// How many bytes were sent: all, or those before a wait of over 50 ms, after which the rest is to be looked at again.
  public func write(_ part: FilePart, stall: Duration) async throws(StreamError) -> Int {
    var rest = part
    let begin = loop.clock.now
    while rest.count > 0 {
      switch send(rest) {
      case .bytes(let count):
        rest = rest.dropping(count)
      case .wouldBlock:
        setDeadline(in: stall)
        try await writable()
        setDeadline(nil)
        guard loop.clock.now &- begin < Self.fileStaleness else { return part.count - rest.count }
      case .end: throw .closed
      case .failed(let error): throw error
      }
    }
    return part.count
  }
}
