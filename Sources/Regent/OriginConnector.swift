// The way to a new connection: the name's addresses, the race among them, the TLS handshake.

import RegentConfig
import RegentHTTP
import RegentLoop

/// Opens connections to one origin, for one loop.
final class OriginConnector {
  let identity: OriginIdentity
  private let loop: EventLoop
  private let resolver: Resolver
  let timeouts: Configuration.Timeouts
  let limits: MessageLimits
  private var tls: TLSContext?
  /// For the proxy: the system's trust, and nothing of the origin's.
  private var proxyTLS: TLSContext?

  init(
    _ identity: OriginIdentity, on loop: EventLoop, resolver: Resolver, timeouts: Configuration.Timeouts,
    limits: MessageLimits
  ) {
    self.limits = limits
    self.identity = identity
    self.loop = loop
    self.resolver = resolver
    self.timeouts = timeouts
  }

  /// A new connection, over which the first request may be sent. Each step has its own time, but none beyond `deadline`.
  func connect(until deadline: Int64) async throws(StreamError) -> ByteStream {
    if let socket = identity.socket { return try await connect(to: socket, until: deadline) }
    let addresses = try await resolver.resolve(
      host: identity.proxy?.host ?? identity.host, port: identity.proxy?.port ?? identity.port, on: loop,
      patience: time(timeouts.connect, deadline))
    let stream = try await ByteStream.connect(
      toFirstOf: addresses, on: loop, timeout: time(timeouts.connect, deadline))
    if let proxy = identity.proxy { try await pass(proxy, stream, until: deadline) }
    if identity.isTLS { try await startTLS(stream, until: deadline) }
    return stream
  }

  private func time(_ duration: Duration, _ deadline: Int64) -> Duration {
    loop.clock.time(in: duration, until: deadline)
  }

  /// Comes to an understanding with the proxy: over TLS where it speaks that, and for a tunnel where the origin does.
  private func pass(
    _ proxy: ProxyRoute, _ stream: ByteStream, until deadline: Int64
  ) async throws(StreamError) {
    do throws(StreamError) {
      if proxy.isTLS {
        stream.setDeadline(in: time(timeouts.tlsHandshake, deadline))
        try await startTLS(stream, to: proxy)
      }
      if identity.isTLS {
        stream.setDeadline(in: time(timeouts.connect, deadline))
        try await openTunnel(stream, proxy)
      }
      stream.setDeadline(nil)
    } catch {
      stream.close()
      throw error
    }
  }

  private func connect(to socket: String, until deadline: Int64) async throws(StreamError) -> ByteStream {
    guard let address = SocketAddress(path: socket) else { throw .nameNotFound("no path of a socket") }
    let stream = try await ByteStream.connect(
      to: address, on: loop, timeout: time(timeouts.connect, deadline))
    if identity.isTLS { try await startTLS(stream, until: deadline) }
    return stream
  }

  private func startTLS(_ stream: ByteStream, until deadline: Int64) async throws(StreamError) {
    do throws(StreamError) {
      let context = try tlsContext()
      stream.setDeadline(in: time(timeouts.tlsHandshake, deadline))
      try await stream.startTLS(context, host: identity.verifiedName)
      stream.setDeadline(nil)
    } catch {
      stream.close()
      throw error == .timedOut ? .tls(.timedOut) : error
    }
  }

  private func startTLS(_ stream: ByteStream, to proxy: ProxyRoute) async throws(StreamError) {
    do throws(StreamError) {
      try await stream.startTLS(try proxyContext(), host: proxy.host)
    } catch {
      // A certificate of the proxy's says nothing of the origin.
      guard case .tls = error else { throw error }
      throw .proxyRefused("\(error)")
    }
  }

  private func tlsContext() throws(StreamError) -> TLSContext {
    if let tls { return tls }
    let made = try Self.context(identity.tls)
    tls = made
    return made
  }

  private func proxyContext() throws(StreamError) -> TLSContext {
    if let proxyTLS { return proxyTLS }
    let made = try Self.context(TLSSettings())
    proxyTLS = made
    return made
  }

  private static func context(_ settings: TLSSettings) throws(StreamError) -> TLSContext {
    do throws(TLSFailure) { return try TLSContext(settings) } catch { throw .tls(error) }
  }

  /// Keeps what the TLS session learnt for the next handshake.
  func remember(_ stream: ByteStream) {
    if let tls { stream.rememberSession(in: tls) }
  }
}
