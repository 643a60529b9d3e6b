// Accepting connections on a loop: in batches, so that a flood does not starve the others, and with a pause when
// descriptors run out, so that the loop does not spin.

import CLibevent
import Glibc

/// A listening socket at work on a loop.
@safe public final class Listener {
  private let loop: EventLoop
  private let descriptor: Int32
  private let isLocal: Bool
  private let isPaced: Bool
  private let accepted: (ByteStream) -> Void
  // Unsafe: owned here; taken out of the loop before it is freed.
  private let acceptEvent: UnsafeMutablePointer<event>
  private var slot = SlotID(bits: 0)
  private var isOpen = true
  /// How often descriptors or memory ran out.
  public private(set) var exhaustions = 0

  static let batch = 64
  static let pause = Duration.milliseconds(100)

  /// Starts accepting; on the loop's thread. Each connection goes to `accepted`.
  public init(_ socket: ListeningSocket, on loop: EventLoop, accepted: @escaping (ByteStream) -> Void) {
    self.loop = loop
    self.accepted = accepted
    descriptor = socket.descriptor
    isLocal = socket.address.port == nil
    isPaced = socket.isPaced
    unsafe acceptEvent = .allocate(capacity: 1)
    slot = loop.watch(self)
    // Unsafe: the context is the slot's number, not an address.
    unsafe event_assign(
      acceptEvent, loop.base, descriptor, Int16(EV_READ | EV_PERSIST), listenerEvent,
      UnsafeMutableRawPointer(bitPattern: slot.bits))
    unsafe event_add(acceptEvent, nil)
  }

  deinit {
    precondition(!isOpen, "a listener was dropped without being closed")
    unsafe acceptEvent.deallocate()
  }

  public func close() {
    guard isOpen else { return }
    isOpen = false
    unsafe event_del(acceptEvent)
    loop.unwatchListener(slot)
    _ = Glibc.close(descriptor)
  }

  func becameReadable() {
    for _ in 0..<Self.batch {
      let connection = regent_accept(descriptor)
      if connection >= 0 {
        if !isLocal { setNoDelay(connection) }
        let stream = ByteStream(descriptor: connection, on: loop)
        stream.isPaced = isPaced
        accepted(stream)
      } else if errno == EAGAIN {
        return
      } else if SystemError(call: "accept", code: errno).isExhaustion {
        return rest()
      }  // else the connection died while it waited: on to the next
    }
  }

  /// Stops accepting for a moment; what waits, waits in the kernel's backlog.
  public func rest() {
    exhaustions += 1
    unsafe event_del(acceptEvent)
    let bound = LoopBound(self, loop)
    Task(executorPreference: loop) {
      await EventLoop.current?.sleep(for: Listener.pause)
      let listener = bound.value
      if listener.isOpen { unsafe event_add(listener.acceptEvent, nil) }
    }
  }
}
