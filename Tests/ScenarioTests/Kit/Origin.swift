// A scripted origin: a test decides every byte that it answers, and reads here what reached it.

/// A request as the origin saw it.
struct OriginRequest: Sendable {
  let method: String
  let target: String
  let head: Head
  /// The how-manieth request for this target it is, from 1.
  let number: Int
  /// The how-manieth connection it came on, from 1.
  let connection: Int

  subscript(name: String) -> String? { head[name] }
}

/// The origin's end of one connection. For the handler's thread.
final class OriginConnection {
  let socket: Socket
  fileprivate let reader: MessageReader
  fileprivate var isEnded = false
  fileprivate var bodyWasRead = false
  fileprivate var head: Head?
  /// The trailers of the last body that was read.
  private(set) var lastTrailers: [String] = []

  fileprivate init(_ socket: Socket) {
    self.socket = socket
    reader = MessageReader(socket)
  }

  func send(_ text: String) throws { try socket.send(Array(text.utf8)) }
  func send(_ bytes: [UInt8]) throws { try socket.send(bytes) }

  /// Answers with a length and a body.
  func answer(_ status: Int = 200, _ fields: [String] = [], _ body: String = "") throws {
    let lines = ["HTTP/1.1 \(status) Scripted", "Content-Length: \(body.utf8.count)"] + fields
    try send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
  }

  /// What comes next, whatever it is; empty where the daemon ended its side.
  func receive() throws -> [UInt8] { try reader.some() }

  /// So many bytes.
  func receive(_ count: Int) throws -> [UInt8] { try reader.read(count) }

  /// Ends the connection cleanly after this request.
  func close() {
    isEnded = true
    socket.close()
  }

  /// Ends the connection with a reset.
  func reset() {
    isEnded = true
    socket.reset()
  }

  /// The body of the request.
  @discardableResult
  func readBody() throws -> [UInt8] {
    var body: [UInt8] = []
    try readBody { body.append(contentsOf: $0) }
    return body
  }

  /// Hands on the body of the request in pieces.
  func readBody(_ sink: ([UInt8]) throws -> Void) throws {
    guard !bodyWasRead, let head else { return }
    bodyWasRead = true
    lastTrailers = []
    if head["Transfer-Encoding"] != nil {
      lastTrailers = try reader.readChunks(sink)
    } else if let length = head["Content-Length"], let count = Int(length) {
      try reader.read(count, sink)
    }
  }
}

/// A listener whose handler answers each request on a thread of its connection.
final class Origin: Sendable {
  typealias Handler = @Sendable (OriginRequest, OriginConnection) throws -> Void

  private let listener: Listener
  private let handler: Handler
  private let sockets = Shared<[Socket]>([])
  private let seen = Shared<[OriginRequest]>([])
  private let wrong = Shared<[String]>([])

  var port: UInt16 { listener.port }
  var url: String { "http://127.0.0.1:\(port)" }
  /// Every request so far, in order of arrival.
  var requests: [OriginRequest] { seen.value }
  /// What came that was no request.
  var garbage: [String] { wrong.value }
  var connections: Int { sockets.value.count }

  init(port: UInt16 = 0, _ handler: @escaping Handler) throws {
    listener = try Listener(port: port)
    self.handler = handler
    _ = Worker { [weak self, listener] in
      while let socket = listener.accept() { self?.adopt(socket) }
    }
  }

  deinit { stop() }

  func stop() {
    listener.stop()
    for socket in sockets.value { socket.hangUp() }
  }

  /// How many requests there were for a target.
  func count(_ target: String) -> Int { requests.count { $0.target == target } }

  private func adopt(_ socket: Socket) {
    let number = sockets.update {
      $0.append(socket)
      return $0.count
    }
    _ = Worker { [weak self] in
      let connection = OriginConnection(socket)
      while let self, try self.serveOne(connection, number) {}
    }
  }

  private func serveOne(_ connection: OriginConnection, _ number: Int) throws -> Bool {
    do {
      guard let head = try connection.reader.head() else { return false }
      connection.head = head
      connection.bodyWasRead = false
      try handler(record(head, number), connection)
      if connection.isEnded { return false }
      try connection.readBody()
      return true
    } catch let error as WireError {
      wrong.update { $0.append("\(error)") }
      connection.close()
      return false
    }
  }

  private func record(_ head: Head, _ connection: Int) throws -> OriginRequest {
    let parts = head.startLine.split(separator: " ").map(String.init)
    guard parts.count == 3 else { throw WireError.malformed(head.startLine) }
    return seen.update { all in
      let earlier = all.count { $0.target == parts[1] }
      let request = OriginRequest(
        method: parts[0], target: parts[1], head: head, number: earlier + 1, connection: connection)
      all.append(request)
      return request
    }
  }
}
