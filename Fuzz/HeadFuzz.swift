// A fuzz target for request and response heads. What must hold for any bytes: nothing traps; a head comes
// out the same whole, byte by byte and in pieces; what was accepted is written to a fixed point.

private enum Outcome: Equatable {
  case head([UInt8], consumed: Int)
  case refused(ParseError)
  case more
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
  if !condition { fatalError(broken()) }
}

/// A written head may be larger than the one that was read: a space behind each colon, and a Host that was in the target.
private let roomy = MessageLimits(head: 64 << 10, line: 16 << 10, fields: 101)

private func feedRequest(_ bytes: [UInt8], _ cuts: [Int], _ limits: MessageLimits) -> Outcome {
  var parser = RequestParser(limits: limits)
  do throws(ParseError) {
    for cut in cuts {
      if let head = try parser.parse(bytes.span.extracting(0..<cut)) {
        require(parser.consumed <= cut, "consumed more than there is")
        return .head(rewrite(head), consumed: parser.consumed)
      }
    }
    return .more
  } catch { return .refused(error) }
}

private func feedResponse(_ bytes: [UInt8], _ cuts: [Int], _ limits: MessageLimits) -> Outcome {
  var parser = ResponseParser(limits: limits)
  do throws(ParseError) {
    for cut in cuts {
      if let head = try parser.parse(bytes.span.extracting(0..<cut)) {
        require(parser.consumed <= cut, "consumed more than there is")
        return .head(rewrite(head), consumed: parser.consumed)
      }
    }
    return .more
  } catch { return .refused(error) }
}

private func rewrite(_ head: RequestHead) -> [UInt8] {
  let bytes = head.fields.bytes
  require(head.target.raw.upperBound <= bytes.count, "the target lies outside")
  _ = bytes[head.target.path]
  if let query = head.target.query { _ = bytes[query] }
  require(bytes[head.host].allSatisfy { $0.asciiLowercased == $0 }, "the host is not lowercase")
  require(head.version == .http10 || !head.host.isEmpty, "a host is missing")
  var writer = MessageWriter()
  writer.requestLine(head.method, target: bytes[head.target.raw])
  if !head.fields.contains(.host), let host = FieldValue(validating: authority(head)) {
    writer.field(.host, host)
  }
  for line in head.fields.lines { writer.line(line, of: head.fields) }
  writer.endHead()
  return writer.bytes
}

private func authority(_ head: RequestHead) -> [UInt8] {
  guard !head.host.isEmpty else { return Array("localhost".utf8) }
  return Array(head.fields.bytes[head.host]) + Array((head.port.map { ":\($0)" } ?? "").utf8)
}

private func rewrite(_ head: ResponseHead) -> [UInt8] {
  require((100...599).contains(head.status), "the status is none")
  _ = head.fields.bytes[head.reason]
  _ = try? head.framing(answering: .get)
  var writer = MessageWriter()
  writer.statusLine(head.status)
  for line in head.fields.lines { writer.line(line, of: head.fields) }
  writer.endHead()
  var forwarder = MessageWriter()
  forwarder.statusLine(head.status)
  forwarder.forwarded(head.fields)
  forwarder.endHead()
  var parser = ResponseParser(limits: roomy)
  require((try? parser.parse(forwarder.bytes.span)) != nil, "what is forwarded is not accepted")
  return writer.bytes
}

/// The ends of pieces that the input itself chooses.
private func pieces(_ bytes: [UInt8]) -> [Int] {
  var state = bytes.reduce(UInt64(bytes.count)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  var ends: [Int] = []
  var end = 0
  while end < bytes.count {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    end = min(bytes.count, end + Int(state >> 59) + 1)
    ends.append(end)
  }
  return ends
}

private func check(_ bytes: [UInt8], _ feed: ([UInt8], [Int], MessageLimits) -> Outcome) {
  let whole = feed(bytes, [bytes.count], .standard)
  require(feed(bytes, pieces(bytes), .standard) == whole, "pieces differ from the whole")
  if bytes.count <= 2048 {
    require(feed(bytes, Array(0...bytes.count), .standard) == whole, "bytes differ from the whole")
  }
  // A message in HTTP/1.0 is written as 1.1, where its fields may mean something else: only the latter are fixed.
  if case .head(let written, _) = whole {
    if case .head(let again, let consumed) = feed(written, [written.count], roomy) {
      require(again == written, "writing is no fixed point")
      require(consumed == written.count, "a written head has another end")
    } else {
      require(false, "a written head is refused")
    }
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  check(bytes, feedRequest)
  check(bytes, feedResponse)
  return 0
}
