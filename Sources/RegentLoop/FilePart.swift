// Parts of files that are sent from the page cache, without coming into the process. A loop must not wait for a disk: so
// it is looked whether the part is there, before it is sent and again after each long wait for the peer.

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

extension RandomFile {
  private static let page = 4096
  /// How far apart it is looked whether a page can be read. A page that is being fetched is counted, too, so this is
  /// looked at even where the kernel counts; where it does not, it has to do alone.
  private static let (counted, uncounted) = (256 << 10, 16 << 10)

  /// Whether all of it is in the page cache; false where that cannot be told.
  public func isResident(_ range: Range<Int>) -> Bool {
    guard !range.isEmpty else { return true }
    let pages = (range.upperBound - 1) / Self.page - range.lowerBound / Self.page + 1
    let found = regent_cached_pages(descriptor, UInt64(range.lowerBound), UInt64(range.count))
    guard found < 0 || found >= pages else { return false }
    let stride = Swift.stride(
      from: range.lowerBound, to: range.upperBound, by: found < 0 ? Self.uncounted : Self.counted)
    return isReadable(range.upperBound - 1) && stride.allSatisfy { isReadable($0) }
  }

  private func isReadable(_ offset: Int) -> Bool {
    var byte: UInt8 = 0
    // Unsafe: reads one byte into a local.
    return unsafe regent_read_ready(descriptor, &byte, 1, offset) == 1
  }
}

extension ByteStream {
  /// After a wait of so many nanoseconds it is looked anew what is in the page cache.
  private static let staleness: Int64 = 50_000_000

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
  /// How many bytes were sent: all, or those before one that is not in the page cache any more.
  public func write(_ part: FilePart, stall: Duration) async throws(StreamError) -> Int {
    var rest = part
    while rest.count > 0 {
      switch send(rest) {
      case .bytes(let count):
        rest = rest.dropping(count)
      case .wouldBlock:
        let begin = loop.clock.now
        setDeadline(in: stall)
        try await writable()
        setDeadline(nil)
        guard loop.clock.now &- begin < Self.staleness || rest.file.isResident(rest.range) else {
          return part.count - rest.count
        }
      case .end: throw .closed
      case .failed(let error): throw error
      }
    }
    return part.count
  }
}
