// A response's head as it leaves: the stored or fetched fields, and what Regent adds to every answer.

import RegentCaching
import RegentHTTP
import RegentLoop

/// Writes heads for one loop; what never changes is made once, and a date as long as it is the same.
final class ResponseWriter {
  private let name: [UInt8]
  private let tail: [UInt8]
  private let hitTail: [UInt8]
  private var date: (seconds: Int64, line: [UInt8]) = (.min, [])

  /// `name` is Regent's in Via, Cache-Status and Proxy-Status: a token.
  init(name: String) {
    self.name = Array(name.utf8)
    tail = Array("Via: 1.1 \(name)\r\nCache-Status: ".utf8)
    hitTail = tail + Array("\(name); hit; ttl=".utf8)
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
    writeTail(response.cacheStatus, to: &writer)
    if let failure = response.failure { write(failure, to: &writer) }
    writer.endHead()
  }

  /// Via and Cache-Status. A plain hit, which most answers are, is two pieces.
  private func writeTail(_ status: CacheStatus, to writer: inout MessageWriter) {
    if let ttl = status.plainHit {
      writer.bytes.append(contentsOf: hitTail)
      Decimal.append(Int(ttl), to: &writer.bytes)
    } else {
      writer.bytes.append(contentsOf: tail)
      status.append(onto: &writer.bytes, name: name)
    }
    writer.endLine()
  }

  private func write(date seconds: Int64, to writer: inout MessageWriter) {
    if date.seconds != seconds {
      var fresh = MessageWriter()
      fresh.field(.date, date: seconds)
      date = (seconds, fresh.bytes)
    }
    writer.bytes.append(contentsOf: date.line)
  }

  private func writeFields(_ response: Response, now: Int64, to writer: inout MessageWriter) {
    switch response.fields {
    case .stored(let shared, let own):
      if let shared { shared.copy(0..<shared.count, onto: &writer.bytes) }
      own.block.copy(own.range, onto: &writer.bytes)
      write(date: response.metadata?.date ?? now, to: &writer)
    case .parsed(let fields):
      let dated = response.age != nil && response.metadata != nil
      writer.forwarded(
        fields, except: dated ? Self.datedOnes : response.age != nil ? Self.agedOnes : Self.lengthOnly)
      if dated || !fields.contains(.date) { write(date: response.metadata?.date ?? now, to: &writer) }
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
