// The deadlines of a request at its origin. Connecting, the TLS handshake, the first byte and the time between bytes have
// their own; over all of them, retries and delays included, lies the request's.

import RegentConfig
import RegentLoop

extension UpstreamProvider {
  /// When the head of an answer must be there, by the loop's monotonic time.
  func headDeadline(of request: Request, _ clock: LoopClock) -> Int64 {
    min(Self.later(clock.now, by: firstByteTime), end(of: request))
  }

  /// How long a request may still take until its answer's head is there.
  func remaining(of request: Request, _ clock: LoopClock) -> Duration {
    .nanoseconds(max(0, end(of: request) &- clock.now))
  }

  /// A failure by its own name where it was the request's whole time that passed.
  func named(_ failure: Failure, _ request: Request, _ clock: LoopClock) -> Failure {
    switch failure {
    case .responseTimedOut, .nameTimedOut, .connectionTimedOut, .tls(.timedOut), .overloaded:
      clock.now >= end(of: request) ? .deadlinePassed : failure
    default: failure
    }
  }

  /// When the request's whole time has passed.
  func end(of request: Request) -> Int64 {
    Self.later(request.now, by: requestTime)
  }

  private static func later(_ time: Int64, by nanoseconds: Int64) -> Int64 {
    let (sum, overflow) = time.addingReportingOverflow(nanoseconds)
    return overflow ? .max : sum
  }
}
