// What an origin in trouble tells all who asked for the same: its status, and for how long it wants to be left alone. It
// says nothing of the resource.

import RegentCaching
import RegentLoop

/// An origin's trouble, as those hear of it who waited for another one's request.
// Two numbers: it crosses the suspensions of each request that goes forward.
struct SharedTrouble {
  let status: Int32
  /// In seconds; 0 where the origin says nothing.
  let demanded: Int32

  var failure: Failure {
    .originTrouble(Int(status), seconds: demanded > 0 ? Int(demanded) : nil)
  }
}

extension Response {
  /// Whether the origin is in trouble, and said nothing of the resource. A stored error that a 304 confirms is no
  /// trouble of the origin's.
  var isTrouble: Bool {
    (status >= 500 || status == 408 || status == 425 || status == 429) && cacheStatus.fwdStatus != 304
  }

  func trouble(for request: Request) -> SharedTrouble? { isTrouble ? sharedTrouble(request) : nil }

  private func sharedTrouble(_ request: Request) -> SharedTrouble {
    let wall = EventLoop.current?.clock.wall ?? request.wall
    let demanded = fields.parsed.demandedDelay(wall: wall, isLimiting: status == 429 || status == 503)
    return SharedTrouble(
      status: Int32(clamping: status), demanded: Int32(clamping: demanded?.components.seconds ?? 0))
  }
}

extension Failure {
  /// Whether the origin asked to be left alone, so that nobody asks once more.
  var isDemand: Bool { if case .originTrouble(_, _?) = self { true } else { false } }
}
