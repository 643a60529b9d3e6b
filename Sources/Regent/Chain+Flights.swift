// Requests for the same that come at once: one of them walks on for all (it leads), the others wait for its head and read
// its body as it arrives (they follow). A request that may not be answered by another one's response walks by itself.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

extension Request {
  /// Whether the response to another request for the same could answer this one, and the other way round. Ranges ask for
  /// too many different things, and what must not be stored must not be shared.
  var mayFly: Bool {
    method == .get && !hasBody && forwarded != .bypass && forwarded != .method
      && missing == nil && candidate?.parts == nil && !directives.noStore && !directives.onlyIfCached
      && domain.policy.kind != .networkOnly && !fields.contains(.range)
  }
}

extension Chain {
  /// The answer to a request that the cache at `index` let pass, and that does not simply lead.
  ///
  /// - Parameter asked: The request before it learned anything from that cache.
  func fly(_ request: Request, _ beginning: FlightBeginning, asked: Request, from index: Int) async
    -> Response
  {
    var request = request
    var hasLookedAgain = false
    var mayTryAgain = true
    var beginning = beginning
    while true {
      switch beginning {
      case .unshared: return await answerUnshared(request, after: index)
      case .leads(let ticket): return await lead(ticket, request, after: index)
      case .lookAgain:
        hasLookedAgain = true
        switch await lookAgain(asked, in: index) {
        case .found(let response): return await finish(response, asked, from: index)
        case .missed(let unhandled): request = asked.learning(unhandled)
        }
        beginning = flights.begin(request, hasLookedAgain: true)
      case .arriving(let shared, let ticket):
        if let response = shared.answer(late: request) {
          flights.count(request.key) { $0.joinedLate += 1 }
          return response
        }
        beginning = flights.replace(ticket, request)
      case .inTheAir:
        switch await flights.follow(request) {
        case .missed: break
        case .landed(let shared, _) where shared.isBroken && mayTryAgain: mayTryAgain = false
        case let outcome: return await answer(request, outcome, after: index)
        }
        beginning = flights.begin(request, hasLookedAgain: hasLookedAgain)
      }
    }
  }

  private enum SecondLook {
    case found(Response)
    case missed(Unhandled)
  }

  private func lookAgain(_ asked: Request, in index: Int) async -> SecondLook {
    do {
      let response = try await links[index].provider.perform(asked)
      asked.meters.providers[index].answered.add(1)
      return .found(response)
    } catch let unhandled as Unhandled {
      return .missed(unhandled)
    } catch {
      // It let the request pass a moment before: the walk goes on behind it all the same.
      asked.meters.providers[index].errors.add(1)
      return .missed(Unhandled(asked.forwarded))
    }
  }

  // MARK: Leading

  private func lead(_ ticket: FlightTicket, _ request: Request, after index: Int) async -> Response {
    switch await walk(request, after: index) {
    case .answered(let response, let asked, let place):
      let trouble = response.trouble(for: asked)
      let finished = await finish(response, asked, from: place)
      return settle(ticket, finished, trouble, asked)
    case .failed(let error, let asked):
      fail(ticket, error, request)
      return recover(from: error, asked)
    }
  }

  /// Ends a leader's duty with its response.
  ///
  /// - Parameter trouble: What the origin's own response said where it says nothing of the resource: those who wait have
  ///   something better than an error that nobody may store, or ask once more.
  func settle(
    _ ticket: FlightTicket, _ response: consuming Response, _ trouble: SharedTrouble?, _ request: Request
  ) -> Response {
    guard let trouble, response.storability != .store || response.isStale else {
      return land(ticket, response, request)
    }
    fail(ticket, trouble.failure, request)
    return response
  }

  func fail(_ ticket: FlightTicket, _ error: any Error, _ request: Request) {
    flights.failed(ticket, error as? Failure ?? .provider("\(error)"), now: now(request))
  }

