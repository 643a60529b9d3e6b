// A real WebSocket server and client: Debian's python3-websockets in two short programs. The server sends back what
// comes; the client goes through everything that it is asked to and says where it got to.

import Foundation
import TestKit

/// A WebSocket server on a port that the system handed out.
final class WebSocketServer: Sendable {
  let port: UInt16
  private let isTLS: Bool
  private let process: ChildProcess
  private let folder: TemporaryFolder

  var url: String { "\(isTLS ? "https://localhost" : "http://127.0.0.1"):\(port)" }

  init(certificate: Certificate? = nil) throws {
    folder = try TemporaryFolder()
    port = try Daemon.freePort()
    isTLS = certificate != nil
    let files = certificate.map { [$0.chain, $0.key] } ?? []
    process = try ChildProcess(
      python, [try folder.write(Self.program, to: "server.py"), "\(port)"] + files,
      errors: folder.path("errors"))
    guard eventually({ (try? Socket(port: port)) != nil || process.poll() != nil }), process.poll() == nil
    else {
      throw SpawnError(description: "websockets: \(contents(of: folder.path("errors")))")
    }
  }

  private static let program = """
    import asyncio, ssl, sys, websockets

    async def serve(socket):
        async for message in socket:
            if message == "ping me":
                await asyncio.wait_for(await socket.ping(b"from the server"), 10)
            if message == "close me":
                await socket.close(4001, "as you wish")
                return
            await socket.send(message)

    async def main():
        context = None
        if len(sys.argv) > 2:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[2], sys.argv[3])
        async with websockets.serve(serve, "127.0.0.1", int(sys.argv[1]), max_size=None, ssl=context):
            await asyncio.Future()

    asyncio.run(main())

    """
}

/// Runs the client through the daemon; what it said, a line for each thing done.
func runWebSocketClient(_ daemon: Daemon) throws -> String {
  let folder = try TemporaryFolder()
  let file = try folder.write(clientProgram, to: "client.py")
  let result = try run(python, [file, "\(daemon.port)"])
  return result.output + result.errors
}

/// Debian's own: others may lack the package.
private let python = "/usr/bin/python3"

private let clientProgram = """
  import asyncio, random, sys, websockets

  async def main():
      uri = f"ws://localhost:{sys.argv[1]}/chat?room=1"
      async with websockets.connect(uri, max_size=None) as socket:
          await socket.send("text, and \\u00e4\\u6f22")
          assert await socket.recv() == "text, and \\u00e4\\u6f22"
          print("text")
          generator = random.Random(7)
          for size in (0, 1, 125, 126, 65535, 65536, 1 << 20):
              frame = generator.randbytes(size)
              await socket.send(frame)
              assert await socket.recv() == frame
          print("binary")
          frames = [generator.randbytes(1 << 20) for _ in range(16)]
          async def send():
              for frame in frames: await socket.send(frame)
          sending = asyncio.create_task(send())
          for frame in frames: assert await socket.recv() == frame
          await sending
          print("frames of 1 MiB both ways at once")
          await asyncio.wait_for(await socket.ping(b"from the client"), 10)
          await socket.send("ping me")
          assert await socket.recv() == "ping me"
          print("ping")
          await socket.close(1000, "done")
          assert socket.close_code == 1000
          print("close")
      socket = await websockets.connect(uri)
      await socket.send("close me")
      await socket.wait_closed()
      assert socket.close_code == 4001 and socket.close_reason == "as you wish"
      print("closed by the server")

  asyncio.run(main())

  """
