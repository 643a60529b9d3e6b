// A request's attempts at its origin, each on a connection of its own: admitted by the breaker, asked, and, where it failed,
// repeated after a while as the domain's rules allow.

import RegentCaching
import RegentConfig
import RegentHTTP
import RegentLoop

/// One domain's origin as the requests on one loop meet it.
// A class: what it holds is handed through many steps of each request.
final class UpstreamPath {
  let target: UpstreamProvider.Target
  let origin: Origin
  let loop: EventLoop

  init(target: UpstreamProvider.Target, origin: Origin, loop: EventLoop) {
    self.target = target
    self.origin = origin
    self.loop = loop
  }
}

extension UpstreamProvider {
  /// How far an attempt came.
  private struct Course {
    /// Whether anything of the request may have reached the origin.
    var hasLeft = false
    /// Whether the origin closed the idle connection just as it was reused: that is no failure of its own.
    var wasLate = false

    func outcome(_ failure: Failure) -> OriginHealth.Outcome { wasLate ? .unknown : .init(failure) }
  }

  /// The origin's response; nil where it confirms a stored one that it does not know.
  // Inlined: each suspending function between a client and its origin costs a frame.
  @inline(__always)
  func fetch(
    _ request: Request, _ path: UpstreamPath, _ kept: KeptContent?
  ) async throws(Failure) -> Response? {
    var attempt = EndedAttempt(method: request.method)
    while true {
      let ticket = try path.target.health.admit(now: path.loop.clock.now)
      request.meters.originRequests.add(1)
      let started = path.loop.clock.wall
      let (connection, head): (OriginConnection, ResponseHead)
      var course = Course()
      do throws(Failure) {
        (connection, head) = try await exchange(request, path, kept, &course)
      } catch {
        path.target.health.ended(ticket, course.outcome(error), attempt.number, now: path.loop.clock.now)
        attempt.hasLeft = course.hasLeft
        let failure = named(error, request, path.loop.clock)
        guard let delay = delay(after: .failure(failure), &attempt, request, path, kept) else {
          throw failure
        }
        try await wait(delay, request, path, kept)
        continue
      }
      let (now, ended) = (path.loop.clock.now, path.loop.clock.wall)
      path.target.health.ended(ticket, .init(status: head.status), attempt.number, now: now)
      let answer = OriginHealth.Answer(
        health: path.target.health, ticket: ticket, status: head.status, began: now)
      guard head.status >= 400 else {
        return try respond(request, connection, head, requestTime: started, responseTime: ended, answer)
      }
      attempt.hasLeft = true
      let received = Received(head, requestTime: started, responseTime: ended)
      guard let delay = delay(after: received.trouble, &attempt, request, path, kept, received) else {
        return try respond(request, connection, head, requestTime: started, responseTime: ended, answer)
      }
      discard(connection, head, request)
      try await wait(delay, request, path, kept)
    }
  }

  // MARK: One attempt

  // Inlined, as `fetch`.
  @inline(__always)
  private func exchange(
    _ request: Request, _ path: UpstreamPath, _ kept: KeptContent?, _ course: inout Course
  ) async throws(Failure) -> (OriginConnection, ResponseHead) {
    let connection: OriginConnection
    if let unused = path.origin.unused() {
      connection = unused
    } else {
      connection = try await path.origin.connection(until: end(of: request))
    }
    course.hasLeft = true
    do throws(Failure) {
      return (connection, try await ask(connection, request))
    } catch {
      let isReplayable = !request.hasBody || kept?.isWhole == true
      let mayRepeat = connection.wasUsed && isReplayable && request.method.isIdempotent
      connection.close()
      // The origin closed the idle connection as it was reused: nobody saw the request (RFC 9112 section 9.3.1).
      guard error == .closedBeforeResponse, mayRepeat else {
        course.wasLate = connection.wasUsed && error == .closedBeforeResponse
        throw error
      }
    }
    return try await exchangeAnew(request, path, kept)
  }

  /// The exchange on a connection that no request has used yet.
  private func exchangeAnew(
    _ request: Request, _ path: UpstreamPath, _ kept: KeptContent?
  ) async throws(Failure) -> (OriginConnection, ResponseHead) {
    request.meters.originReconnections.add(1)
    if request.hasBody { kept?.rewind() }
    let fresh = try await path.origin.connection(fresh: true, until: end(of: request))
    do throws(Failure) {
      return (fresh, try await ask(fresh, request))
    } catch {
      fresh.close()
      throw error
    }
  }

