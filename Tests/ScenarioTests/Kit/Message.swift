// Reads HTTP/1 messages off a socket with code of its own: it relies on nothing of RegentHTTP, and must never
// forgive what the daemon writes wrongly (line ends, chunk framing, lengths).

/// A message that is not what it should be.
enum WireError: Error, Equatable {
  /// The connection ended inside a message.
  case cut
  case malformed(String)
}

/// The first line and the fields of a message.
struct Head: Sendable {
  let startLine: String
  let fields: [Field]
  /// The bytes as they came, with the empty line.
  let raw: String

  struct Field: Sendable {
    let name: String
    let value: String
  }

  /// All values of a field, joined by a comma; nil where there is none.
  subscript(name: String) -> String? {
    let values = fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  init(raw: String) throws {
    self.raw = raw
    var lines = raw.split(separator: "\r\n", omittingEmptySubsequences: false)
    guard lines.count >= 3, !lines.contains(where: { $0.contains { $0 == "\n" || $0 == "\r" } }) else {
      throw WireError.malformed(raw)
    }
    lines.removeLast(2)
    startLine = String(lines[0])
    fields = try lines.dropFirst().map { line in
      guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
        throw WireError.malformed(String(line))
      }
      let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      return Field(name: String(line[..<colon]), value: String(value))
    }
  }
}

/// Takes messages apart as they arrive. For one thread.
final class MessageReader {
  private let socket: Socket
  private var buffer: [UInt8] = []
  private var position = 0

  init(_ socket: Socket) { self.socket = socket }

  /// The next head, or nil if the peer ended cleanly before its first byte.
  func head() throws -> Head? {
    var bytes: [UInt8] = []
    while let byte = try next() {
      bytes.append(byte)
      if byte == 10, bytes.suffix(4) == [13, 10, 13, 10] {
        return try Head(raw: String(decoding: bytes, as: UTF8.self))
      }
    }
    if bytes.isEmpty { return nil }
    throw WireError.cut
  }

  /// Hands `count` bytes to `sink`, in pieces as they come.
  func read(_ count: Int, _ sink: ([UInt8]) throws -> Void) throws {
    var left = count
    while left > 0 {
      guard let piece = try piece(upTo: left) else { throw WireError.cut }
      left -= piece.count
      try sink(piece)
    }
  }

  /// So many bytes.
  func read(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try read(count) { bytes.append(contentsOf: $0) }
    return bytes
  }

  /// Whatever comes next, message or not; empty at the end.
  func some() throws -> [UInt8] { try piece(upTo: .max) ?? [] }

  /// Hands on everything up to the end of the connection.
  func readToEnd(_ sink: ([UInt8]) throws -> Void) throws {
    while let piece = try piece(upTo: .max) { try sink(piece) }
  }

  /// Hands on the data of a chunked body and gives its trailer fields.
  func readChunks(_ sink: ([UInt8]) throws -> Void) throws -> [String] {
    while true {
      let line = try nextLine()
      let digits = line.prefix { $0 != ";" }
      guard !digits.isEmpty, digits.allSatisfy(\.isHexDigit), let size = Int(digits, radix: 16) else {
        throw WireError.malformed("chunk size \(line)")
      }
      if size == 0 { break }
      try read(size, sink)
      guard try nextLine().isEmpty else { throw WireError.malformed("no CRLF after a chunk") }
    }
    var trailers: [String] = []
    while case let line = try nextLine(), !line.isEmpty { trailers.append(line) }
    return trailers
  }

  private func nextLine() throws -> String {
    var bytes: [UInt8] = []
    while let byte = try next() {
      bytes.append(byte)
      guard byte == 10 else { continue }
      guard bytes.dropLast().last == 13 else { throw WireError.malformed("bare LF") }
      return String(decoding: bytes.dropLast(2), as: UTF8.self)
    }
    throw WireError.cut
  }

  private func next() throws -> UInt8? {
    if position == buffer.count, try !refill() { return nil }
    defer { position += 1 }
    return buffer[position]
  }

  private func piece(upTo limit: Int) throws -> [UInt8]? {
    if position == buffer.count, try !refill() { return nil }
    if position == 0 && buffer.count <= limit {
      position = buffer.count
      return buffer
    }
    let end = limit < buffer.count - position ? position + limit : buffer.count
    defer { position = end }
    return Array(buffer[position..<end])
  }

  private func refill() throws -> Bool {
    buffer = try socket.receive()
    position = 0
    return !buffer.isEmpty
  }
}
