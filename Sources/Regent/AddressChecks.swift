// Checks of an origin's addresses: each is asked for a path from time to time, and one that answers badly gets no
// request until it answers well. The loop whose request is the first asks for all.

import RegentConfig
import RegentHTTP
import RegentLoop

/// The checks of one origin's addresses on one loop.
final class AddressChecks {
  private let path: [UInt8]
  private let interval: Duration
  private let via: [UInt8]
  private let loop: EventLoop
  private let timeouts: Configuration.Timeouts
  private var task: Task<Void, Never>?
  private var isStarted = false

  /// Nil where the domain wants none, or has one address only, which is asked in any case.
  init?(_ domain: RegentConfig.Domain, on loop: EventLoop, _ configuration: Configuration) {
    guard let path = domain.balance.healthPath, domain.upstreams.count > 1 else { return nil }
    self.path = Array((domain.upstreams[0].url.basePath + path).utf8)
    interval = domain.balance.healthInterval
    via = Array("1.1 \(configuration.server.name)".utf8)
    timeouts = configuration.timeouts
    self.loop = loop
  }

  /// Begins with the first request, on the loop that it came to.
  func start(_ servers: [OriginServer], _ balance: OriginBalance) {
    guard !isStarted else { return }
    isStarted = true
    guard balance.takeChecks() else { return }
    let bound = LoopBound((self, servers, balance), loop)
    let (loop, interval) = (loop, interval)
    task = Task(executorPreference: loop) {
      while !Task.isCancelled {
        let (checks, servers, balance) = bound.value
        for (index, server) in servers.enumerated() {
          let isWell = await checks.check(server, index, balance)
          if let isWell { balance.checked(index, isWell: isWell) }
        }
        await loop.sleep(for: interval)
      }
    }
  }

  func stop() { task?.cancel() }

  /// Whether an address answers well; nil where it was not asked, as this loop has all its connections to it in use.
  private func check(_ server: OriginServer, _ index: Int, _ balance: OriginBalance) async -> Bool? {
    balance.checkBegan(index)
    let connection: OriginConnection
    do throws(Failure) { connection = try await server.connection(fresh: true, until: .max) } catch {
      balance.requestEnded(index)
      switch error {
      case .overloaded, .connectionsExhausted: return nil
      default: return false
      }
    }
    defer { connection.close() }
    do throws(Failure) {
      let status = try await connection.status(asking: request(server.identity), timeouts)
      return 200..<400 ~= status
    } catch {
      return false
    }
  }

  private func request(_ identity: OriginIdentity) -> [UInt8] {
    var writer = MessageWriter()
    writer.requestLine(.get, target: (identity.absolutePrefix + path)[...])
    writer.line(identity.hostLine)
    identity.additions.writeFields(missingFrom: Fields(), to: &writer)
    if let authorization = identity.proxyAuthorization { writer.field(.proxyAuthorization, authorization) }
    writer.field(.connection, "close")
    writer.field(.via, bytes: via)
    writer.endHead()
    return writer.bytes
  }
}

extension OriginConnection {
  /// The status of the answer to a request of Regent's own; interim ones are passed over.
  fileprivate func status(
    asking bytes: [UInt8], _ timeouts: Configuration.Timeouts
  ) async throws(Failure) -> Int {
    do { try await stream.write(bytes, stall: timeouts.writeStall) } catch { throw Failure(awaiting: error) }
    stream.setDeadline(in: timeouts.firstByte)
    for _ in 0...Self.interimBound {
      let head = try await nextHead()
      if head.status >= 200 { return head.status }
    }
    throw .malformedResponse("Too many interim responses came.", fault: .manyInterim)
  }
}
