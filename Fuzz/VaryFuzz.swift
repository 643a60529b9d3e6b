// A fuzz target for Vary, negotiation and entity tags: nothing traps, what was encoded selects its own request, damaged
// encodings are safe to compare, normal spellings and rewritten queries are fixed points, and lists of tags stay in bounds.

import RegentCaching
import RegentHTTP

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
  if !condition { fatalError(broken()) }
}

/// Fields from lines; the first colon ends the name. Lines that could not stand in a message are left out.
private func fields(_ bytes: ArraySlice<UInt8>) -> Fields {
  var result = Fields()
  for line in bytes.split(separator: 0x0A).prefix(40) {
    let name = line.prefix { $0 != 0x3A }
    var value = line.dropFirst(name.count + 1)
    while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
    while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
    result.append(named: name, value)
  }
  return result
}

private func checkVary(_ response: Fields, _ request: Fields, _ other: Fields, _ raw: [UInt8]) {
  var encoded: [UInt8] = [7]
  if Vary.encode(responseFields: response, requestFields: request, onto: &encoded) {
    require(encoded.count <= 1 + Vary.maximumBytes, "an encoding is too long")
    let own = Array(encoded.dropFirst())
    require(Vary.matches(own.span, requestFields: request), "a request does not select its own response")
    _ = Vary.matches(own.span, requestFields: other)
  } else {
    require(encoded == [7], "a refused encoding left bytes behind")
  }
  _ = Vary.matches(raw.span, requestFields: request)
}

private func checkNegotiation(_ value: [UInt8]) {
  for field in NegotiationField.allCases {
    guard let normalized = field.normalized(value) else { continue }
    require(field.normalized(normalized) == normalized, "a spelling is no fixed point")
  }
}

private func checkTags(_ stored: [Fields], _ notModified: Fields, _ request: Fields) {
  var conditions = Fields()
  if Validation.addSelection(among: stored, to: &conditions) {
    require(conditions.first(.ifNoneMatch).map { $0.count <= 2048 } ?? false, "a list of tags is too long")
  }
  if let chosen = Validation.selected(among: stored, by: notModified) {
    require(stored.indices.contains(chosen), "a 304 is about none of them")
  }
  for fields in stored {
    let etag = Array(fields.first(.etag) ?? [])
    let modified = Array(fields.first(.lastModified) ?? [])
    let metadata = StoredMetadata(status: 200, responseTime: 0, date: 0, lifetime: 0)
    _ = Validation.answersNotModified(
      requestFields: request, stored: metadata, etag: etag.span, lastModified: modified.span)
    _ = Validation.isDecodable(fields, by: request)
  }
}

private func checkQuery(_ query: [UInt8]) {
  let rules = KeyRules(ignoredQuery: [.init("utm_*"), .init("a")], sortsQuery: true)
  guard let kept = rules.query(query[...]) else { return }
  require(kept.count <= query.count, "a query grew")
  require(rules.query(kept[...]) == kept, "a query is no fixed point")
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  let parts = bytes.split(separator: 0, maxSplits: 3, omittingEmptySubsequences: false)
  let sections = parts.map { fields($0) }
  let first = sections[0]
  let second = sections.count > 1 ? sections[1] : Fields()
  let third = sections.count > 2 ? sections[2] : Fields()
  checkVary(first, second, third, Array(parts[parts.count - 1]))
  checkNegotiation(bytes)
  checkTags([first, third], second, third)
  checkTags([first, first], first, second)
  checkQuery(bytes)
  return 0
}
