// A response's head as it leaves: the stored or fetched fields, and what Regent adds to every answer.

import RegentCaching
import RegentHTTP
import RegentLoop

/// Writes heads for one loop; what never changes is made once, and what many answers share for as long as they do.
final class ResponseWriter {
  private let name: [UInt8]
  private let tail: [UInt8]
  private let hitTail: [UInt8]
  private var tails = RecentTails()
  private var recent = RecentAnswers()
  private var said: Said?
  private var lastStatus: CacheStatus?

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
    /// It never ends: behind it begins another protocol.
    case upgrade([UInt8])
  }

  /// Writes the head of a response. One of a small stored response that was asked for a moment ago is copied.
  func write(
    _ response: Response, ending: Ending, keepAlive: Bool, version: HTTPVersion,
    for routed: RoutedHead? = nil,
    now: Int64, to writer: inout MessageWriter
  ) {
    guard keepAlive, version == .http11, let answer = RecentAnswers.Answer(response, ending, to: routed)
    else {
      return compose(
        response, ending: ending, keepAlive: keepAlive, version: version, for: routed, now: now, to: &writer)
    }
    if recent.append(answer, onto: &writer.bytes) { return }
    let start = writer.bytes.count
    compose(
      response, ending: ending, keepAlive: keepAlive, version: version, for: routed, now: now, to: &writer)
    recent.note(answer, writer.bytes[start...])
  }

  /// Writes the 304 that this very head got in place of this very record a moment ago; false where it got none.
  func writeAgain(
    notModified response: borrowing Response, to routed: RoutedHead, to writer: inout MessageWriter
  ) -> Bool {
    guard let answer = RecentAnswers.Answer(notModified: response, to: routed) else { return false }
    return recent.append(answer, onto: &writer.bytes)
  }

  private func compose(
    _ response: Response, ending: Ending, keepAlive: Bool, version: HTTPVersion, for routed: RoutedHead?,
    now: Int64, to writer: inout MessageWriter
  ) {
    writer.statusLine(response.status)
    let hasRules = routed?.domain.hasKeyRules == true
    if keepAlive, version == .http11, !hasRules, writePlainHit(response, ending, to: &writer) { return }
    writeFields(response, now: now, to: &writer)
    switch ending {
    case .length(let length): writer.field(.contentLength, decimal: length)
    case .chunked: writer.field(.transferEncoding, "chunked")
    case .upgrade(let chosen): writer.field(.upgrade, bytes: chosen)
    case .close, .none: break
    }
    if case .upgrade = ending {
      writer.field(.connection, "Upgrade")
    } else if !keepAlive {
      writer.field(.connection, "close")
    } else if version == .http10 {
      writer.field(.connection, "keep-alive")
    }
    writeTail(response.cacheStatus, routed, to: &writer)
    if let failure = response.failure { write(failure, to: &writer) }
    writer.endHead()
  }

  /// The rest of the head of a plain hit, which most answers are, in as few pieces as there can be; false where the
  /// response is none.
  private func writePlainHit(
    _ response: borrowing Response, _ ending: Ending, to writer: inout MessageWriter
  ) -> Bool {
    guard case .stored(let shared, let own) = response.fields, case .length(let length) = ending,
      let ttl = response.cacheStatus.plainHit, let age = response.age, let date = response.metadata?.date,
      response.failure == nil
    else { return false }
    write(shared, own, to: &writer)
    let isFromDisk = response.cacheStatus.detail == .disk
    let tail = RecentTails.Tail(date: date, age: age, ttl: ttl, isFromDisk: isFromDisk)
    if !tails.append(tail, onto: &writer.bytes) {
      let start = writer.bytes.count
      writer.field(.date, date: date)
      writer.field(.age, decimal: Int(age))
      writer.bytes.append(contentsOf: hitTail)
      Decimal.append(Int(ttl), to: &writer.bytes)
      if isFromDisk { writer.bytes.append(contentsOf: "; detail=disk".utf8) }
      writer.endLine()
      tails.note(tail, writer.bytes[start...])
    }
    writer.field(.contentLength, decimal: length)
    writer.endHead()
    return true
  }

  private func write(_ shared: Block?, _ own: Slice, to writer: inout MessageWriter) {
    if let shared { shared.copy(0..<shared.count, onto: &writer.bytes) }
    own.block.copy(own.range, onto: &writer.bytes)
  }

  private func writeTail(_ status: CacheStatus, _ routed: RoutedHead?, to writer: inout MessageWriter) {
    let tellsKey = routed.map { Self.tellsKey(status, $0) } == true
    if let said, said.status == status {
      writer.bytes.append(contentsOf: said.start)
      if tellsKey, let routed { status.append(key: routed.appendKey, onto: &writer.bytes) }
      return writer.bytes.append(contentsOf: said.end)
    }
    let start = writer.bytes.count
    writer.bytes.append(contentsOf: tail)
    status.appendStart(onto: &writer.bytes, name: name)
    let key = writer.bytes.count
    if tellsKey, let routed { status.append(key: routed.appendKey, onto: &writer.bytes) }
    let end = writer.bytes.count
    status.appendEnd(onto: &writer.bytes)
    writer.endLine()
    // Kept where it comes twice in a row.
    if lastStatus == status {
      said = Said(status, start: Array(writer.bytes[start..<key]), end: Array(writer.bytes[end...]))
    }
    lastStatus = status
  }

  /// What is said of one status, but for the key. Many answers in a row have the same.
  private final class Said {
    let status: CacheStatus
    let start: [UInt8]
    let end: [UInt8]

    init(_ status: CacheStatus, start: [UInt8], end: [UInt8]) {
      (self.status, self.start, self.end) = (status, start, end)
    }
  }

  /// The key is told where nothing was found under it, or where the domain's rules make it another one than the URL.
  private static func tellsKey(_ status: CacheStatus, _ routed: RoutedHead) -> Bool {
    switch status.outcome {
    case .forwarded(.bypass), .forwarded(.method): false
    case .forwarded: true
    case .hit: routed.domain.hasKeyRules
    }
  }

  private func writeFields(_ response: Response, now: Int64, to writer: inout MessageWriter) {
    switch response.fields {
    case .stored(let shared, let own):
      write(shared, own, to: &writer)
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

extension ResponseWriter.Ending {
  /// How the body of a response is delimited for who asked for it.
  static func of(_ response: Response, to routed: RoutedHead) -> Self {
    if response.status == 101, let switching = response.switching { return .upgrade(switching.chosen) }
    if response.status == 204 || response.status == 304 || response.status < 200 { return .none }
    if let count = response.body.count, routed.head.method != .head || count > 0 { return .length(count) }
    if routed.head.method == .head {
      guard let value = response.fields.parsed.first(.contentLength), let count = Decimal.parse(value) else {
        return .none
      }
      return .length(count)
    }
    return routed.head.version == .http11 ? .chunked : .close
  }
}
