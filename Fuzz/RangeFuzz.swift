// A fuzz target for Range and Content-Range: nothing traps; what is read is written to a fixed point; what a range
// resolves to lies within the length, whatever the numbers are.

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
  if !condition { fatalError(broken()) }
}

private func checkRange(_ bytes: ArraySlice<UInt8>, length: Int) {
  guard let specs = RangeField.parse(bytes) else { return }
  require(!specs.isEmpty && specs.count <= RangeField.maximumSpecs, "no or too many ranges")
  for spec in specs {
    guard let range = spec.resolved(length: length) else { continue }
    require(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= length, "a range lies outside")
    let framing = MultipartRanges(boundary: [0x58], type: [], complete: length)
    let opening = framing.opening(of: range, isFirst: true)
    require(opening.suffix(4) == [13, 10, 13, 10], "a part's fields do not end")
    require(
      ContentRange(ContentRange.part(range, complete: length).value[...])
        == .part(range, complete: length), "a range is no fixed point")
  }
}

private func checkContentRange(_ bytes: ArraySlice<UInt8>) {
  guard let range = ContentRange(bytes) else { return }
  if case .part(let part, let complete) = range {
    require(!part.isEmpty && part.lowerBound >= 0, "an empty part")
    require(complete.map { part.upperBound <= $0 } ?? true, "a part beyond the length")
  }
  require(ContentRange(range.value[...]) == range, "a Content-Range is no fixed point")
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
  for length in [0, 1, 1000, Int.max, Int(number >> 1)] { checkRange(bytes[...], length: length) }
  checkRange(Array("bytes=".utf8)[...] + bytes.dropFirst(8), length: Int(number >> 40))
  checkContentRange(bytes[...])
  checkContentRange(Array("bytes ".utf8)[...] + bytes)
  return 0
}