  // MARK: After an attempt

  /// How long to wait before the next attempt, which this counts; nil where this one was the last.
  private func delay(
    after trouble: OriginTrouble, _ attempt: inout EndedAttempt, _ request: Request, _ path: UpstreamPath,
    _ kept: KeptContent?, _ received: Received? = nil
  ) -> Duration? {
    let rules = path.target.retrying
    // Asked first, because most troubles are none that is repeated, and the rest costs more to find out.
    guard rules.policy.shouldRetry(for: trouble, attempt: attempt.number) else {
      if attempt.number > 0 { request.meters.retryRefusals.add(.policy) }
      return nil
    }
    attempt.isReplayable = !request.hasBody || kept?.isWhole == true
    attempt.isBehind = request.isBehind
    attempt.hasStale = request.hasStale(after: trouble)
    attempt.isFresh = received?.isFresh(for: request) == true
    attempt.isBroken = !path.target.health.isClosed
    attempt.remaining = remaining(of: request, path.loop.clock)
    var chance = SystemChance()
    switch rules.verdict(on: trouble, attempt, using: &chance) {
    case .again(let delay):
      attempt.number += 1
      if path.target.health.takeRepetition(now: path.loop.clock.now) { return delay }
      request.meters.retryRefusals.add(.budget)
    case .refused(let reason): request.meters.retryRefusals.add(reason)
    }
    return nil
  }

  /// Waits for the next attempt's time, and makes ready for it.
  private func wait(
    _ delay: Duration, _ request: Request, _ path: UpstreamPath, _ kept: KeptContent?
  ) async throws(Failure) {
    if let client = request.onlyReader {
      guard await client.value.stays(for: delay) else {
        request.meters.retryRefusals.add(.left)
        throw .clientLeft
      }
    } else {
      await path.loop.sleep(for: delay)
    }
    if kept?.isWhole == true { kept?.rewind() }
    request.meters.originRetries.add(1)
  }

  /// Leaves an answer that nobody will see; its connection goes on where that costs nothing.
  private func discard(_ connection: OriginConnection, _ head: ResponseHead, _ request: Request) {
    do throws(Failure) {
      let framing = try Self.framing(head, request.method)
      let keepAlive = head.keepAlive && connection.sentWhole
      if let (_, reusable) = try connection.wholeBody(framing, keepAlive: keepAlive) {
        return connection.giveBack(reusable: reusable)
      }
    } catch {}
    connection.close()
  }
}

extension Received {
  /// What the answer means for the next attempt.
  fileprivate var trouble: OriginTrouble {
    let isLimiting = head.status == 429 || head.status == 503
    return .answer(
      status: head.status, after: head.fields.demandedDelay(wall: responseTime, isLimiting: isLimiting))
  }

  /// Whether the answer says itself how long it is good, so that a cache keeps it: then it is no accident.
  fileprivate func isFresh(for request: Request) -> Bool {
    guard let response = response(to: request, .empty), response.storability.keeps,
      let metadata = response.metadata
    else { return false }
    return metadata.lifetime > 0 && !metadata.flags.contains(.heuristic)
  }
}

extension Request {
  /// Whether a stored response answers at once after this trouble: then nobody waits for another attempt.
  fileprivate func hasStale(after trouble: OriginTrouble) -> Bool {
    guard let candidate else { return false }
    switch trouble {
    case .failure(let failure):
      return failure.originFailure.map { candidate.answer(after: $0, self) != nil } ?? false
    case .answer(let status, _):
      return candidate.answer(after: .status(UInt16(clamping: status)), self) != nil
    }
  }

  /// The client, where nobody but it waits for the answer. What a store may keep is worth finishing in any case, and only
  /// such requests are followed by others.
  fileprivate var onlyReader: LoopBound<ClientConnection>? {
    let isForStore = method == .get && isForCache
    return isForStore && !(directives.noStore && domain.policy.honoursRequestDirectives) ? nil : client
  }
}

extension RetryRules {
  /// The request's content as it is to be kept; nil where it cannot be sent twice anyway.
  func kept(of request: Request) -> KeptContent? {
    guard keptContent > 0, let content = request.body, request.method.isIdempotent else { return nil }
    if case .length(let length) = content.framing, length > keptContent { return nil }
    return KeptContent(content, limit: keptContent, meters: request.meters)
  }
}