  /// Lets others have a response, where they may.
  func land(_ ticket: FlightTicket, _ response: consuming Response, _ request: Request) -> Response {
    let now = now(request)
    let isArriving = response.body.isArriving
    let isShareable = response.storability == .store
    // What another cache had stored says nothing of what origins let share.
    let isRemembered = !isShareable && response.cacheStatus.outcome != .hit
    if !isArriving,
      flights.endedAlone(ticket, isShareable: isShareable, isRemembered: isRemembered, now: now)
    {
      return response
    }
    return share(ticket, consume response, request, isArriving: isArriving, now: now)
  }

  private func share(
    _ ticket: FlightTicket, _ response: consuming Response, _ request: Request, isArriving: Bool, now: Int64
  ) -> Response {
    let wall = EventLoop.current?.clock.wall ?? request.wall
    guard response.storability == .store,
      let shared = SharedResponse(copy response, to: request, now: wall)
    else {
      flights.refused(ticket, isRemembered: response.cacheStatus.outcome != .hit, now: now)
      return response
    }
    // Whoever joins may read, and let go of the beginning, before this response's own turn comes.
    if isArriving { response.seat = shared.seat() }
    flights.landed(ticket, shared, isArriving: isArriving, now: now)
    if isArriving, case .stream(let stream) = response.body { end(ticket, with: stream, request) }
    return response
  }

  /// Ends a flight with its body, or when a store lets go of it. What a cache keeps it has stored by then: it began to wait
  /// before.
  private func end(_ ticket: FlightTicket, with stream: BodyStream, _ request: Request) {
    if !stream.isKept, !stream.hasEnded { keepPace(of: stream) }
    Task(executorPreference: EventLoop.current) { [self] in
      if case .tooLarge = await stream.completion() { keepPace(of: stream) }
      flights.ended(ticket, now: EventLoop.current?.clock.now ?? request.now)
    }
  }

  /// Sees to it that nobody holds the other readers of a body for good that nobody keeps.
  private func keepPace(of stream: BodyStream) {
    guard let loop = EventLoop.current else { return }
    let patience = flights.rules.patience
    Task(executorPreference: loop) { [weak stream] in
      repeat { await loop.sleep(for: patience) } while stream?.whilePassed() == true
    }
  }

  private func now(_ request: Request) -> Int64 { EventLoop.current?.clock.now ?? request.now }

  // MARK: Following

  /// The answer for one who waited.
  private func answer(_ request: Request, _ outcome: FlightOutcome, after index: Int) async -> Response {
    switch outcome {
    case .released, .missed: return await answerAlone(request, after: index)
    case .elected(let ticket): return await lead(ticket, request, after: index)
    case .failed(let failure):
      var response = recover(from: failure, request)
      if response.cacheStatus.outcome != .hit { response.cacheStatus.collapsed = true }
      return response
    case .landed(let shared, let seat):
      if let response = shared.answer(waiting: request, seat) {
        return response.isTrouble ? staleInstead(of: response, request) ?? response : response
      }
      flights.count(request.key) { $0.unselected += 1 }
      return await answerAlone(request, after: index)
    }
  }

  // MARK: Alone

  private func answerAlone(_ request: Request, after index: Int) async -> Response {
    switch await walk(request, after: index) {
    case .answered(let response, let asked, let place): return await finish(response, asked, from: place)
    case .failed(let error, let asked): return recover(from: error, asked)
    }
  }

  /// A request for a key whose responses were not shared: one that may be ends that.
  private func answerUnshared(_ request: Request, after index: Int) async -> Response {
    let response = await answerAlone(request, after: index)
    if response.storability == .store { flights.becameShareable(request.key) }
    return response
  }
}

extension Response {
  /// Whether it stands in for a better one.
  fileprivate var isStale: Bool { if case .stale = cacheStatus.detail { true } else { false } }
}

extension ResponseBody {
  /// Whether more of it is to come.
  fileprivate var isArriving: Bool {
    if case .stream(let stream) = self { !stream.isWhole } else { false }
  }
}
