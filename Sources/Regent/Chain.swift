// The walk: the providers of the request's domain in order until one answers, then its response back through those
// that it passed, nearest first. Stale answers and what is revalidated behind them are decided here, for all caches.

import RegentCaching
import RegentLoop
import RegentStorage
import Synchronization

/// An ordered list of providers, each registered for a set of domains.
public final class Chain: Sendable {
  // A class: each request that passes refers to it, where a copy would refer to all that it holds.
  final class Link: Sendable {
    let provider: any Provider
    /// Whether it wants to see responses, and then who: one who sees none where it does not. To ask an optional one
    /// would copy it.
    let sees: Bool
    let handler: any ResponseHandler
    let domains: RequestDomain
    /// The provider where it is the one that every miss asks: behind a call that is known, no executor is looked up.
    let upstream: UpstreamProvider?

    init(_ provider: any Provider, _ domains: RequestDomain) {
      self.provider = provider
      upstream = provider as? UpstreamProvider
      let handler = provider as? any ResponseHandler
      sees = handler != nil
      self.handler = handler ?? Nobody()
      self.domains = domains
    }
  }

  let links: [Link]
  let flights: Flights
  let revalidations = Revalidations()

  init(_ links: [Link], flights: Flights) {
    self.links = links
    self.flights = flights
  }

  /// Builds chains: `Chain.Builder().next(cache).next(origin, domains: github).build()`.
  public struct Builder {
    private var links: [Link] = []
    private var flights = Flights()

    public init() {}

    /// The same chain with these flights in place of its own.
    consuming func flights(_ flights: Flights) -> Builder {
      self.flights = flights
      return self
    }

    /// The same chain with one more provider at its end.
    public consuming func next(_ provider: any Provider, domains: RequestDomain = .any) -> Builder {
      links.append(Link(provider, domains))
      return self
    }

    public consuming func build() -> Chain { Chain(links, flights: flights) }
  }

  /// How a request that a cache let pass stands to others for the same.
  private enum Standing {
    /// No cache has let it pass yet, or it may not share.
    case single
    /// It leads: most that a cache lets pass do, and nobody follows.
    case leads(FlightTicket)
    /// Responses for its key were not shared before.
    case unshared
  }

  /// The answer to a request. Never fails: what goes wrong becomes an answer that says so.
  public func respond(to request: Request) async -> Response {
    var word = Word.none
    if let response = respondAtOnce(to: request, &word) { return response }
    return await respond(to: request, having: word)
  }

  /// The answer of the first provider, where it has one at once: most hits need no more. What else it said is the word
  /// with which ``respond(to:having:)`` goes on.
  func respondAtOnce(to request: Request, _ word: inout Word) -> Response? {
    guard let first = links.first, first.domains.contains(number: request.domain.number),
      request.routed.refusal == nil, request.candidate == nil
    else { return nil }
    do throws(Unhandled) {
      guard let response = try first.provider.performAtOnce(request) else {
        word = .waits
        return nil
      }
      request.meters.providers[0].answered.add(1)
      if response.revalidation != nil { revalidate(behind: response, request, from: 0) }
      return response
    } catch {
      word = .unhandled(error)
      return nil
    }
  }

  /// The answer to a request of which the first provider may have said something already.
  func respond(to request: Request, having heard: consuming Word) async -> Response {
    var request = request
    var standing = Standing.single
    if let refusal = request.routed.refusal { return refusal.response(to: request) }
    var word = heard
    for index in links.indices where links[index].domains.contains(number: request.domain.number) {
      if let response = await ask(links[index], request, &word) {
        request.meters.providers[index].answered.add(1)
        if index == 0, response.revalidation == nil { return response }
        let trouble = response.trouble(for: request)
        let finished = await finish(consume response, request, from: index)
        return settle(standing, finished, trouble, request)
      }
      guard case .unhandled(let unhandled) = word else {
        request.meters.providers[index].errors.add(1)
        return end(standing, with: word.error, request)
      }
      word = .none
      request.meters.providers[index].passed.add(1)
      let asked = request
      request = request.learning(unhandled)
      guard case .single = standing, links[index].sees, request.mayFly else { continue }
      switch flights.begin(request, hasLookedAgain: false) {
      case .leads(let ticket): standing = .leads(ticket)
      case .unshared: standing = .unshared
      case let beginning: return await fly(request, beginning, asked: asked, from: index)
      }
    }
    return end(standing, with: Failure.unhandled, request)
  }

  /// What a provider says that has no response.
  enum Word {
    case none
    /// It has one, or finds out, but not at once.
    case waits
    case unhandled(Unhandled)
    case failed(any Error)

    var error: any Error { if case .failed(let error) = self { error } else { Failure.unhandled } }
  }

  /// Asks a provider: without a suspension where it needs none.
  @inline(__always)
  private func ask(_ link: Link, _ request: Request, _ word: inout Word) async -> Response? {
    if case .unhandled = word { return nil }
    var asksAtOnce = link.upstream == nil
    if case .waits = word { (asksAtOnce, word) = (false, .none) }
    do throws(Unhandled) {
      if asksAtOnce, let response = try link.provider.performAtOnce(request) { return response }
    } catch {
      word = .unhandled(error)
      return nil
    }
    do {
      if let upstream = link.upstream { return try await upstream.perform(request) }
      return try await link.provider.perform(request)
    } catch let unhandled as Unhandled {
      word = .unhandled(unhandled)
    } catch {
      word = .failed(error)
    }
    return nil
  }

