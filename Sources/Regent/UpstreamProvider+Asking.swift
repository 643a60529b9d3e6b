// One request on one connection: its head and content out, the final response's head in.

import RegentConfig
import RegentHTTP
import RegentLoop

extension UpstreamProvider {
  func ask(
    _ connection: OriginConnection, _ request: Request, _ identity: OriginIdentity
  ) async throws(Failure) -> ResponseHead {
    let loop = connection.stream.loop
    var writer = MessageWriter(reusing: loop.takeBuffer())
    defer { loop.giveBack(writer.takeBytes()) }
    writer.head(asking: identity, request, via: via)
    do throws(StreamError) {
      try await connection.stream.write(writer.bytes, stall: timeouts.writeStall)
    } catch {
      // It may have answered and closed before it read everything: its answer decides.
      guard case .system = error else { throw Failure(awaiting: error) }
      connection.sentWhole = false
    }
    guard let body = request.body else {
      connection.stream.setDeadline(headDeadline(of: request, loop.clock))
      return try await connection.head(for: request)
    }
    return try await upload(body, request, connection)
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
    let sending = Task(executorPreference: loop) { () -> Failure? in
      let connection = bound.value
      var upload = Upload(body, connection.stream, stall: stall)
      let failure = await upload.run()
      connection.sentWhole = upload.isWhole
      if failure != nil { connection.stream.interruptReading() }
      connection.stream.setDeadline(in: patience)
      return failure
    }
    do throws(Failure) {
      let head = try await connection.head(for: request)
      body.abandon()
      // Also the last bytes, which are read from the client already: an origin that has answered may never take them.
      connection.stream.interruptWriting()
      _ = await sending.value
      connection.stream.setDeadline(nil)
      return head
    } catch {
      body.abandon()
      connection.stream.interruptWriting()
      if let failure = await sending.value, error == .closedBeforeResponse { throw failure }
      throw error
    }
  }
}
