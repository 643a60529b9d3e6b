// A fuzz target for entity tags and their lists: nothing traps, a valid tag is found in every list that has it before a
// fault, the weak comparison sees no weakness, and a 304 with a stored response's own tag is about that response.

import RegentCaching
import RegentHTTP

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
  if !condition { fatalError(broken()) }
}

private func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
  var bytes = bytes
  while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
  while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
  return Array(bytes)
}

private func finds(_ etag: [UInt8], in list: [UInt8]) -> Bool? {
  var request = Fields()
  guard request.append(.ifNoneMatch, list) else { return nil }
  let metadata = StoredMetadata(status: 200, responseTime: 0, date: 0, lifetime: 0)
  let none: [UInt8] = []
  return Validation.answersNotModified(
    requestFields: request, stored: metadata, etag: etag.span, lastModified: none.span)
}

private func holds(_ etag: [UInt8]) -> Fields {
  var fields = Fields()
  fields.append(.etag, etag)
  return fields
}

private func checkValid(_ etag: [UInt8], _ rest: [UInt8]) {
  let weak: [UInt8] = [0x57, 0x2F]
  let isWeak = etag.starts(with: weak)
  let other = isWeak ? Array(etag.dropFirst(2)) : weak + etag
  let before: [UInt8] = [0x22, 0x78, 0x22, 0x20, 0x2C, 0x2C]
  for list in [etag, before + etag, other, before + other + [0x2C] + rest, etag + [0x20, 0x2C] + rest] {
    require(finds(etag, in: list) ?? true, "a tag is not found")
  }
  require(finds(etag, in: rest) == finds(other, in: rest), "the weak comparison sees weakness")
  require(Validation.selected(among: [holds(etag)], by: holds(etag)) == 0, "a 304 does not know its own tag")
  let isAbout = Validation.selected(among: [holds(isWeak ? etag : other)], by: holds(isWeak ? other : etag))
  require(isAbout == nil, "a strong tag speaks of a weak one's response")
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  let etag = trimmed(bytes.prefix { $0 != 0x0A })
  let rest = trimmed(bytes.drop { $0 != 0x0A }.dropFirst())
  _ = finds(etag, in: rest)
  _ = finds(rest, in: etag)
  require(finds(etag, in: [0x2A]) ?? true, "any tag is not any")
  var offer = Fields()
  let stored = rest.split(separator: 0x0A).map { holds(trimmed($0)) }
  _ = Validation.selected(among: stored, by: holds(etag))
  if Validation.addSelection(among: stored, to: &offer),
    let list = offer.first(.ifNoneMatch).map({ Array($0) })
  {
    require(list.count <= 2048, "a list of tags is too long")
    require(
      stored.contains { finds(Array($0.first(.etag) ?? []), in: list) ?? false }, "an offer offers nothing")
  }
  // A tag that is offered is a valid one.
  var own = Fields()
  if Validation.addSelection(among: [holds(etag)], to: &own) { checkValid(etag, rest) }
  return 0
}
