// Which certificates an origin may show (TRUST E2): the name is a SAN's and all of it, the chain is whole, the purpose is
// a server's. Each certificate is made by OpenSSL's own command and shown by a real server.

import TestKit
import Testing

@Suite("The names of origins' certificates")
struct TLSNameTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var name = "a.good.test"
    var subject = "a.good.test"
    /// The extensions in OpenSSL's words.
    let extensions: String

    init(_ what: String, _ extensions: String, name: String = "a.good.test", subject: String = "a.good.test")
    {
      (testDescription, self.extensions, self.name, self.subject) = (what, extensions, name, subject)
    }
  }

  /// A SAN with one DNS name of any bytes, which OpenSSL's words cannot say.
  private static func san(_ name: String) -> String {
    let bytes = Array(name.utf8)
    let all = [0x30, UInt8(bytes.count + 2), 0x82, UInt8(bytes.count)] + bytes
    let digits = all.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
    return "subjectAltName=DER:\(digits)"
  }

  private static let none = "basicConstraints=CA:FALSE"

  static let refused = [
    Row("no SAN, only the subject has the name", none),
    Row("another SAN, while the subject has the name", "subjectAltName=DNS:b.good.test"),
    Row("a SAN of another kind, while the subject has the name", "subjectAltName=email:x@a.good.test"),
    Row("the name as a URI", "subjectAltName=URI:https://a.good.test"),
    Row("NUL behind the name", san("a.good.test\0.evil.test")),
    Row("NUL before the name", san("evil.test\0a.good.test")),
    Row("NUL at the end", san("a.good.test\0")),
    Row("an empty name", san("")),
    Row("white space behind the name", san("a.good.test ")),
    Row("a dot behind the name", san("a.good.test.")),
    Row("a dot in front", san(".good.test")),
    Row("a wildcard for two labels", "subjectAltName=DNS:*.test"),
    Row("two wildcards", "subjectAltName=DNS:*.*.test"),
    Row("a wildcard alone", "subjectAltName=DNS:*"),
    Row("a wildcard in the middle", "subjectAltName=DNS:a.*.test"),
    Row("a wildcard for the name's children", "subjectAltName=DNS:*.a.good.test"),
    Row("a wildcard for a part of the label", "subjectAltName=DNS:a*.good.test"),
    Row("a wildcard for the label's beginning", "subjectAltName=DNS:*a.good.test"),
    Row("an address where a name is wanted", "subjectAltName=IP:127.0.0.1"),
    Row("another address", "subjectAltName=IP:127.0.0.2", name: "127.0.0.1"),
    Row("an address in the subject alone", none, name: "127.0.0.1", subject: "127.0.0.1"),
    Row("an address as a DNS name", "subjectAltName=DNS:127.0.0.1", name: "127.0.0.1"),
    Row("an IPv4 address for IPv6", "subjectAltName=IP:127.0.0.1", name: "::1"),
    Row("a client's purpose", "subjectAltName=DNS:a.good.test\nextendedKeyUsage=clientAuth"),
    Row("a mailer's purpose", "subjectAltName=DNS:a.good.test\nextendedKeyUsage=emailProtection"),
    Row("a key that may only sign revocations", "subjectAltName=DNS:a.good.test\nkeyUsage=critical,cRLSign"),
    Row(
      "a critical extension that nobody knows", "subjectAltName=DNS:a.good.test\n1.2.3.4=critical,DER:05:00"),
  ]

  static let accepted = [
    Row("the name", "subjectAltName=DNS:a.good.test", subject: "other"),
    Row("the name in capitals", "subjectAltName=DNS:A.GOOD.TEST"),
    Row("one of many", "subjectAltName=DNS:b.test,IP:10.0.0.1,DNS:a.good.test"),
    Row("a wildcard for one label", "subjectAltName=DNS:*.good.test"),
    Row("an IPv4 address", "subjectAltName=IP:127.0.0.1", name: "127.0.0.1"),
    Row("an IPv6 address", "subjectAltName=IP:::1", name: "::1"),
    Row("a server's purpose", "subjectAltName=DNS:a.good.test\nextendedKeyUsage=serverAuth"),
  ]

  private func answer(_ certificate: Certificate, _ authority: Authority, name: String) throws -> (
    Response, Nginx, Daemon
  ) {
    let nginx = try Nginx(certificate: certificate)
    try nginx.put("a", Array("data".utf8))
    let daemon = try Daemon.start(
      upstream: nginx.url, set: ["domain.default.tls-name=\(name)"], environment: authority.trust)
    return (try daemon.get("/a"), nginx, daemon)
  }

  private func expectRefusal(_ certificate: Certificate, _ authority: Authority, name: String = "a.good.test")
    throws
  {
    let (response, nginx, daemon) = try answer(certificate, authority, name: name)
    #expect(response.status == 502 && !response.text.contains("data"), "\(response.head.raw)\(daemon.log)")
    #expect(response["Proxy-Status"]?.contains("error=tls_") == true, "\(response.head.raw)")
    #expect(contents(of: nginx.folder.path("access.log")).isEmpty)
  }

  @Test("a certificate with anything but the very name is refused", arguments: refused)
  func refuse(row: Row) throws {
    let authority = try Authority()
    let leaf = try authority.leaf(subject: row.subject, extensions: row.extensions)
    try expectRefusal(leaf, authority, name: row.name)
  }

  @Test("a certificate with the name is accepted", arguments: accepted)
  func accept(row: Row) throws {
    let authority = try Authority()
    let leaf = try authority.leaf(subject: row.subject, extensions: row.extensions)
    let (response, _, daemon) = try answer(leaf, authority, name: row.name)
    #expect(response.status == 200 && response.text == "data", "\(response.text)\(daemon.log)")
  }

  @Test(
    "a certificate that no authority signed is refused, even where a good one signed that which signed it")
  func issuers() throws {
    let authority = try Authority()
    let good = try authority.leaf(for: "a.good.test")
    try expectRefusal(
      try authority.leaf(subject: "x", extensions: "subjectAltName=DNS:a.good.test", issuer: good), authority)
    try expectRefusal(try authority.selfSigned(for: "a.good.test"), authority)
    try expectRefusal(try Authority().leaf(for: "a.good.test"), authority)
    try expectRefusal(try authority.leaf(for: "a.good.test", days: -1), authority)
  }
}
