// Which fields are stored, and the two blocks (RFC 9111 section 3.1).

import RegentCaching
import RegentHTTP
import Testing

private func split(_ response: String) -> (shared: String, own: String) {
  var shared: [UInt8] = []
  var own: [UInt8] = []
  StoredFields.split(fields(response), shared: &shared, own: &own)
  return (String(decoding: shared, as: UTF8.self), String(decoding: own, as: UTF8.self))
}

@Test(
  "fields of the connection, and those kept as numbers, are not stored",
  arguments: [
    "Connection: close", "Keep-Alive: timeout=5", "Proxy-Connection: close", "Proxy-Authenticate: Basic",
    "Proxy-Authentication-Info: a", "Proxy-Authorization: a", "TE: trailers", "Trailer: a",
    "Transfer-Encoding: chunked", "Upgrade: h2c", "Age: 7", "Content-Length: 7", "Date: {0}",
    "Connection: x-a\nX-A: 1", "Connection: close\nConnection: y, server\nServer: s",
    "Connection: close, X-A\nx-a: 1\nX-a: 2",
  ])
func neverStored(response: String) {
  #expect(split(response) == ("", ""))
}

@Test("fields named by private and no-cache are not stored, the directive is")
func qualifiedNames() {
  let both =
    "Cache-Control: private=\"x-user, set-cookie\", no-cache=\"X-Time\"\nX-User: 1\nX-Time: 2\nSet-Cookie: a=b"
  #expect(split(both).shared == "Cache-Control: private=\"x-user, set-cookie\", no-cache=\"X-Time\"\r\n")
  #expect(split(both).own == "")
}

@Test("unqualified directives remove no field")
func unqualifiedNames() {
  #expect(split("Cache-Control: no-cache\nX-User: 1").shared == "Cache-Control: no-cache\r\nX-User: 1\r\n")
}

@Test("lines are ready to be sent, and what is a response's own is apart")
func blocks() {
  let (shared, own) = split(
    "server: s\nETag: \"a\"\nContent-Type: a/b\nSet-Cookie: a=1\nX-Frame-Options: DENY\nSet-Cookie: b=2\nX-Request-Id: 7\nLast-Modified: then"
  )
  #expect(shared == "Server: s\r\nContent-Type: a/b\r\nX-Frame-Options: DENY\r\n")
  #expect(
    own == "ETag: \"a\"\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Request-Id: 7\r\nLast-Modified: then\r\n")
}

@Test("the blocks give the fields back")
func wayBack() {
  let lines = ["Server: s", "X-Odd: ", "Link: <a>; rel=b", "ETag: \"a\"", "Link: <c>"]
  var shared: [UInt8] = []
  var own: [UInt8] = []
  StoredFields.split(fields(lines.joined(separator: "\n")), shared: &shared, own: &own)
  var result = Fields()
  StoredFields.append(linesOf: shared.span, to: &result)
  StoredFields.append(linesOf: own.span, to: &result)
  #expect(text(result).sorted() == lines.sorted())
  #expect(result.contains(.etag))
  #expect(place(of: .etag, in: own) == Array("\"a\"".utf8))
  #expect(place(of: .etag, in: shared) == nil)
}

@Test(
  "names are found behind either directive, however it is spelled and whatever stands before it",
  arguments: [
    "private=x-a", "no-cache=x-a", "PRIVATE=\"x-a\"", "No-Cache=\"x-b, x-a\"", "private = \"x-a\"",
    "private\t=x-a", "max-age=1,private=x-a", "stale-while-revalidate=1, no-cache=\"x-a\"",
    "max-age=1,no-cache=x-a,a=b",
  ])
func spelledNames(directives: String) {
  #expect(split("Cache-Control: \(directives)\nX-A: 1").shared == "Cache-Control: \(directives)\r\n")
}

@Test(
  "damaged blocks give no field and do not trap",
  arguments: ["", "\r\n", ":", ": x\r\n", "no colon\r\n", "\r", "\n\n\n", "::"])
func damagedBlock(block: String) {
  var result = Fields()
  let bytes = Array(block.utf8)
  StoredFields.append(linesOf: bytes.span, to: &result)
  #expect(result.lines.isEmpty)
  #expect(place(of: .etag, in: bytes) == nil)
}

@Test(
  "the names come from the field that counts: a targeted one silences Cache-Control (RFC 9213 section 2.2)")
func targetedNames() {
  let response = "CDN-Cache-Control: private=\"x-a\"\nCache-Control: no-cache=\"x-b\"\nX-A: 1\nX-B: 2"
  #expect(
    split(response).shared
      == "CDN-Cache-Control: private=\"x-a\"\r\nCache-Control: no-cache=\"x-b\"\r\nX-B: 2\r\n")
}
