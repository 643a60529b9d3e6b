// A fuzz target for message bodies. What must hold for any bytes and framing: nothing traps; content and end
// are the same whole, byte by byte and in pieces; what was decoded is encoded to a fixed point.

private enum Outcome: Equatable {
  case content([UInt8], trailers: [UInt8] = [], consumed: Int, complete: Bool)
  case refused(ParseError.Rule, at: Int)
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
  if !condition { fatalError(broken()) }
}

private func feed(_ bytes: [UInt8], _ cuts: [Int], _ framing: BodyFraming) -> Outcome {
  var decoder = BodyDecoder(framing)
  var (content, trailers) = ([UInt8](), [UInt8]())
  var start = 0
  for cut in cuts {
    let piece = bytes.span.extracting(start..<cut)
    var offset = 0
    do throws(ParseError) {
      reading: while true {
        let before = offset
        let step = try decoder.next(piece, at: &offset)
        require(offset >= before && offset <= piece.count, "the offset left the input")
        switch step {
        case .content(let range):
          require(!range.isEmpty && range.upperBound == offset, "content is not what was consumed")
          content += bytes[start + range.lowerBound..<start + range.upperBound]
        case .trailers(let range):
          require(!range.isEmpty && range.upperBound <= offset, "trailers are not what was consumed")
          trailers += bytes[start + range.lowerBound..<start + range.upperBound]
        case .needMore:
          require(offset == piece.count, "more is needed though there is more")
          break reading
        case .end:
          require(decoder.isComplete, "an end that is not complete")
          require((try? Fields(trailers: trailers)) != nil || trailers.count > 100, "trailers without fields")
          return .content(content, trailers: trailers, consumed: start + offset, complete: true)
        }
      }
    } catch { return .refused(error.rule, at: start + error.offset) }
    start += offset
  }
  return .content(content, trailers: trailers, consumed: start, complete: decoder.isComplete)
}

private func check(_ bytes: [UInt8], _ framing: BodyFraming) {
  let whole = feed(bytes, [bytes.count], framing)
  require(feed(bytes, Array(0...bytes.count), framing) == whole, "bytes differ from the whole")
  let thirds = [bytes.count / 3, bytes.count * 2 / 3, bytes.count]
  require(feed(bytes, thirds, framing) == whole, "pieces differ from the whole")
  guard case .content(let content, _, _, complete: true) = whole, framing == .chunked else { return }
  var writer = MessageWriter()
  if !content.isEmpty {
    writer.chunkHeader(content.count)
    writer.bytes += content
    writer.chunkEnd()
  }
  writer.lastChunk()
  let again = feed(writer.bytes, [writer.bytes.count], .chunked)
  require(again == .content(content, consumed: writer.bytes.count, complete: true), "no fixed point")
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  check(bytes, .chunked)
  check(bytes, .length(Int(bytes.first ?? 0)))
  check(bytes, .untilClose)
  return 0
}
