// Revalidation behind a stale answer: a flight without a client, which requests that cannot use what is stored may join.

import RegentLoop
import RegentStorage

extension Chain {
  /// Asks the providers after a cache for a fresh response, once for each key, however many clients got the stale one.
  func revalidate(behind response: Response, _ request: Request, from index: Int) {
    guard let candidate = response.revalidation, let loop = EventLoop.current,
      revalidations.begin(request.key, now: request.now)
    else { return }
    let behind = request.revalidating(candidate)
    let ticket: FlightTicket?
    switch behind.mayFly ? flights.begin(behind, hasLookedAgain: true) : .unshared {
    case .leads(let own): ticket = own
    case .unshared: ticket = nil
    // It is being fetched already.
    case .inTheAir, .arriving, .lookAgain: return revalidations.end(request.key, failedSince: nil)
    }
    request.meters.domains[request.domain.number].revalidations.add(1)
    Task(executorPreference: loop) { [self] in
      let succeeded = await refresh(behind, ticket, after: index)
      revalidations.end(request.key, failedSince: succeeded ? nil : request.now)
    }
  }

  /// Whether there was an answer. Without one the stale copy stays, for as long as its window lasts.
  private func refresh(_ request: Request, _ ticket: FlightTicket?, after cache: Int) async -> Bool {
    switch await walk(request, after: cache) {
    case .answered(let response, let asked, let index):
      // An origin in trouble says nothing of the resource, even where its words may be stored (RFC 5861 section 3).
      let trouble = response.trouble(for: request)
      let isTrouble = trouble != nil
      if let trouble, let ticket { fail(ticket, trouble.failure, request) }
      let stream = isTrouble ? response.leftUnread() : await take(response, asked, ticket, from: index)
      guard let stream else { return !isTrouble }
      if case .finished = await stream.completion() { return !isTrouble }
      return false
    case .failed(let error, _):
      if let ticket { fail(ticket, error, request) }
      return false
    }
  }

  /// Has a response kept, and shared with those who joined; the body that is still to come.
  private func take(_ response: Response, _ request: Request, _ ticket: FlightTicket?, from index: Int) async
    -> BodyStream?
  {
    let kept = await handBack(response, request, from: index)
    guard let ticket else { return kept.leftUnread() }
    return land(ticket, kept, request).leftUnread()
  }
}

extension Response {
  /// Nobody reads this body here; the body, where it is a stream.
  fileprivate consuming func leftUnread() -> BodyStream? {
    body.leaveUnread()
    if case .stream(let stream) = body { return stream }
    return nil
  }
}
