// A real web server as origin: nginx from the system's packages, one process, run by the current user in a
// folder of its own, on a port that the system handed out.

import Foundation
import Glibc
import TestKit

/// A running nginx that serves `root` and logs each request as `METHOD URI STATUS`.
final class Nginx: Sendable {
  let folder: TemporaryFolder
  let port: UInt16
  private let process: Shared<ChildProcess>
  private let isTLS: Bool

  var url: String { "\(isTLS ? "https://localhost" : "http://127.0.0.1"):\(port)" }

  /// Starts it. `settings` are lines for its `server` block; with a certificate it speaks HTTPS.
  init(settings: String = "", certificate: Certificate? = nil) throws {
    folder = try TemporaryFolder()
    isTLS = certificate != nil
    try FileManager.default.createDirectory(atPath: folder.path("root"), withIntermediateDirectories: true)
    let port = try Daemon.freePort()
    self.port = port
    let text = Nginx.configuration(folder, port, settings, certificate)
    let file = try folder.write(text, to: "nginx.conf")
    process = Shared(try Nginx.launch(folder, file))
    guard accepts() else { throw SpawnError(description: "nginx: \(contents(of: folder.path("error.log")))") }
  }

  /// Writes an object for it to serve.
  func put(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: folder.path("root/" + name)))
  }

  /// Ends it with SIGKILL, as a crash would.
  func crash() { process.value.kill() }

  /// Starts it anew on the same port after a crash.
  func restart() throws {
    let child = try Nginx.launch(folder, folder.path("nginx.conf"))
    process.update { $0 = child }
    guard accepts() else { throw SpawnError(description: "nginx did not come back") }
  }

  /// The requests it has logged. Asks it for `/sentinel` first, so that all before that are in.
  func accesses() throws -> [String] {
    let mark = "/sentinel-\(UUID().uuidString)"
    _ = try Client(port: port).get(mark)
    var lines: [String] = []
    let isThere = eventually {
      lines = contents(of: folder.path("access.log")).split(separator: "\n").map(String.init)
      return lines.contains { $0.contains(mark) }
    }
    guard isThere else { throw SocketError.timeout }
    return lines.filter { !$0.contains("/sentinel-") }
  }

  private func accepts() -> Bool {
    eventually { (try? Socket(port: port)) != nil && process.value.poll() == nil }
  }

  private static func launch(_ folder: TemporaryFolder, _ file: String) throws -> ChildProcess {
    try ChildProcess(
      "nginx", ["-p", folder.path, "-e", folder.path("error.log"), "-c", file],
      errors: folder.path("error.log"))
  }

  private static func configuration(
    _ folder: TemporaryFolder, _ port: UInt16, _ settings: String, _ certificate: Certificate?
  ) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder.path("temp"));" }.joined(separator: " ")
    let tls = certificate.map { "ssl_certificate \($0.chain); ssl_certificate_key \($0.key);" } ?? ""
    return """
      daemon off; master_process off; pid \(folder.path("pid")); error_log \(folder.path("error.log"));
      events { worker_connections 2048; }
      http {
        \(temporary)
        types { } default_type application/octet-stream;
        log_format short "$request_method $request_uri $status";
        access_log \(folder.path("access.log")) short;
        keepalive_requests 1000000; sendfile on;
        server {
          listen 127.0.0.1:\(port)\(certificate == nil ? "" : " ssl"); root \(folder.path("root"));
          \(tls)
          \(settings)
        }
      }
      """
  }
}
