// Receiving and sending on a stream: the attempt, which never waits, and on top of it the wait.

import CLibevent
import Glibc

extension ByteStream {
  /// How much one task may move before the loop's other events have their turn.
  private static let turn = 1 << 20
  /// A closed peer is an error and never a signal, whatever the process does with SIGPIPE.
  private static let plain = Int32(MSG_NOSIGNAL)
  /// MSG_MORE, which Glibc's module does not show as a number.
  private static let more: Int32 = 0x8000

  // MARK: Receiving

  /// Receives into the loop's scratch buffer what there is, without waiting.
  public func receive() -> Attempt {
    let attempt = unsafe attemptRead(loop.scratch.start, loop.scratch.capacity)
    if case .bytes(let count) = attempt { loop.scratch.received(count) }
    return attempt
  }

  /// Receives into a block's free space what there is, without waiting.
  public func receive(into block: Block) -> Attempt {
    var attempt = Attempt.wouldBlock
    // Unsafe: reads into the block's own free space, at most as much as there is.
    unsafe block.fill { free in
      guard let start = free.baseAddress, free.count > 0 else { return 0 }
      attempt = unsafe attemptRead(start, free.count)
      if case .bytes(let count) = attempt { return count }
      return 0
    }
    return attempt
  }

  // Unsafe: `start` has room for `count` bytes, which `receive` saw to; neither kernel nor OpenSSL keeps it.
  private func attemptRead(_ start: UnsafeMutablePointer<UInt8>, _ count: Int) -> Attempt {
    guard descriptor >= 0 else { return .failed(.closed) }
    let attempt = unsafe tls?.read(start, count) ?? plainRead(start, count)
    if case .bytes(let count) = attempt { receivedCount &+= count }
    return attempt
  }

  // Unsafe: as `attemptRead`.
  private func plainRead(_ start: UnsafeMutablePointer<UInt8>, _ count: Int) -> Attempt {
    while true {
      let result = unsafe recv(descriptor, start, count, 0)
      if result > 0 { return .bytes(result) }
      if result == 0 { return .end }
      if errno == EAGAIN { return .wouldBlock }
      if errno != EINTR { return .failed(.system(SystemError(call: "read", code: errno))) }
    }
  }

  // MARK: Sending

  /// Sends what the kernel takes of `bytes` and then `slices`, but for their first `skipped` bytes, without waiting.
  /// Where more follows at once, the kernel may wait for it to fill its segment; not where it paces, as it would then wait for
  /// its clock with each (BBR: 45 in place of 31 µs for 100 KiB). TLS makes a record of what there is.
  public func send(
    _ bytes: borrowing [UInt8], then slices: borrowing [Slice], skipping skipped: Int,
    isFollowed: Bool = false
  ) -> Attempt {
    guard descriptor >= 0 else { return .failed(.closed) }
    let attempt: Attempt
    let flags = isFollowed && !isPaced ? Self.plain | Self.more : Self.plain
    if slices.isEmpty || tls != nil && skipped < bytes.count {
      // Unsafe: the array lends its bytes for this one write; a `skipped` beyond them traps in the slicing.
      attempt = unsafe bytes.withUnsafeBufferPointer { all in
        unsafe attemptWrite(UnsafeBufferPointer(rebasing: all[skipped...]), flags)
      }
    } else if tls != nil {
      attempt = sendOne(of: slices, skipping: skipped - bytes.count)
    } else {
      attempt = vectoredWrite(bytes, slices, skipped, flags)
    }
    if case .bytes(let count) = attempt { sentCount &+= count }
    return attempt
  }

  /// Sends what the kernel takes of what this loop's last `receive()` brought, from where it lies, without waiting.
  public func sendReceived() -> Attempt {
    guard descriptor >= 0 else { return .failed(.closed) }
    // Unsafe: the span does not leave the closure.
    let attempt = loop.scratch.withBytes { unsafe $0.withUnsafeBufferPointer { unsafe attemptWrite($0) } }
    if case .bytes(let count) = attempt { sentCount &+= count }
    return attempt
  }

