// A connected socket on a loop, plain or TLS: bytes in, bytes out, readiness, one deadline.
// Lives on its loop's thread. Reads and writes are tried first and waited for only when they would block; the read
// event stays registered between requests, so a busy keep-alive connection costs no epoll_ctl.

import CLibevent
import Glibc

/// Who is told what happens on a stream while no task waits for it.
public protocol StreamDelegate: AnyObject {
  /// There is something to receive, an end, or an error.
  func streamBecameReadable()
  /// The stream's deadline passed.
  func streamDeadlinePassed()
}

/// What an attempt to receive or send came to.
public enum Attempt: Sendable, Equatable {
  case bytes(Int)
  case wouldBlock
  case end
  case failed(StreamError)
}

@safe public final class ByteStream {
  public let loop: EventLoop
  // Strong: `close` breaks the cycle. Private, and set as a whole: so the compiler checks none of its uses.
  private var listener: (any StreamDelegate)?
  public var delegate: (any StreamDelegate)? {
    get { listener }
    set { listener = newValue }
  }
  var receivedCount = 0
  var sentCount = 0
  /// Bytes moved so far, by direction.
  public var received: Int { receivedCount }
  public var sent: Int { sentCount }
  private(set) var slot = SlotID(bits: 0)
  private(set) var descriptor: Int32
  var tls: TLSSession?
  /// Whether the kernel sends by a clock of its own.
  var isPaced = false
  // Unsafe: libevent's structures, owned by this object; taken out of the loop before they are freed.
  private let readEvent: UnsafeMutablePointer<event>
  private var writeEvent: UnsafeMutablePointer<event>?
  private(set) var isReading = false
  /// The watch over its peer, while somebody waits for something else than bytes.
  var departure: Departure?
  // Unsafe continuations: each is taken out before it is resumed, and `close` resumes what is left.
  private var reader: UnsafeContinuation<Wakeup, Never>?
  private var writer: UnsafeContinuation<Wakeup, Never>?
  private var deadline = Int64.max
  // The stream's timers in the loop's queue: the next one, and one behind it that can serve again.
  private var timerEntry = Int64.max
  private var laterEntry = Int64.max

  enum Wakeup { case ready, timedOut, closed }

  /// Takes over a non-blocking, connected (or connecting) socket.
  init(descriptor: Int32, on loop: EventLoop) {
    self.loop = loop
    self.descriptor = descriptor
    unsafe readEvent = .allocate(capacity: 1)
    slot = loop.watch(self)
    // Unsafe: the context is the slot's number, not an address.
    unsafe event_assign(
      readEvent, loop.base, descriptor, Int16(EV_READ | EV_PERSIST), streamEvent,
      UnsafeMutableRawPointer(bitPattern: slot.bits))
  }

  deinit {
    precondition(descriptor < 0, "a stream was dropped without being closed")
    unsafe readEvent.deallocate()
    unsafe writeEvent?.deallocate()
  }

  public var isOpen: Bool { descriptor >= 0 }

  /// Closes at once; waiting tasks are told. Closing twice is harmless.
  public func close() {
    guard descriptor >= 0 else { return }
    // Unsafe: all events leave the loop before the descriptor's number can be used again.
    unsafe event_del(readEvent)
    if let writeEvent = unsafe writeEvent { unsafe event_del(writeEvent) }
    departure?.end()
    loop.unwatch(slot)
    tls?.shutdown()
    tls = nil
    _ = Glibc.close(descriptor)
    descriptor = -1
    delegate = nil
    wakeAll(.closed)
  }

