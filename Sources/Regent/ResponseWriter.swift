// A response's head as it leaves: the stored or fetched fields, and what Regent adds to every answer.

import RegentCaching
import RegentHTTP
import RegentLoop

/// Writes heads for one loop; what never changes is made once.
struct ResponseWriter: Sendable {
  private let name: [UInt8]
  private let tail: [UInt8]

  /// `name` is Regent's in Via, Cache-Status and Proxy-Status: a token.
  init(name: String) {
    self.name = Array(name.utf8)
    tail = Array("Via: 1.1 \(name)\r\nCache-Status: ".utf8)
  }

  /// How the body is told from what follows it.
  enum Ending: Equatable {
    case length(Int)
    case chunked, close, none
  }

  func write(
    _ response: Response, ending: Ending, keepAlive: Bool, version: HTTPVersion, now: Int64,
    to writer: inout MessageWriter
  ) {
    writer.statusLine(response.status)
    writeFields(response, now: now, to: &writer)
    switch ending {
    case .length(let length): writer.field(.contentLength, decimal: length)
    case .chunked: writer.field(.transferEncoding, "chunked")
    case .close, .none: break
    }
    if !keepAlive {
      writer.field(.connection, "close")
    } else if version == .http10 {
      writer.field(.connection, "keep-alive")
    }
    writer.bytes.append(contentsOf: tail)
    response.cacheStatus.append(onto: &writer.bytes, name: name)
    writer.bytes.append(contentsOf: [0x0D, 0x0A])
    if let failure = response.failure { write(failure, to: &writer) }
    writer.endHead()
  }

  private func writeFields(_ response: Response, now: Int64, to writer: inout MessageWriter) {
    switch response.fields {
    case .stored(let shared, let own):
      if let shared { shared.copy(0..<shared.count, onto: &writer.bytes) }
      own.block.copy(own.range, onto: &writer.bytes)
      writer.field(.date, date: response.metadata?.date ?? now)
    case .parsed(let fields):
      let dated = response.age != nil && response.metadata != nil
      writer.forwarded(
        fields, except: dated ? Self.datedOnes : response.age != nil ? Self.agedOnes : Self.lengthOnly)
      if dated || !fields.contains(.date) { writer.field(.date, date: response.metadata?.date ?? now) }
    }
    if let age = response.age { writer.field(.age, decimal: Int(age)) }
  }

  private static let lengthOnly = FieldNameSet([.contentLength])
  private static let agedOnes = FieldNameSet([.contentLength, .age])
  private static let datedOnes = FieldNameSet([.contentLength, .age, .date])

  /// RFC 9209: what went wrong, for machines and in words.
  private func write(_ failure: Failure, to writer: inout MessageWriter) {
    var value = name
    value.append(contentsOf: "; error=\(failure.proxyStatus); details=\"".utf8)
    for byte in failure.sentence.utf8 where (0x20..<0x7F).contains(byte) {
      if byte == 0x22 || byte == 0x5C { value.append(0x5C) }
      value.append(byte)
    }
    value.append(0x22)
    writer.field(.proxyStatus, bytes: value)
  }
}
