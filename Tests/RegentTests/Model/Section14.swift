// RFC 9110 section 14 in the reference model: what a part must be, and whether it may answer.

extension Model {
  /// Why this 206 is wrong; nil where it is right. `whole` is the content of the representation.
  func section14(_ answer: Answer, _ edition: Edition, _ whole: String, _ request: Asked) -> String? {
    guard request.method == "GET", let field = request.fields.first("range"),
      let wanted = ranges(field, length: whole.utf8.count)
    else { return "14.2: 206, but the request has no Range that counts" }
    if let condition = request.fields.first("if-range"), !section1315(condition, edition) {
      return "13.1.5: 206, but If-Range does not hold"
    }
    if let type = answer.fields.first("content-type"), type.hasPrefix("multipart/byteranges") {
      return multipart(answer, type, whole, wanted)
    }
    guard let place = answer.fields.first("content-range") else { return "14.4: 206 without Content-Range" }
    if wanted.count == 1, part(of: place, whole)?.range != wanted[0] {
      return "14.4: Content-Range is \(place), and the range was \(wanted[0])"
    }
    return wrongPart(place, answer.body, whole, wanted)
  }

  /// Section 13.1.5: If-Range is compared strongly.
  private func section1315(_ condition: String, _ edition: Edition) -> Bool {
    if condition.contains("\"") {
      return !condition.hasPrefix("W/") && condition == edition.fields.first("etag")
    }
    return dates[condition] != nil && condition == edition.fields.first("last-modified")
  }

  /// The ranges of a Range field that are within the content; nil where the field does not count.
  func ranges(_ field: String, length: Int) -> [Range<Int>]? {
    guard field.hasPrefix("bytes=") else { return nil }
    var result: [Range<Int>] = []
    for spec in members(of: [String(field.dropFirst(6))]) {
      let ends = spec.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
      guard ends.count == 2, ends.contains(where: { !$0.isEmpty }) else { return nil }
      let (first, last) = (Int(ends[0]), Int(ends[1]))
      if !ends[0].isEmpty && first == nil || !ends[1].isEmpty && last == nil { return nil }
      if let first, let last, last < first { return nil }
      let lower = first ?? max(0, length - (last ?? 0))
      let upper = first == nil ? length : min(length, (last ?? length) + 1)
      if lower < upper { result.append(lower..<upper) }
    }
    return result
  }

  private func part(of field: String, _ whole: String) -> (range: Range<Int>, text: String)? {
    let words = field.split { " -/".contains($0) }
    guard words.count == 4, words[0] == "bytes", let first = Int(words[1]), let last = Int(words[2]),
      first <= last,
      words[3] == "\(whole.utf8.count)" || words[3] == "*", last < whole.utf8.count
    else { return nil }
    return (first..<last + 1, String(Array(whole)[first...last]))
  }

  private func wrongPart(_ field: String, _ body: String, _ whole: String, _ wanted: [Range<Int>]) -> String?
  {
    guard let part = part(of: field, whole) else { return "14.4: Content-Range is \(field)" }
    if part.text != body { return "14.4: the part \(field) is \(body) and must be \(part.text)" }
    let isWanted = part.range.allSatisfy { byte in wanted.contains { $0.contains(byte) } }
    return isWanted ? nil : "14.2: nobody asked for \(field)"
  }

  private func multipart(_ answer: Answer, _ type: String, _ whole: String, _ wanted: [Range<Int>]) -> String?
  {
    let boundary = String(type.drop { $0 != "=" }.dropFirst())
    var texts: [String] = []
    var rest = Substring(answer.body)
    while let start = rest.firstRange(of: "--\(boundary)\r\n") {
      rest = rest[start.upperBound...]
      guard let end = rest.firstRange(of: "\r\n--\(boundary)") else { return "14.6: a part has no end" }
      texts.append(String(rest[..<end.lowerBound]))
      rest = rest[rest.index(end.lowerBound, offsetBy: 1)...]
    }
    if texts.count < 2 { return "14.6: \(texts.count) parts" }
    for text in texts {
      guard let gap = text.firstRange(of: "\r\n\r\n") else { return "14.6: a part has no head" }
      let head = text[..<gap.lowerBound].split(separator: "\r\n").first {
        $0.lowercased().hasPrefix("content-range:")
      }
      let field = trimmed(String(head?.dropFirst(14) ?? ""))
      if let why = wrongPart(field, String(text[gap.upperBound...]), whole, wanted) { return why }
    }
    return nil
  }

  /// Section 15.5.17: 416 where nothing of what was asked for exists.
  func forbids416(_ answer: Answer, _ request: Asked) -> String? {
    guard request.method == "GET", let field = request.fields.first("range"),
      let wanted = ranges(field, length: contentLength), wanted.isEmpty
    else { return "15.5.17: 416, but the range can be satisfied" }
    let place = answer.fields.first("content-range")
    return place == "bytes */\(contentLength)" ? nil : "14.4: 416 with \(place ?? "no Content-Range")"
  }

  /// RFC 9111 section 3.4: what a part and what is stored may become together.
  func combined(_ edition: Edition, _ target: String) -> [Edition] {
    guard edition.status == 206 else { return [] }
    var result: [Edition] = []
    for entry in entries.values where entry.target == target {
      for other in entry.editions
      where [200, 206].contains(other.status) && agree(edition.fields, other.fields) {
        var joined = edition
        joined.fields = updated(other.fields, by: edition.fields)
        joined.selectors = other.selectors + edition.selectors
        joined.optional = other.optional
        result.append(joined)
      }
    }
    return result
  }

  /// Whether two messages have the same strong validator.
  private func agree(_ one: Lines, _ other: Lines) -> Bool {
    if let tag = one.first("etag") { return !tag.hasPrefix("W/") && tag == other.first("etag") }
    return !other.has("etag") && one.has("last-modified")
      && one.first("last-modified") == other.first("last-modified")
  }
}

/// The length of every representation's content.
let contentLength = 48

/// The content of a target's version: each four bytes of it say which they are.
func content(_ target: String, _ version: Int) -> String {
  let letters = Array("abcdefghijklmnopqrstuvwxyz")
  let place = target.utf8.reduce(0) { $0 &* 31 &+ Int($1) } % 26
  return (0..<contentLength / 4).map { "\(letters[abs(place)])\(letters[version % 26])\($0 / 10)\($0 % 10)" }
    .joined()
}