  // Unsafe: writes what the caller lends, and keeps nothing of it.
  private func attemptWrite(_ bytes: UnsafeBufferPointer<UInt8>, _ flags: Int32 = plain) -> Attempt {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return .bytes(0) }
    if let tls { return unsafe tls.write(start, bytes.count) }
    while true {
      let result = unsafe Glibc.send(descriptor, start, bytes.count, flags)
      if result >= 0 { return .bytes(result) }
      if errno == EAGAIN { return .wouldBlock }
      if errno != EINTR { return .failed(.system(SystemError(call: "write", code: errno))) }
    }
  }

  private func sendOne(of slices: borrowing [Slice], skipping skipped: Int) -> Attempt {
    var skipped = skipped
    for index in slices.indices {
      let count = slices[index].count
      if skipped < count {
        // Unsafe: within the slice.
        return slices[index].withBytes { span in
          unsafe span.withUnsafeBufferPointer {
            unsafe attemptWrite(UnsafeBufferPointer(rebasing: $0[skipped...]))
          }
        }
      }
      skipped -= count
    }
    return .bytes(0)
  }

  private func vectoredWrite(
    _ bytes: borrowing [UInt8], _ slices: borrowing [Slice], _ skipped: Int, _ flags: Int32
  ) -> Attempt {
    // Unsafe: the vector lives for the call, and the blocks are kept alive by `slices`.
    unsafe bytes.withUnsafeBufferPointer { head in
      unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: 64) { vector in
        var filled = 0
        var skip = skipped
        func add(_ start: UnsafePointer<UInt8>?, _ count: Int) {
          guard skip < count, filled < vector.count, let start = unsafe start else {
            skip = max(0, skip - count)
            return
          }
          unsafe vector[filled] = iovec(
            iov_base: UnsafeMutableRawPointer(mutating: start + skip), iov_len: count - skip)
          skip = 0
          filled += 1
        }
        unsafe add(head.baseAddress, head.count)
        for index in slices.indices {
          unsafe add(slices[index].start, slices[index].count)
          if filled == 64 { break }
        }
        var message = unsafe msghdr()
        unsafe message.msg_iov = vector.baseAddress
        unsafe message.msg_iovlen = filled
        while true {
          // As `writev`, but with flags.
          let result = unsafe sendmsg(descriptor, &message, flags)
          if result >= 0 { return .bytes(result) }
          if errno == EAGAIN { return .wouldBlock }
          if errno != EINTR { return .failed(.system(SystemError(call: "sendmsg", code: errno))) }
        }
      }
    }
  }

  /// Sends `bytes` and then `slices`, all but their first `start` bytes; waits, at most `stall` at a time, while the peer does not take them.
  public func write(
    _ bytes: [UInt8], then slices: [Slice] = [], from start: Int = 0, stall: Duration
  ) async throws(StreamError) {
    let total = slices.reduce(bytes.count) { $0 + $1.count }
    var done = start
    var turn = 0
    while done < total {
      switch send(bytes, then: slices, skipping: done) {
      case .bytes(let count):
        done += count
        turn += count
        if turn >= Self.turn, done < total {
          turn = 0
          await loop.yieldTurn()
        }
      case .wouldBlock:
        turn = 0
        setDeadline(in: stall)
        try await writable()
        setDeadline(nil)
      case .end: throw .closed
      case .failed(let error): throw error
      }
    }
  }
}

extension Slice {
  /// The address of the slice's first byte.
  // Unsafe: valid while the block is; a vectored write keeps its slices alive across the call.
  @unsafe fileprivate var start: UnsafePointer<UInt8> {
    unsafe block.storage.withUnsafeMutablePointerToElements { unsafe UnsafePointer($0 + range.lowerBound) }
  }
}

extension ByteStream {
  /// Whether nothing waits to be received now: asks the kernel.
  public var isQuiet: Bool { peeked().map { $0 < 0 && $1 == EAGAIN } ?? false }

  /// Whether bytes arrived that nobody has received.
  public var hasArrived: Bool { tls?.hasUnread == true || (peeked()?.result ?? 0) > 0 }

  private func peeked() -> (result: Int, code: Int32)? {
    var byte: UInt8 = 0
    guard descriptor >= 0, tls?.hasUnread != true else { return nil }
    // Unsafe: peeks one byte into a local.
    let result = unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    return (result, errno)
  }
}
