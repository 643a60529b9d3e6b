// What Regent listens on, what it fetches from, and the hosts and paths of domains, as text.

import Testing

@testable import RegentConfig

@Suite("Addresses, URLs and patterns")
struct AddressTests {
  @Test("an address is an IP address, localhost, *, or a Unix socket")
  func addresses() throws {
    let loopbacks = [ListenAddress.tcp(address: "127.0.0.1", port: 80), .tcp(address: "::1", port: 80)]
    let accepted: [(String, [ListenAddress])] = [
      ("127.0.0.1:8080", [.tcp(address: "127.0.0.1", port: 8080)]),
      ("[::1]:8080", [.tcp(address: "::1", port: 8080)]),
      ("[2001:DB8::1]:1", [.tcp(address: "2001:db8::1", port: 1)]),
      ("[::ffff:10.0.0.1]:1", [.tcp(address: "::ffff:10.0.0.1", port: 1)]),
      ("[1:2:3:4:5:6:7:8]:0", [.tcp(address: "1:2:3:4:5:6:7:8", port: 0)]), ("*:80", [.anyAddress(port: 80)]),
      ("localhost:80", loopbacks), ("LOCALHOST:80", loopbacks),
      ("unix:/run/r.sock", [.unix(path: "/run/r.sock")]),
    ]
    for (text, expected) in accepted { #expect(try ListenAddress.parse(text) == expected, "\(text)") }
  }

  @Test(
    "an address that is not exactly one is refused",
    arguments: [
      "", ":", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:080",
      "127.0.0.1:+80",
      "127.0.0.1:00000000000000000000080", "127.1:80", "0x7f000001:80", "2130706433:80", "127.0.0.01:80",
      "256.0.0.1:80", "::1:80", "[::1]", "[::1:80", "[:::1]:80", "[1::2::3]:80", "[1:2:3:4:5:6:7]:80",
      "[1:2:3:4:5:6:7:8:9]:80", "[fe80::1%eth0]:80", "[10.0.0.1::]:80", "[12345::]:80", "[]:80", "[|]:80",
      "example.org:80", "unix:", "unix:relative", "unix:/\u{0}",
      "unix:/" + String(repeating: "a", count: 107),
    ])
  func badAddresses(text: String) { #expect(throws: Refusal.self) { try ListenAddress.parse(text) } }

  @Test(
    "an upstream has a scheme, a host, a port and a base path",
    arguments: [
      ("http://example.org", "http://example.org"), ("https://example.org/", "https://example.org"),
      ("HTTPS://Example.ORG:443", "https://example.org"),
      ("https://example.org:8443/v1/", "https://example.org:8443/v1"),
      ("http://127.0.0.1:9000", "http://127.0.0.1:9000"), ("http://[::1]:9000/a/b", "http://[::1]:9000/a/b"),
      ("http://example.org:80", "http://example.org"), ("https://example.org:80", "https://example.org:80"),
      ("http://a_b.test", "http://a_b.test"), ("http://a.test//", "http://a.test"),
    ])
  func upstreams(text: String, canonical: String) throws {
    #expect(try UpstreamURL(text).description == canonical)
  }

  @Test("the parts of an upstream are told apart")
  func upstreamParts() throws {
    let url = try UpstreamURL("https://[2001:DB8::1]:8443/v1/")
    #expect(url.scheme == .https)
    #expect(url.host == "2001:db8::1")
    #expect(url.port == 8443)
    #expect(url.basePath == "/v1")
    #expect(url.authority == "[2001:db8::1]:8443")
    #expect(try UpstreamURL("https://example.org").port == 443)
    #expect(try UpstreamURL("http://example.org").basePath == "")
  }

  @Test(
    "an upstream that is not exactly a URL of an origin is refused",
    arguments: [
      "", "example.org", "ftp://example.org", "http:/example.org", "http://", "http:///path", "http://:80",
      "http://user@example.org", "http://user:secret@example.org", "http://example.org:0",
      "http://example.org:65536", "http://example.org:", "http://example.org:8o", "http://example.org:+80",
      "http://example.org:080", "http://example.org?x", "http://example.org/#x", "http://example.org/a b",
      "http://exa mple.org", "http://example..org", "http://-a.org", "http://[::1", "http://[::1]x",
      "http://[::g]",
      "http://::1", "http://127.1", "http://0x7f000001", "http://2130706433", "http://1.2.3.4.5",
      "http://example.org/../x", "http://example.org/./x", "http://example.org\\x", "http://exämple.org",
      "http://example.org/\r\nX:1",
    ])
  func badUpstreams(text: String) { #expect(throws: Refusal.self) { try UpstreamURL(text) } }

  @Test("a host pattern is one host, or all hosts below one")
  func hosts() {
    #expect(HostPattern("API.Example.org") == .exact("api.example.org"))
    #expect(HostPattern("*.Example.org") == .suffix("example.org"))
    #expect(HostPattern("127.0.0.1") == .exact("127.0.0.1"))
    #expect(HostPattern("[::1]") == .exact("[::1]"))
    for text in [
      "", "*", "*.", "a.*", "*a.org", "a:80", "a/b", "*.127.0.0.1", "::1", "[x]", "a b", ".a", "a.",
    ] {
      #expect(HostPattern(text) == nil, "\(text)")
    }
  }

  @Test("a path pattern is one path, or all paths that begin alike")
  func paths() {
    #expect(PathPattern("/status") == .exact("/status"))
    #expect(PathPattern("/api/*") == .prefix("/api/"))
    #expect(PathPattern("/*") == .prefix("/"))
    for text in ["", "*", "api", "/a*b", "/a**", "/a?b", "/a#b", "/a b", "/ä"] {
      #expect(PathPattern(text) == nil, "\(text)")
    }
  }
}