  /// Ends this side's sending; the peer reads an end.
  public func shutdownWriting() {
    tls?.shutdown()
    _ = shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Makes the coming `close()` a reset, so that the peer cannot take it for an orderly end.
  public func resetOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    // Unsafe: passes a local.
    _ = unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  // MARK: Readiness

  /// Whether nothing had come, and no end, when the loop last looked; without asking the kernel. For a stream whose
  /// reading was resumed.
  public var wasQuiet: Bool {
    // Unsafe: reads a flag of our own event: it is active while it waits for its turn in this round of the loop.
    let flags = unsafe Int32(readEvent.pointee.ev_evcallback.evcb_flags)
    return descriptor >= 0 && flags & EVLIST_ACTIVE == 0 && tls?.hasUnread != true
  }

  /// Starts or goes on telling of readable bytes.
  public func resumeReading() {
    guard !isReading, descriptor >= 0 else { return }
    isReading = true
    unsafe event_add(readEvent, nil)
  }

  /// Stops telling of readable bytes: the kernel's buffer, and then the peer, wait.
  public func pauseReading() {
    guard isReading, descriptor >= 0 else { return }
    isReading = false
    unsafe event_del(readEvent)
  }

  func becameReadable() {
    if let reader = unsafe reader {
      unsafe self.reader = nil
      unsafe reader.resume(returning: .ready)
    } else if let delegate {
      delegate.streamBecameReadable()
    } else {
      pauseReading()
    }
  }

  func becameWritable() {
    guard let writer = unsafe writer else { return }
    unsafe self.writer = nil
    unsafe writer.resume(returning: .ready)
  }

  /// Waits until there is something to receive.
  // Unsafe: the continuation is resumed at once, or kept in its place, out of which whoever resumes it takes it.
  public func readable() async throws(StreamError) {
    if tls?.hasDecrypted == true { return }
    try outcome(
      await unsafe withUnsafeContinuation { continuation in
        guard descriptor >= 0 else { return unsafe continuation.resume(returning: .closed) }
        unsafe precondition(reader == nil, "two tasks read one stream")
        unsafe reader = continuation
        resumeReading()
      })
  }

  /// Waits until something can be sent.
  // Unsafe: the continuation is resumed at once, or kept in its place, out of which whoever resumes it takes it.
  public func writable() async throws(StreamError) {
    try outcome(
      await unsafe withUnsafeContinuation { continuation in
        guard descriptor >= 0 else { return unsafe continuation.resume(returning: .closed) }
        unsafe precondition(writer == nil, "two tasks write one stream")
        unsafe writer = continuation
        unsafe event_add(armedWriteEvent(), nil)
      })
  }

  /// Wakes the task that waits for something to receive, as if the stream were closed.
  public func interruptReading() {
    guard let reader = unsafe reader else { return }
    unsafe self.reader = nil
    unsafe reader.resume(returning: .closed)
  }

  /// Wakes the task that waits to send, as if the stream were closed.
  public func interruptWriting() {
    guard let writer = unsafe writer else { return }
    unsafe self.writer = nil
    unsafe writer.resume(returning: .closed)
  }

  // Unsafe: made at the first wait, and then owned by this object like `readEvent`.
  private func armedWriteEvent() -> UnsafeMutablePointer<event> {
    if let event = unsafe writeEvent { return unsafe event }
    let event = UnsafeMutablePointer<event>.allocate(capacity: 1)
    unsafe event_assign(
      event, loop.base, descriptor, Int16(EV_WRITE), streamEvent,
      UnsafeMutableRawPointer(bitPattern: slot.bits))
    unsafe writeEvent = event
    return unsafe event
  }

  private func outcome(_ wakeup: Wakeup) throws(StreamError) {
    switch wakeup {
    case .ready: return
    case .timedOut: throw .timedOut
    case .closed: throw .closed
    }
  }

  private func wakeAll(_ wakeup: Wakeup) {
    // Unsafe continuations: forgotten before they are resumed, so that none is resumed twice.
    let waiting = unsafe (reader, writer)
    unsafe reader = nil
    unsafe writer = nil
    unsafe waiting.0?.resume(returning: wakeup)
    unsafe waiting.1?.resume(returning: wakeup)
  }

  // MARK: The deadline

  /// The loop's monotonic time at which whoever waits is told that it is late; nil for never. Moving it back is free.
  public func setDeadline(_ time: Int64?) {
    deadline = time ?? .max
    guard deadline < timerEntry, descriptor >= 0 else { return }
    if laterEntry == .max { laterEntry = timerEntry }
    timerEntry = deadline
    loop.deadlineSet(self, deadline)
  }

  public func setDeadline(in duration: Duration) {
    setDeadline(loop.clock.time(in: duration))
  }

  /// One of this stream's timers came: its deadline may be later by now, or another timer may be its own.
  func timerLooked(entry: Int64, now: Int64) {
    if entry == timerEntry {
      timerEntry = laterEntry
      laterEntry = .max
    } else if entry == laterEntry {
      laterEntry = .max
    } else {
      return
    }
    if deadline > now { return setDeadline(deadline == .max ? nil : deadline) }
    deadline = .max
    if unsafe reader != nil || writer != nil {
      wakeAll(.timedOut)
    } else {
      delegate?.streamDeadlinePassed()
    }
  }
}
