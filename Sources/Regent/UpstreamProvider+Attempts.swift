// A request's attempts at its origin, each on a connection of its own: admitted by the breaker, asked, and, where it failed,
// repeated after a while as the domain's rules allow.

import RegentCaching
import RegentConfig
import RegentHTTP
import RegentLoop

/// One domain's origin as a request on one loop meets it.
struct UpstreamPath {
  let target: UpstreamProvider.Target
  let origin: Origin
  let loop: EventLoop
}

extension UpstreamProvider {
  /// How an attempt ended.
  fileprivate enum Asked {
    case answered(OriginConnection, ResponseHead, requestTime: Int64, responseTime: Int64)
    /// `hasLeft`: whether anything of the request may have reached the origin.
    case unanswered(Failure, hasLeft: Bool)
  }

  /// How far an attempt came.
  private struct Course {
    var hasLeft = false
    /// Whether the origin closed the idle connection just as it was reused: that is no failure of its own.
    var wasLate = false
  }

  /// The origin's response; nil where it confirms a stored one that it does not know.
  func fetch(
    _ request: Request, _ path: UpstreamPath, _ kept: KeptContent?
  ) async throws(Failure) -> Response? {
    var number = 0
    while true {
      let asked = try await attempt(request, path, kept, isRepetition: number > 0)
      guard let trouble = trouble(asked, path.loop.clock.wall),
        let delay = delay(after: trouble, asked, number, request, path, kept)
      else { return try conclude(asked, request) }
      discard(asked, request)
      await path.loop.sleep(for: delay)
      if request.isForNobody {
        request.meters.retryRefusals.add(.left)
        throw .clientLeft
      }
      if kept?.isWhole == true { kept?.rewind() }
      request.meters.originRetries.add(1)
      number += 1
    }
  }

  // MARK: One attempt

  private func attempt(
    _ request: Request, _ path: UpstreamPath, _ kept: KeptContent?, isRepetition: Bool
  ) async throws(Failure) -> Asked {
    let health = path.target.health
    let loop = path.loop
    let ticket = try health.admit(now: loop.clock.now)
    request.meters.originRequests.add(1)
    let started = loop.clock.wall
    var course = Course()
    do throws(Failure) {
      let (connection, head) = try await exchange(request, path, kept, &course)
      health.ended(ticket, .init(status: head.status), isRepetition: isRepetition, now: loop.clock.now)
      return .answered(connection, head, requestTime: started, responseTime: loop.clock.wall)
    } catch {
      let outcome = course.wasLate ? .unknown : OriginHealth.Outcome(error)
      health.ended(ticket, outcome, isRepetition: isRepetition, now: loop.clock.now)
      return .unanswered(named(error, request, loop.clock), hasLeft: course.hasLeft)
    }
  }

  private func exchange(
    _ request: Request, _ path: UpstreamPath, _ kept: KeptContent?, _ course: inout Course
  ) async throws(Failure) -> (OriginConnection, ResponseHead) {
    let connection = try await path.origin.connection()
    course.hasLeft = true
    do throws(Failure) {
      return (connection, try await ask(connection, request))
    } catch {
      let isReplayable = request.body == nil || kept?.isWhole == true
      let mayRepeat = connection.wasUsed && isReplayable && request.method.isIdempotent
      connection.close()
      // The origin closed the idle connection as it was reused: nobody saw the request (RFC 9112 section 9.3.1).
      guard error == .closedBeforeResponse, mayRepeat else {
        course.wasLate = connection.wasUsed && error == .closedBeforeResponse
        throw error
      }
    }
    request.meters.originReconnections.add(1)
    if request.body != nil { kept?.rewind() }
    let fresh = try await path.origin.connection(fresh: true)
    do throws(Failure) {
      return (fresh, try await ask(fresh, request))
    } catch {
      fresh.close()
      throw error
    }
  }

  // MARK: After an attempt

  private func trouble(_ asked: Asked, _ wall: Int64) -> OriginTrouble? {
    switch asked {
    case .unanswered(let failure, _): return .failure(failure)
    case .answered(_, let head, _, _):
      guard head.status >= 400 else { return nil }
      let isLimiting = head.status == 429 || head.status == 503
      return .answer(
        status: head.status, after: head.fields.demandedDelay(wall: wall, isLimiting: isLimiting))
    }
  }

  /// How long to wait before the next attempt; nil where this one was the last.
  private func delay(
    after trouble: OriginTrouble, _ asked: Asked, _ number: Int, _ request: Request, _ path: UpstreamPath,
    _ kept: KeptContent?
  ) -> Duration? {
    let rules = path.target.retrying
    // Asked first, because most troubles are none that is repeated, and the rest costs more to find out.
    guard rules.policy.shouldRetry(for: trouble, attempt: number) else {
      if number > 0 { request.meters.retryRefusals.add(.policy) }
      return nil
    }
    var chance = SystemRandomNumberGenerator()
    let ended = EndedAttempt(
      number: number, hasLeft: asked.hasLeft, method: request.method,
      isReplayable: request.body == nil || kept?.isWhole == true, isBehind: request.isBehind,
      hasStale: request.hasStale(after: trouble), isFresh: isFresh(asked, request),
      isBroken: !path.target.health.isClosed, remaining: remaining(of: request, path.loop.clock))
    switch rules.verdict(on: trouble, ended, using: &chance) {
    case .again(let delay):
      if path.target.health.takeRepetition(now: path.loop.clock.now) { return delay }
      request.meters.retryRefusals.add(.budget)
    case .refused(let reason): request.meters.retryRefusals.add(reason)
    }
    return nil
  }

  /// Whether the answer says itself how long it is good, so that a cache keeps it: then it is no accident.
  private func isFresh(_ asked: Asked, _ request: Request) -> Bool {
    guard case .answered(_, let head, let requestTime, let responseTime) = asked else { return false }
    let received = Received(head, requestTime: requestTime, responseTime: responseTime)
    guard let response = received.response(to: request, .empty), response.storability.keeps,
      let metadata = response.metadata
    else { return false }
    return metadata.lifetime > 0 && !metadata.flags.contains(.heuristic)
  }

  private func conclude(_ asked: Asked, _ request: Request) throws(Failure) -> Response? {
    switch asked {
    case .unanswered(let failure, _): throw failure
    case .answered(let connection, let head, let requestTime, let responseTime):
      return try respond(request, connection, head, requestTime: requestTime, responseTime: responseTime)
    }
  }

  /// Leaves an answer that nobody will see; its connection goes on where that costs nothing.
  private func discard(_ asked: Asked, _ request: Request) {
    guard case .answered(let connection, let head, _, _) = asked else { return }
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

extension UpstreamProvider.Asked {
  fileprivate var hasLeft: Bool {
    if case .unanswered(_, let hasLeft) = self { hasLeft } else { true }
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

  /// Whether the client has gone and no cache waits for the answer either.
  fileprivate var isForNobody: Bool {
    guard let client, !(method == .get && isForCache) else { return false }
    return client.value.hasLeft
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
