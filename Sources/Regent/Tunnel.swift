// A connection that has become a tunnel: bytes from the client to the origin and back, as they come. What arrives is
// sent on from the loop's scratch buffer; only what the other side does not take at once is copied, and then no more is
// received before it has left. So an idle tunnel holds no buffer, and a stuck one holds two small ones.

import RegentConfig
import RegentLoop

// Confined to its loop: both tasks that use it run there.
final class Tunnel {
  private let origin: ByteStream
  /// What the origin sent behind its 101.
  private let early: [UInt8]
  private let idle: Duration
  private let meters: LoopMeters
  private let domain: DomainMeters
  private var state = TunnelState()
  private var isOpen = true

  /// How much one direction moves before the loop's other events have their turn.
  private static let turn = 1 << 20

  init(_ origin: ByteStream, early: [UInt8], idle: Duration, _ request: Request) {
    self.origin = origin
    self.early = early
    self.idle = idle
    meters = request.meters
    domain = request.meters.domains[request.domain.number]
    meters.tunnels.add(1)
    meters.tunnelsOpened.add(1)
  }

  /// Carries bytes until both sides have ended; true where that was orderly. `sent` is what the client sent meanwhile.
  func carry(_ client: ByteStream, sent: [UInt8]) async -> Bool {
    let loop = client.loop
    let bound = LoopBound((self, client), loop)
    noteMovement(client)
    let outward = Task(executorPreference: loop) {
      let (tunnel, client) = bound.value
      await tunnel.pass(.client, sent, from: client, to: tunnel.origin, client)
    }
    await pass(.origin, early, from: origin, to: client, client)
    await outward.value
    let isOrderly = state.hasClientEnded && state.hasOriginEnded
    if !isOrderly { origin.resetOnClose() }
    close()
    return isOrderly
  }

  /// Ends it, also where it never began.
  func close() {
    guard isOpen else { return }
    isOpen = false
    origin.close()
    meters.tunnels.add(-1)
  }

  // MARK: One direction

  private func pass(
    _ side: TunnelState.Side, _ first: [UInt8], from source: ByteStream, to target: ByteStream,
    _ client: ByteStream
  ) async {
    do throws(StreamError) {
      try await deliver(first, side, to: target, client)
      var moved = 0
      while !state.isOver {
        switch source.receive() {
        case .bytes(let count):
          moved += count
          try await sendOn(count, side, to: target, client)
        case .wouldBlock:
          moved = 0
          try await source.readable()
        case .end: return act(state.ended(side), client)
        case .failed(let error): throw error
        }
        guard moved >= Self.turn else { continue }
        moved = 0
        await source.loop.yieldTurn()
      }
    } catch {
      act(error == .timedOut ? state.fellSilent() : state.failed(), client)
    }
  }

  /// Sends on what was just received, and copies only what does not leave at once.
  private func sendOn(
    _ count: Int, _ side: TunnelState.Side, to target: ByteStream, _ client: ByteStream
  ) async throws(StreamError) {
    var done = 0
    switch target.sendReceived() {
    case .bytes(let sent): done = sent
    case .wouldBlock: break
    case .end: throw .closed
    case .failed(let error): throw error
    }
    noteMovement(client)
    self.count(done, side)
    guard done < count else { return }
    var rest = target.loop.takeBuffer()
    defer { target.loop.giveBack(rest) }
    target.loop.scratch.copy(done..<count, onto: &rest)
    try await deliver(rest, side, to: target, client)
  }

  private func deliver(
    _ bytes: [UInt8], _ side: TunnelState.Side, to target: ByteStream, _ client: ByteStream
  ) async throws(StreamError) {
    var done = 0
    while done < bytes.count, !state.isOver {
      switch target.send(bytes, then: [], skipping: done) {
      case .bytes(let sent):
        done += sent
        count(sent, side)
        noteMovement(client)
      case .wouldBlock: try await target.writable()
      case .end: throw .closed
      case .failed(let error): throw error
      }
    }
  }

  /// The tunnel is as idle as its busier side: whoever moves a byte puts both sides' deadlines off.
  private func noteMovement(_ client: ByteStream) {
    client.setDeadline(in: idle)
    origin.setDeadline(in: idle)
  }

  private func count(_ bytes: Int, _ side: TunnelState.Side) {
    switch side {
    case .client:
      meters.tunnelBytesIn.add(bytes)
      domain.bytesIn.add(bytes)
    case .origin:
      meters.tunnelBytesOut.add(bytes)
      domain.bytesOut.add(bytes)
    }
  }

  private func act(_ actions: [TunnelState.Action], _ client: ByteStream) {
    for action in actions {
      switch action {
      case .endSending(to: .client): client.shutdownWriting()
      case .endSending(to: .origin): origin.shutdownWriting()
      case .close: break
      case .abort:
        // The other direction waits, and would wait on.
        for stream in [client, origin] {
          stream.interruptReading()
          stream.interruptWriting()
        }
      }
    }
  }
}