  private func settle(
    _ standing: Standing, _ response: consuming Response, _ trouble: SharedTrouble?, _ request: Request
  ) -> Response {
    switch standing {
    case .single: return response
    case .leads(let ticket): return settle(ticket, response, trouble, request)
    case .unshared:
      if response.storability == .store { flights.becameShareable(request.key) }
      return response
    }
  }

  private func end(_ standing: Standing, with error: any Error, _ request: Request) -> Response {
    if case .leads(let ticket) = standing { fail(ticket, error, request) }
    return recover(from: error, request)
  }

  /// What the providers behind one came to.
  enum Walk {
    /// A response, the request as its provider saw it, and the provider's place.
    case answered(Response, Request, Int)
    case failed(any Error, Request)
  }

  /// Asks the providers behind `index` in turn.
  func walk(_ request: Request, after index: Int) async -> Walk {
    var request = request
    for index in links.indices.dropFirst(index + 1)
    where links[index].domains.contains(number: request.domain.number) {
      var word = Word.none
      if let response = await ask(links[index], request, &word) {
        request.meters.providers[index].answered.add(1)
        return .answered(response, request, index)
      }
      guard case .unhandled(let unhandled) = word else {
        request.meters.providers[index].errors.add(1)
        return .failed(word.error, request)
      }
      request.meters.providers[index].passed.add(1)
      request = request.learning(unhandled)
    }
    return .failed(Failure.unhandled, request)
  }

  func finish(_ response: consuming Response, _ request: Request, from index: Int) async -> Response {
    if response.revalidation != nil { revalidate(behind: response, request, from: index) }
    if response.isTrouble, let stale = staleInstead(of: response, request) { return stale }
    return await handBack(consume response, request, from: index)
  }

  // Inlined, as `ask`.
  @inline(__always)
  func handBack(_ response: consuming Response, _ request: Request, from index: Int) async -> Response {
    if Invalidation.applies(method: request.method, status: UInt16(clamping: response.status)) {
      request.renewTargets(named: response)
    }
    var place = index
    while place > 0 {
      place -= 1
      let passed = links[place]
      guard passed.sees, passed.domains.contains(number: request.domain.number) else { continue }
      if response.storability.keeps, response.cacheStatus.outcome != .hit {
        let refusal =
          response.body.isRefuted ? .digestMismatch : passed.handler.refusal(of: response, for: request)
        response.cacheStatus.note(refusal: refusal)
      }
      if !passed.handler.handleAtOnce(response, for: request) {
        await passed.handler.handle(response, for: request)
      }
    }
    return consume response
  }

  /// The stored response in place of an origin's 500, 502, 503 or 504, where the rules allow it (RFC 5861 section 4).
  func staleInstead(of response: Response, _ request: Request) -> Response? {
    guard var stale = request.candidate?.answer(after: .status(UInt16(clamping: response.status)), request)
    else {
      return nil
    }
    response.body.leaveUnread()
    // It went forward all the same, and only then has an answer's status a meaning (RFC 9211 sections 2.1 and 2.3).
    stale.cacheStatus.outcome = .forwarded(request.forwarded)
    stale.cacheStatus.fwdStatus = UInt16(clamping: response.status)
    return stale
  }

  /// A stale answer where one is allowed, else one that names what went wrong.
  func recover(from error: any Error, _ request: Request) -> Response {
    let failure = error as? Failure ?? .provider("\(error)")
    if let origin = failure.originFailure, let candidate = request.candidate,
      let stale = candidate.answer(after: origin, request)
    {
      var response = stale
      response.failure = failure
      return response
    }
    return failure.response(to: request)
  }
}

extension CacheStatus {
  /// Notes what one of the caches is going to do with a response. Where one stores it, nothing is said of the others.
  fileprivate mutating func note(refusal: RefusalReason?) {
    guard let refusal else {
      if !stored, case .refused = detail { detail = .none }
      stored = true
      return
    }
    // The one nearest to the origin says why.
    if case .refused = detail { return }
    if !stored { detail = .refused(refusal) }
  }
}

/// In the place of who sees nothing.
private struct Nobody: ResponseHandler {
  let name = ""
  func perform(_ request: Request) async throws -> Response { throw Unhandled() }
  func handle(_ response: Response, for request: Request) async {}
}

extension Candidate {
  /// Whether this stored response may be the answer after an origin's failure (RFC 5861 section 4).
  func mayAnswer(after failure: OriginFailure, _ request: Request) -> Bool {
    StaleIfError.decide(
      metadata, request: request.directives, policy: request.domain.policy, failure: failure,
      now: request.wall) != .no
  }

  /// This stored response as the answer after an origin's failure, where the rules allow it (RFC 5861 section 4).
  func answer(after failure: OriginFailure, _ request: Request) -> Response? {
    let verdict = StaleIfError.decide(
      metadata, request: request.directives, policy: request.domain.policy, failure: failure,
      now: request.wall)
    guard case .serve(let age, let reason) = verdict else { return nil }
    var response = Response(
      status: Int(metadata.status), fields: .parsed(fields), body: body,
      cacheStatus: CacheStatus(
        .hit, ttl: metadata.remainingFreshness(policy: request.domain.policy, now: request.wall),
        detail: .stale(reason)))
    response.metadata = metadata
    response.age = age
    if parts != nil { response.parts = parts }
    return response
  }
}
