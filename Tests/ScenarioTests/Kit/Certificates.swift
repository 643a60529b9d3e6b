// A private certificate authority for the tests, made with the `openssl` command. The daemon trusts it through
// OpenSSL's own variable SSL_CERT_FILE, so that no test needs a setting that weakens verification.

import Foundation
import TestKit

/// A certificate file and its key file.
struct Certificate: Sendable {
  let chain: String
  let key: String
  /// Keeps the files while the certificate is in use.
  let folder: TemporaryFolder
}

/// The authority and the leaves that it signs.
final class Authority: Sendable {
  private let folder: TemporaryFolder

  /// What makes the daemon trust this authority and no other.
  var trust: [String: String] {
    ["SSL_CERT_FILE": folder.path("ca.pem"), "SSL_CERT_DIR": folder.path("nowhere")]
  }

  init() throws {
    folder = try TemporaryFolder()
    try openssl(
      ["req", "-x509", "-days", "2", "-subj", "/CN=Regent test authority"] + newKey("ca")
        + ["-out", folder.path("ca.pem")])
  }

  /// The authority's own certificate.
  var file: String { folder.path("ca.pem") }

  /// A leaf for a DNS name; a negative number of days makes one that has expired.
  func leaf(for name: String, days: Int = 2) throws -> Certificate {
    try leaf(subject: name, extensions: "subjectAltName=DNS:\(name)", days: days)
  }

  /// A leaf with any extensions, in OpenSSL's words. `issuer` signs it in the authority's place.
  func leaf(
    subject: String, extensions: String, days: Int = 2, issuer: Certificate? = nil
  ) throws -> Certificate {
    let id = UUID().uuidString
    try openssl(
      ["req", "-new", "-subj", "/CN=\(subject)"] + newKey(id) + ["-out", folder.path("\(id).csr")])
    let file = try folder.write(extensions + "\n", to: "\(id).ext")
    try openssl([
      "x509", "-req", "-in", folder.path("\(id).csr"), "-CA", issuer?.chain ?? folder.path("ca.pem"),
      "-CAkey", issuer?.key ?? folder.path("ca.key"), "-CAcreateserial", "-days", "\(days)", "-extfile", file,
      "-out", folder.path("\(id).pem"),
    ])
    if let issuer {
      let chain = contents(of: folder.path("\(id).pem")) + contents(of: issuer.chain)
      _ = try folder.write(chain, to: "\(id).pem")
    }
    return Certificate(chain: folder.path("\(id).pem"), key: folder.path("\(id).key"), folder: folder)
  }

  /// A leaf that signed itself.
  func selfSigned(for name: String) throws -> Certificate {
    let id = UUID().uuidString
    try openssl(
      ["req", "-x509", "-days", "2", "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)"]
        + newKey(id) + ["-out", folder.path("\(id).pem")])
    return Certificate(chain: folder.path("\(id).pem"), key: folder.path("\(id).key"), folder: folder)
  }

  private func newKey(_ id: String) -> [String] {
    ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder.path("\(id).key")]
  }

  private func openssl(_ arguments: [String]) throws {
    let result = try run("openssl", arguments)
    guard result.exit == .status(0) else {
      throw SpawnError(description: "openssl \(arguments[0]): \(result.errors)")
    }
  }
}
