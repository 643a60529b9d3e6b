// Noticing that a peer leaves while nothing is read from it: an event that is there only as long as somebody waits for
// something else. It looks at the connection's state, not at its bytes, so that what lies unread hides nothing.

import CLibevent
import Glibc

extension ByteStream {
  /// Waits for so long, but no longer than the peer stays: false where it ended its side, or the connection broke.
  ///
  /// Nothing is received meanwhile, and no other task may wait on the stream.
  public func peerStays(for duration: Duration) async -> Bool {
    guard !peerHasHungUp else { return false }
    let waiting = Task(executorPreference: loop) { [loop] in await loop.sleep(for: duration) }
    let wasReading = isReading
    pauseReading()
    departure = Departure(of: self, waiting)
    await waiting.value
    departure?.end()
    departure = nil
    if wasReading { resumeReading() }
    return !peerHasHungUp
  }

  /// Whether the peer has ended its side, or the connection broke, whatever was not read before that.
  private var peerHasHungUp: Bool {
    guard descriptor >= 0 else { return true }
    // POLLRDHUP, which Glibc's module does not show; the other two are told of unasked.
    var asked = pollfd(fd: descriptor, events: 0x2000, revents: 0)
    // Unsafe: passes a local.
    return unsafe poll(&asked, 1, 0) > 0 && asked.revents != 0
  }

  /// Something happened on a stream whose peer is watched: bytes, an end, or an error.
  func departureSeen() {
    if peerHasHungUp { departure?.noticed() }
  }
}

/// The watch over one stream's peer.
@safe final class Departure {
  private let waiting: Task<Void, Never>
  // Unsafe: libevent's structure, owned by this object; `end` takes it out of the loop.
  private let event: UnsafeMutablePointer<event>

  /// Edges only: what is there already and not read would be told of again and again.
  fileprivate init(of stream: ByteStream, _ waiting: Task<Void, Never>) {
    self.waiting = waiting
    unsafe event = .allocate(capacity: 1)
    // A broken connection is told of as readable, an end that stands behind unread bytes as closed.
    let what = EV_READ | EV_CLOSED | EV_ET | EV_PERSIST
    // Unsafe: the context is the slot's number, not an address.
    unsafe event_assign(
      event, stream.loop.base, stream.descriptor, Int16(what), departureEvent,
      UnsafeMutableRawPointer(bitPattern: stream.slot.bits))
    unsafe event_add(event, nil)
  }

  deinit { unsafe event.deallocate() }

  fileprivate func noticed() { waiting.cancel() }

  /// Ends the watch, and the wait that it is kept for. Ending it twice is harmless.
  func end() {
    unsafe event_del(event)
    waiting.cancel()
  }
}
