// A client that sends exactly the bytes it is told to and reads what comes back, pipelined or not.

/// One connection to the daemon. For one thread.
final class Client {
  let socket: Socket
  private let reader: MessageReader

  init(port: UInt16, receiveBuffer: Int32? = nil) throws {
    socket = try Socket(port: port, receiveBuffer: receiveBuffer)
    reader = MessageReader(socket)
  }

  func send(_ text: String) throws { try socket.send(Array(text.utf8)) }

  /// Sends to a daemon that may end the connection before it has read everything.
  func offer(_ text: String) throws {
    do { try send(text) } catch SocketError.reset {}
  }

  /// Sends a plain request.
  func request(
    _ method: String = "GET", _ target: String, host: String = "localhost", _ fields: [String] = []
  )
    throws
  {
    let lines = ["\(method) \(target) HTTP/1.1", "Host: \(host)"] + fields
    try send(lines.joined(separator: "\r\n") + "\r\n\r\n")
  }

  /// Sends a plain request and reads the answer.
  func get(_ target: String, host: String = "localhost", _ fields: [String] = []) throws -> Response {
    try request("GET", target, host: host, fields)
    return try response()
  }

  /// Reads the final response to a request of this method, with its whole body.
  func response(to method: String = "GET") throws -> Response {
    var body: [UInt8] = []
    var response = try response(to: method) { body.append(contentsOf: $0) }
    response.body = body
    return response
  }

  /// Reads the next head alone, such as an interim response's.
  func head() throws -> Head {
    guard let head = try reader.head() else { throw WireError.cut }
    return head
  }

  /// Reads a response and hands its body on in pieces.
  func response(to method: String = "GET", _ sink: ([UInt8]) throws -> Void) throws -> Response {
    var interim: [Int] = []
    while true {
      guard let head = try reader.head() else { throw WireError.cut }
      let status = try Response.status(of: head)
      if status / 100 == 1 && status != 101 {
        interim.append(status)
        continue
      }
      var response = Response(status: status, head: head, interim: interim)
      try readBody(of: &response, method, sink)
      return response
    }
  }

  private func readBody(of response: inout Response, _ method: String, _ sink: ([UInt8]) throws -> Void)
    throws
  {
    if method == "HEAD" || [101, 204, 304].contains(response.status) { return }
    if response["Transfer-Encoding"] != nil && response["Content-Length"] != nil {
      throw WireError.malformed("both framings: \(response.head.raw)")
    }
    if let coding = response["Transfer-Encoding"] {
      guard coding == "chunked" else { throw WireError.malformed(coding) }
      response.trailers = try reader.readChunks(sink)
    } else if let length = response["Content-Length"] {
      guard let count = Int(length), count >= 0 else { throw WireError.malformed(length) }
      try reader.read(count, sink)
    } else {
      try reader.readToEnd(sink)
    }
  }

  /// What comes next behind a response, whatever it is; empty where the daemon ended its side.
  func receive() throws -> [UInt8] { try reader.some() }

  /// So many bytes behind a response.
  func receive(_ count: Int) throws -> [UInt8] { try reader.read(count) }

  /// What still comes until the daemon ends the connection. Throws a timeout if it does not.
  func rest() throws -> String {
    var bytes: [UInt8] = []
    do {
      try reader.readToEnd { bytes.append(contentsOf: $0) }
    } catch SocketError.reset {}
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// A response as it stood on the wire.
struct Response: Sendable {
  let status: Int
  let head: Head
  let interim: [Int]
  var body: [UInt8] = []
  var trailers: [String] = []

  subscript(name: String) -> String? { head[name] }

  var text: String { String(decoding: body, as: UTF8.self) }
  var cacheStatus: String { self["Cache-Status"] ?? "" }
  /// Whether it came from a store, by the words of RFC 9211.
  var isHit: Bool { cacheStatus.contains("; hit") }

  static func status(of head: Head) throws -> Int {
    let parts = head.startLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "HTTP/1.1", let status = Int(parts[1]), 100..<600 ~= status else {
      throw WireError.malformed(head.startLine)
    }
    return status
  }
}
