// One request on one connection: its head and content out, the final response's head in.

import RegentConfig
import RegentHTTP
import RegentLoop

extension UpstreamProvider {
  @inline(__always)
  func ask(
    _ connection: OriginConnection, _ request: Request
  ) async throws(Failure) -> ResponseHead {
    do throws(Failure) {
      return try await exchange(connection, request)
    } catch {
      let isReused = connection.wasUsed && error == .closedBeforeResponse
      request.meters.note(isReused ? .closedAsReused : error.fault)
      throw error
    }
  }

  // Inlined, as `fetch`.
  @inline(__always)
  private func exchange(
    _ connection: OriginConnection, _ request: Request
  ) async throws(Failure) -> ResponseHead {
    // Nothing that comes before the request can be its answer. Behind a handshake, TLS has words of its own.
    guard connection.wasUsed || connection.identity.isEncrypted || !connection.stream.hasArrived else {
      throw .malformedResponse("It spoke before it was asked.", fault: .unaskedBytes)
    }
    if let rest = sendHead(of: request, connection) { try await send(rest, connection) }
    guard let body = request.body else {
      connection.stream.setDeadline(headDeadline(of: request, connection.stream.loop.clock))
      return try await connection.head(for: request)
    }
    return try await upload(body, request, connection)
  }

  /// Sends the head; what the kernel did not take of it at once, as it nearly always does. Whoever waits for an origin
  /// holds no buffer.
  private func sendHead(of request: Request, _ connection: OriginConnection) -> [UInt8]? {
    let loop = connection.stream.loop
    var writer = MessageWriter(reusing: loop.takeBuffer())
    defer { loop.giveBack(writer.takeBytes()) }
    writer.head(asking: connection.identity, request, via: via)
    var sent = 0
    if case .bytes(let count) = connection.stream.send(writer.bytes, then: [], skipping: 0) { sent = count }
    return sent < writer.bytes.count ? Array(writer.bytes[sent...]) : nil
  }

  private func send(_ rest: [UInt8], _ connection: OriginConnection) async throws(Failure) {
    do throws(StreamError) {
      try await connection.stream.write(rest, stall: timeouts.writeStall)
    } catch {
      // It may have answered and closed before it read everything: its answer decides.
      guard case .system = error else { throw Failure(awaiting: error) }
      connection.sentWhole = false
    }
  }

  private func expectation(of request: Request, on loop: EventLoop) -> Expectation? {
    guard request.head.expectsContinue, let target = targets[request.domain.number] else { return nil }
    return Expectation(on: loop, patience: target.expectWait)
  }

  /// Sends the content while the answer is awaited already: an early one ends the sending.
  private func upload(
    _ body: any RequestBody, _ request: Request, _ connection: OriginConnection
  ) async throws(Failure) -> ResponseHead {
    let loop = connection.stream.loop
    let bound = LoopBound(connection, loop)
    let stall = timeouts.writeStall
    let patience = timeouts.firstByte
    connection.sentWhole = false
    let transfer = Transfer(.upload, request, total: body.framing.announced, on: loop)
    let expectation = expectation(of: request, on: loop)
    connection.expectation = expectation
    let expected = expectation.map { LoopBound($0, loop) }
    let sending = Task(executorPreference: loop) { () -> Failure? in
      if await expected?.value.isMet() == false { return nil }
      let connection = bound.value
      var upload = Upload(body, connection.stream, stall: stall, transfer)
      let failure = await upload.run()
      connection.sentWhole = upload.isWhole
      if failure != nil { connection.stream.interruptReading() }
      connection.stream.setDeadline(in: patience)
      return failure
    }
    do throws(Failure) {
      let head = try await connection.head(for: request)
      expectation?.refused()
      body.abandon()
      // Also the last bytes, which are read from the client already: an origin that has answered may never take them.
      connection.stream.interruptWriting()
      _ = await sending.value
      connection.stream.setDeadline(nil)
      return head
    } catch {
      expectation?.refused()
      body.abandon()
      connection.stream.interruptWriting()
      // Where the client broke off, the answer was given up because of that.
      if let failure = await sending.value, error == .closedBeforeResponse || error.fault == .cutHead {
        throw failure
      }
      throw error
    }
  }
}

extension BodyFraming {
  /// The length that was announced.
  fileprivate var announced: Int? { if case .length(let length) = self { length } else { nil } }
}
