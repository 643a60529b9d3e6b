// Messages that must be taken, with exactly what they mean, fed in every way.

import Testing

@testable import RegentHTTP

@Suite struct AcceptedMessageTests {
  @Test("a request is understood exactly", arguments: requests)
  func request(_ row: Row, _ meaning: String) {
    let outcome = agree(row.bytes) { feedRequest($0, $1) }
    #expect(outcome == .head(meaning, consumed: row.bytes.count), "\(outcome)")
  }

  @Test("a response is understood exactly", arguments: responses)
  func response(_ row: Row, _ meaning: String) {
    let outcome = agree(row.bytes) { feedResponse($0, $1) }
    #expect(outcome == .head(meaning, consumed: row.bytes.count), "\(outcome)")
  }

  @Test("each method is known by its name", arguments: Method.allCases)
  func methods(_ method: Method) {
    let target = method == .connect ? "a:443" : "/"
    let bytes = Array("\(method.text) \(target) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    var parser = RequestParser()
    #expect((try? parser.parse(bytes.span))?.method == method)
  }

  @Test("what follows a head is left alone, and the parser is ready for it")
  func pipelined() throws {
    let one = Array("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    let bytes = one + one
    var parser = RequestParser()
    _ = try #require(try parser.parse(bytes.span))
    #expect(parser.consumed == one.count)
    _ = try #require(try parser.parse(bytes.span.extracting(one.count..<bytes.count)))
    #expect(parser.consumed == one.count)
  }

  @Test(
    "A10 an upgrade is asked for by both fields on HTTP/1.1",
    arguments: [
      ("HTTP/1.1", "Connection: upgrade\r\nUpgrade: websocket", true),
      ("HTTP/1.1", "Upgrade: websocket\r\nConnection: close, Upgrade", true),
      ("HTTP/1.1", "Upgrade: websocket", false), ("HTTP/1.1", "Connection: upgrade", false),
      ("HTTP/1.0", "Connection: upgrade\r\nUpgrade: websocket", false),
    ])
  func upgrades(_ version: String, _ fields: String, _ expected: Bool) throws {
    let bytes = Array("GET / \(version)\r\nHost: a\r\n\(fields)\r\n\r\n".utf8)
    var parser = RequestParser()
    #expect(try parser.parse(bytes.span)?.upgrades == expected)
  }

  @Test("a response head can be made without a server")
  func made() throws {
    var fields = Fields()
    fields.append(.contentLength, "3".utf8)
    #expect(try ResponseHead(status: 200, fields: fields)?.framing(answering: .get) == .length(3))
    #expect(try ResponseHead(status: 200, fields: Fields())?.framing(answering: .get) == .untilClose)
    #expect(ResponseHead(status: 99, fields: fields) == nil)
    fields = Fields()
    fields.append(.contentLength, "+3".utf8)
    #expect(ResponseHead(status: 200, fields: fields) == nil)
  }

  @Test("A15 behind a malformed head nothing is parsed", arguments: RefusedRequestTests.syntax)
  func poisoned(_ row: Row) {
    let bytes = row.bytes + Array("GET /evil HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    var parser = RequestParser()
    var errors: [ParseError] = []
    for _ in 0..<3 {
      do throws(ParseError) { _ = try parser.parse(bytes.span) } catch { errors.append(error) }
    }
    #expect(errors.count == 3)
    #expect(Set(errors.map(\.offset)).count == 1)
  }

  static let requests: [(Row, String)] = [
    (
      Row("plain", "GET /a?b=c HTTP/1.1\r\nHost: A.Example\r\n\r\n"),
      "get origin /a?b=c http11 a.example none keep Host=a.example"
    ),
    (
      Row("empty line before", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
      "get origin / http11 a none keep Host=a"
    ),
    (Row("B3 empty query", "GET /? HTTP/1.1\r\nHost: a\r\n\r\n"), "get origin /? http11 a none keep Host=a"),
    (
      Row("B4 verbatim path", "GET //..;/%2e%2e/%2f\\%00|{}\" HTTP/1.1\r\nHost: a\r\n\r\n"),
      "get origin //..;/%2e%2e/%2f\\%00|{}\" http11 a none keep Host=a"
    ),
    (
      Row("B4 question marks", "GET /a?b?c HTTP/1.1\r\nHost: a\r\n\r\n"),
      "get origin /a?b?c http11 a none keep Host=a"
    ),
    (
      Row("port", "GET / HTTP/1.1\r\nHost: a:8080\r\n\r\n"),
      "get origin / http11 a:8080 none keep Host=a:8080"
    ),
    (
      Row("trailing dot", "GET / HTTP/1.1\r\nHost: a.b.:80\r\n\r\n"),
      "get origin / http11 a.b:80 none keep Host=a.b.:80"
    ),
    (
      Row("IPv6", "GET / HTTP/1.1\r\nHost: [2001:DB8::1]:81\r\n\r\n"),
      "get origin / http11 [2001:db8::1]:81 none keep Host=[2001:db8::1]:81"
    ),
    (Row("IPv6 any", "GET / HTTP/1.1\r\nHost: [::]\r\n\r\n"), "get origin / http11 [::] none keep Host=[::]"),
    (
      Row("IPv6 full", "GET / HTTP/1.1\r\nHost: [1:2:3:4:5:6:7:8]\r\n\r\n"),
      "get origin / http11 [1:2:3:4:5:6:7:8] none keep Host=[1:2:3:4:5:6:7:8]"
    ),
    (
      Row("IPv6 elided end", "GET / HTTP/1.1\r\nHost: [1:2:3:4:5:6:7::]\r\n\r\n"),
      "get origin / http11 [1:2:3:4:5:6:7::] none keep Host=[1:2:3:4:5:6:7::]"
    ),
    (
      Row("IPv6 with IPv4", "GET / HTTP/1.1\r\nHost: [::ffff:1.2.3.4]\r\n\r\n"),
      "get origin / http11 [::ffff:1.2.3.4] none keep Host=[::ffff:1.2.3.4]"
    ),
    (
      Row("underscore", "GET / HTTP/1.1\r\nHost: my_app.localhost\r\n\r\n"),
      "get origin / http11 my_app.localhost none keep Host=my_app.localhost"
    ),
    (
      Row("B1 absolute", "GET http://A/b?c HTTP/1.1\r\nHost: a\r\n\r\n"),
      "get absolute /b?c http11 a none keep Host=a"
    ),
    (
      Row("B1 absolute, default port", "GET HTTP://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n"),
      "get absolute / http11 a none keep Host=a"
    ),
    (
      Row("B1 absolute, https port", "GET https://a/ HTTP/1.1\r\nHost: a:443\r\n\r\n"),
      "get absolute / http11 a:443 none keep Host=a:443"
    ),
    (
      Row("B1 absolute, no path", "GET http://a HTTP/1.1\r\nHost: a\r\n\r\n"),
      "get absolute  http11 a none keep Host=a"
    ),
    (
      Row("B1 absolute, query alone", "GET http://a?x HTTP/1.1\r\nHost: a\r\n\r\n"),
      "get absolute ?x http11 a none keep Host=a"
    ),
    (
      Row("B1 absolute, IPv6", "GET http://[::1]:8/ HTTP/1.1\r\nHost: [::1]:8\r\n\r\n"),
      "get absolute / http11 [::1]:8 none keep Host=[::1]:8"
    ),
    (
      Row("B1 absolute on 1.0 without Host", "GET http://A:81/ HTTP/1.0\r\n\r\n"),
      "get absolute / http10 a:81 none close "
    ),
    (Row("A14 1.0", "GET / HTTP/1.0\r\n\r\n"), "get origin / http10  none close "),
    (
      Row("A14 1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"),
      "get origin / http10  none keep Connection=Keep-Alive"
    ),
    (
      Row("A14 1.0 both", "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"),
      "get origin / http10  none close Connection=keep-alive, close"
    ),
    (Row("A14 1.0 POST", "POST / HTTP/1.0\r\nHost: a\r\n\r\n"), "post origin / http10 a none close Host=a"),
    (
      Row("close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, , Close\r\n\r\n"),
      "get origin / http11 a none close Host=a|Connection=foo, , Close"
    ),
    (
      Row("closed is not close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n"),
      "get origin / http11 a none keep Host=a|Connection=closed"
    ),
    (
      Row("C1 upgrade", "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, TE\r\nUpgrade: websocket\r\n\r\n"),
      "get origin / http11 a none keep Host=a|Connection=Upgrade, TE|Upgrade=websocket"
    ),
    (
      Row("A2 length", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"),
      "put origin / http11 a length(3) keep Host=a|Content-Length=3"
    ),
    (
      Row("A2 zero", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
      "put origin / http11 a length(0) keep Host=a|Content-Length=0"
    ),
    (
      Row("A2 zeros before", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 00003\r\n\r\n"),
      "put origin / http11 a length(3) keep Host=a|Content-Length=00003"
    ),
    (
      Row("A2 2^53", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9007199254740992\r\n\r\n"),
      "put origin / http11 a length(9007199254740992) keep Host=a|Content-Length=9007199254740992"
    ),
    (
      Row("A2 white space around", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length:\t 3 \t\r\n\r\n"),
      "put origin / http11 a length(3) keep Host=a|Content-Length=3"
    ),
    (
      Row("A3 chunked", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"),
      "put origin / http11 a chunked keep Host=a|Transfer-Encoding=Chunked"
    ),
    (
      Row(
        "A12 expectation", "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n"),
      "put origin / http11 a length(3) keep waits Host=a|Expect=100-Continue|Content-Length=3"
    ),
    (
      Row("A12 expectation on 1.0", "PUT / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n"),
      "put origin / http10  none close Expect=100-continue"
    ),
    (Row("C2 TRACE", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n"), "trace origin / http11 a none keep Host=a"),
    (
      Row("C3 asterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
      "options asterisk  http11 a none keep Host=a"
    ),
    (
      Row("A10 CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"),
      "connect authority  http11 a:443 none keep Host=a:443"
    ),
    (
      Row(
        "order, repeats, empty and high bytes",
        "GET / HTTP/1.1\r\nX: 1\r\nHost: a\r\nx: 2\r\nY:\r\nZ: é:\t~\r\n\r\n"),
      "get origin / http11 a none keep X=1|Host=a|x=2|Y=|Z=é:\t~"
    ),
  ]

  static let responses: [(Row, String)] = [
    (
      Row("plain", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
      "200 OK http11 length(5) keep Content-Length=5"
    ),
    (Row("no reason", "HTTP/1.1 200 \r\n\r\n"), "200  http11 untilClose keep "),
    (Row("no space before no reason", "HTTP/1.1 200\r\n\r\n"), "200  http11 untilClose keep "),
    (
      Row("long reason", "HTTP/1.1 404 Not here, é\tnor there\r\n\r\n"),
      "404 Not here, é\tnor there http11 untilClose keep "
    ),
    (
      Row("1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
      "200 OK http10 length(0) close Content-Length=0"
    ),
    (
      Row(
        "chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: Transfer-Encoding\r\n\r\n"),
      "200 OK http11 chunked keep Transfer-Encoding=chunked|Connection=Transfer-Encoding"
    ),
    (
      Row("A13 interim", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 3\r\n\r\n"),
      "103 Early Hints http11 none keep Link=</a>|Content-Length=3"
    ),
    (
      Row("A16 204", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n"),
      "204 No Content http11 none keep Content-Length=3"
    ),
    (
      Row("A16 304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n"),
      "304 Not Modified http11 none keep Content-Length=3"
    ),
    (
      Row(
        "status 599, two Hosts",
        "HTTP/1.1 599 X\r\nHost: ,\r\nHost: ,\r\nExpect: x\r\nContent-Length: 1\r\n\r\n"),
      "599 X http11 length(1) keep Host=,|Host=,|Expect=x|Content-Length=1"
    ),
  ]

  @Test("a response is framed by the method it answers")
  func framing() throws {
    let bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".utf8)
    var parser = ResponseParser()
    let head = try #require(try parser.parse(bytes.span))
    #expect(try head.framing(answering: .head) == BodyFraming.none)
    #expect(try head.framing(answering: .connect) == BodyFraming.none)
    #expect(try head.framing(answering: .get) == .length(5))
  }
}
