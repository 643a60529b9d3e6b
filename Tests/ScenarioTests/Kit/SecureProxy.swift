// An outgoing proxy that speaks TLS itself: a short Python program. It opens tunnels to one port, whatever it is asked
// for, and answers whole targets with the head that came.

import Foundation
import TestKit

/// A running proxy on a port that the system handed out.
final class SecureProxy: Sendable {
  let port: UInt16
  private let process: ChildProcess
  private let folder: TemporaryFolder

  /// The heads that it was sent, one behind the other.
  var asked: String { contents(of: folder.path("asked")) }

  init(to target: UInt16, certificate: Certificate) throws {
    folder = try TemporaryFolder()
    port = try Daemon.freePort()
    process = try ChildProcess(
      "/usr/bin/python3",
      [
        try folder.write(Self.program, to: "proxy.py"), "\(port)", "\(target)", certificate.chain,
        certificate.key, folder.path("asked"),
      ], errors: folder.path("errors"))
    guard eventually({ (try? Socket(port: port)) != nil || process.poll() != nil }), process.poll() == nil
    else {
      throw SpawnError(description: "proxy: \(contents(of: folder.path("errors")))")
    }
  }

  private static let program = """
    import asyncio, ssl, sys

    async def move(reader, writer):
        try:
            while data := await reader.read(100000):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    async def serve(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\\r\\n\\r\\n")
                with open(sys.argv[5], "ab") as asked:
                    asked.write(head)
                if head.startswith(b"CONNECT"):
                    break
                writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(head) + head)
        except (OSError, asyncio.IncompleteReadError):
            return writer.close()
        origin, tunnel = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
        writer.write(b"HTTP/1.1 200 Yes\\r\\n\\r\\n")
        await asyncio.gather(move(reader, tunnel), move(origin, writer))

    async def main():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), ssl=context)
        await asyncio.Future()

    asyncio.run(main())

    """
}
