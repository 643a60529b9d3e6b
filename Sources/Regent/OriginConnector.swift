// The way to a new connection: the name's addresses, the race among them, the TLS handshake.

import RegentConfig
import RegentLoop

/// Opens connections to one origin, for one loop.
final class OriginConnector {
  private let identity: OriginIdentity
  private let loop: EventLoop
  private let resolver: Resolver
  private let timeouts: Configuration.Timeouts
  private var tls: TLSContext?

  init(
    _ identity: OriginIdentity, on loop: EventLoop, resolver: Resolver, timeouts: Configuration.Timeouts
  ) {
    self.identity = identity
    self.loop = loop
    self.resolver = resolver
    self.timeouts = timeouts
  }

  /// A new connection, over which the first request may be sent. Each step has its own time, but none beyond `deadline`.
  func connect(until deadline: Int64) async throws(StreamError) -> ByteStream {
    let addresses = try await resolver.resolve(
      host: identity.host, port: identity.port, on: loop,
      patience: loop.clock.time(in: timeouts.connect, until: deadline))
    let stream = try await ByteStream.connect(
      toFirstOf: addresses, on: loop, timeout: loop.clock.time(in: timeouts.connect, until: deadline))
    if identity.isTLS { try await startTLS(stream, until: deadline) }
    return stream
  }

  private func startTLS(_ stream: ByteStream, until deadline: Int64) async throws(StreamError) {
    do throws(StreamError) {
      let context = try tlsContext()
      stream.setDeadline(in: loop.clock.time(in: timeouts.tlsHandshake, until: deadline))
      try await stream.startTLS(context, host: identity.host)
      stream.setDeadline(nil)
    } catch {
      stream.close()
      throw error == .timedOut ? .tls(.timedOut) : error
    }
  }

  private func tlsContext() throws(StreamError) -> TLSContext {
    if let tls { return tls }
    do throws(TLSFailure) {
      let made = try TLSContext()
      tls = made
      return made
    } catch {
      throw .tls(error)
    }
  }

  /// Keeps what the TLS session learnt for the next handshake.
  func remember(_ stream: ByteStream) {
    if let tls { stream.rememberSession(in: tls) }
  }
}
